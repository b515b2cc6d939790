// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/run/stages/stages.h"

#include "agent/engine/ops/table.h"
#include "agent/engine/run/stages/late.h"
#include "agent/engine/run/stages/stage.h"

#include <stdlib.h>
#include <string.h>

static const double part_work = 4096; /* of one part, beside what it computes */

struct stages {
    const struct graph *graph;
    struct stages_common *common;
    bool is_body; /* `common` is another's */
    struct stage_part *parts;
    size_t value_count; /* those of the graph, then those between cut stages */
    /* Per value: how many inputs of parts, and outputs, read it; those left in this run. */
    int *reads, *left;
    struct parcel **values;
    struct parcel **results; /* of the last run of a whole network */
};

bool stages_needed(const struct graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op->flags & OP_LATE) {
            return true;
        }
    }
    return false;
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* A node's depth is the number of late nodes before it: those of one depth make one stage, which
 * runs before the late nodes of that depth. */
struct layout {
    struct arena arena;
    const struct graph *graph;
    bool *is_late;   /* per node */
    int *depth;      /* per node */
    int *made;       /* per value: the depth from which it can be read */
    bool *is_loose;  /* per value: perhaps a sequence or an optional */
    bool *is_wanted; /* per value: read outside of the stage that makes it */
    int deepest;
};

/* Identity passes sequences on, too. */
static bool is_late(const struct layout *layout, const struct node *node) {
    bool is_same = node->op->id == OP_IDENTITY && !(node->op->flags & OP_ML);
    return (node->op->flags & OP_LATE) ||
           (is_same && node->inputs[0] >= 0 && layout->is_loose[node->inputs[0]]);
}

static void find_depths(struct layout *layout) {
    const struct graph *graph = layout->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        layout->is_late[n] = is_late(layout, node);
        for (int i = 0; i < node->input_count; i++) {
            int made = node->inputs[i] < 0 ? 0 : layout->made[node->inputs[i]];
            layout->depth[n] = MAX(layout->depth[n], made);
        }
        for (int i = 0; i < node->output_count; i++) {
            if (node->outputs[i] >= 0) {
                layout->made[node->outputs[i]] = layout->depth[n] + layout->is_late[n];
                layout->is_loose[node->outputs[i]] = layout->is_late[n];
            }
        }
        layout->deepest = MAX(layout->deepest, layout->depth[n]);
    }
}

static void find_wanted(struct layout *layout) {
    const struct graph *graph = layout->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        for (int i = 0; i < node->input_count; i++) {
            int value = node->inputs[i];
            if (value >= 0 && (layout->is_late[n] || layout->made[value] != layout->depth[n])) {
                layout->is_wanted[value] = true;
            }
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        layout->is_wanted[graph->outputs[i]] = true;
    }
}

static struct stage_part *late_new(const struct node *node) {
    struct stage_part *part = x_calloc(1, sizeof *part);
    part->late = node;
    part->bodies = x_calloc(node->attribute_count + 1, sizeof(struct stages *));
    part->input_count = (size_t)node->input_count;
    part->output_count = (size_t)node->output_count;
    part->inputs = x_calloc(part->input_count + 1, sizeof *part->inputs);
    part->outputs = x_calloc(part->output_count + 1, sizeof *part->outputs);
    if (part->input_count) {
        memcpy(part->inputs, node->inputs, part->input_count * sizeof *part->inputs);
    }
    memcpy(part->outputs, node->outputs, part->output_count * sizeof *part->outputs);
    return part;
}

static struct stage_part **append(struct stage_part **end, struct stage_part *part) {
    *end = part;
    return &part->next;
}

static void make_parts(struct stages *stages, struct layout *layout) {
    size_t depths = (size_t)layout->deepest + 1, count = layout->graph->node_count;
    size_t *begins = arena_array(&layout->arena, 2 * depths + 1, sizeof *begins);
    size_t *order = arena_array(&layout->arena, count, sizeof *order);
    size_t *filled = arena_array(&layout->arena, 2 * depths, sizeof *filled);
    for (size_t n = 0; n < count; n++) {
        begins[2 * (size_t)layout->depth[n] + layout->is_late[n] + 1]++;
    }
    for (size_t i = 0; i < 2 * depths; i++) {
        begins[i + 1] += begins[i];
    }
    for (size_t n = 0; n < count; n++) {
        size_t group = 2 * (size_t)layout->depth[n] + layout->is_late[n];
        order[begins[group] + filled[group]++] = n;
    }
    struct stage_part **end = &stages->parts;
    for (size_t i = 0; i < 2 * depths; i++) {
        if (i % 2 == 0 && filled[i]) {
            end = append(end,
                         stage_new(layout->graph, order + begins[i], filled[i], layout->is_wanted));
        }
        for (size_t k = begins[i]; i % 2 && k < begins[i + 1]; k++) {
            end = append(end, late_new(&layout->graph->nodes[order[k]]));
        }
    }
}

/* `by` more reads of what this part reads. */
static void count_reads(int *reads, const struct stage_part *part, int by) {
    for (size_t i = 0; i < part->input_count; i++) {
        if (part->inputs[i] >= 0) {
            reads[part->inputs[i]] += by;
        }
    }
}

static struct stages *make(struct stages_common *common, const struct graph *graph, bool is_body) {
    struct stages *stages = x_calloc(1, sizeof *stages);
    struct layout layout = {.graph = graph};
    size_t values = stages->value_count = graph->value_count;
    stages->graph = graph;
    stages->common = common;
    stages->is_body = is_body;
    stages->reads = x_calloc(values + 1, sizeof *stages->reads);
    stages->left = x_calloc(values + 1, sizeof *stages->left);
    stages->values = x_calloc(values + 1, sizeof(struct parcel *));
    stages->results = x_calloc(graph->output_count + 1, sizeof(struct parcel *));
    layout.is_late = arena_array(&layout.arena, graph->node_count, sizeof *layout.is_late);
    layout.depth = arena_array(&layout.arena, graph->node_count, sizeof *layout.depth);
    layout.made = arena_array(&layout.arena, values, sizeof *layout.made);
    layout.is_loose = arena_array(&layout.arena, values, sizeof *layout.is_loose);
    layout.is_wanted = arena_array(&layout.arena, values, sizeof *layout.is_wanted);
    for (size_t i = 0; i < graph->input_count; i++) {
        layout.is_loose[graph->inputs[i]] = is_body;
    }
    find_depths(&layout);
    find_wanted(&layout);
    make_parts(stages, &layout);
    arena_release(&layout.arena);
    for (const struct stage_part *part = stages->parts; part; part = part->next) {
        count_reads(stages->reads, part, 1);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        stages->reads[graph->outputs[i]]++;
    }
    return stages;
}

struct stages *stages_new(struct device *device, const struct graph *graph, double work_max) {
    struct stages_common *common = x_calloc(1, sizeof *common);
    common->device = device;
    common->work_max = work_max;
    return make(common, graph, false);
}

static void part_free(struct stage_part *part) {
    for (size_t i = 0; part->late && i < part->late->attribute_count; i++) {
        stages_free(part->bodies[i]);
    }
    free(part->bodies);
    stage_free(part);
}

void stages_free(struct stages *stages) {
    if (!stages) {
        return;
    }
    while (stages->parts) {
        struct stage_part *part = stages->parts;
        stages->parts = part->next;
        part_free(part);
    }
    parcel_release_all(stages->values, stages->value_count);
    parcel_release_all(stages->results, stages->graph->output_count);
    if (!stages->is_body) {
        if (stages->common->block) {
            stages->common->device->ops->free(stages->common->device, stages->common->block);
        }
        free(stages->common);
    }
    free(stages->reads);
    free(stages->left);
    free(stages->values);
    free(stages->results);
    free(stages);
}

void stages_forget(struct stages *stages) {
    for (struct stage_part *part = stages->parts; part; part = part->next) {
        stage_forget(part);
        for (size_t i = 0; part->late && i < part->late->attribute_count; i++) {
            if (part->bodies[i]) {
                stages_forget(part->bodies[i]);
            }
        }
    }
}

double stages_flops(const struct stages *stages) {
    return stages->common->flops;
}

/* ---- running -------------------------------------------------------------------------------- */

static const char *name_of(const struct stages *stages, int index) {
    return (size_t)index < stages->graph->value_count ? stages->graph->values[index].name : "";
}

/* NULL: nothing has made it. */
static struct parcel *item_at(struct stages *stages, int index) {
    struct parcel **item = &stages->values[index];
    if (!*item && (size_t)index < stages->graph->value_count &&
        stages->graph->values[index].is_constant) {
        struct tensor tensor = stages->graph->values[index].constant;
        tensor.owned = false;
        *item = parcel_of_tensor(tensor);
    }
    return *item;
}

/* Frees values after their last reader. */
static void pass(struct stages *stages, const struct stage_part *part) {
    for (size_t i = 0; i < part->input_count; i++) {
        int value = part->inputs[i];
        if (value >= 0 && --stages->left[value] == 0) {
            parcel_freep(&stages->values[value]);
        }
    }
}

static int read_inputs(struct stages *stages, const struct stage_part *part, struct tensor *tensors,
                       struct error *err) {
    for (size_t i = 0; i < part->input_count; i++) {
        const struct parcel *item = item_at(stages, part->inputs[i]);
        if (!item || item->kind != PARCEL_TENSOR) {
            return error_set(err, ERROR_INVALID, "\"%.64s\" is %s, a tensor is expected",
                             name_of(stages, part->inputs[i]),
                             item ? "a sequence or an empty optional" : "not made");
        }
        tensors[i] = item->tensor;
        tensors[i].owned = false;
    }
    return 0;
}

static void put_value(struct stages *stages, int index, struct parcel *item) {
    if (index >= 0 && stages->left[index] > 0) {
        parcel_release(stages->values[index]);
        stages->values[index] = item;
    } else {
        parcel_release(item);
    }
}

/* A value of a cut stage's graph as one of the network: an old one, or a new one. */
static int whole_value(struct stages *stages, const struct stage_part *part, int local, int *news) {
    for (size_t i = 0; i < part->graph.input_count; i++) {
        if (part->graph.inputs[i] == local) {
            return part->inputs[i];
        }
    }
    for (size_t i = 0; i < part->graph.output_count; i++) {
        if (part->graph.outputs[i] == local) {
            return part->outputs[i];
        }
    }
    if (!news[local]) {
        size_t count = ++stages->value_count;
        stages->reads = x_realloc(stages->reads, count * sizeof *stages->reads);
        stages->left = x_realloc(stages->left, count * sizeof *stages->left);
        stages->values = x_realloc(stages->values, count * sizeof(struct parcel *));
        stages->reads[count - 1] = stages->left[count - 1] = 0;
        stages->values[count - 1] = NULL;
        news[local] = (int)count - 1;
    }
    return news[local];
}

/* Puts two stages in the place of one. */
static void cut(struct stages *stages, struct stage_part **at, size_t node) {
    struct stage_part *part = *at, *first = stage_cut(part, node), *second = first->next;
    int *news = x_calloc(part->graph.value_count + 1, sizeof *news);
    for (struct stage_part *half = first; half != part->next; half = half->next) {
        for (size_t i = 0; i < half->input_count; i++) {
            half->inputs[i] = whole_value(stages, part, half->inputs[i], news);
        }
        for (size_t i = 0; i < half->output_count; i++) {
            half->outputs[i] = whole_value(stages, part, half->outputs[i], news);
        }
    }
    count_reads(stages->reads, part, -1);
    count_reads(stages->left, part, -1);
    count_reads(stages->reads, first, 1);
    count_reads(stages->left, first, 1);
    count_reads(stages->reads, second, 1);
    count_reads(stages->left, second, 1);
    *at = first;
    free(news);
    stage_forget(part);
    /* Both halves borrow from it; the second is freed last. */
    arena_join(&second->graph.arena, &part->graph.arena);
    stage_free(part);
}

/* *ret_cut: the part was cut, and is to be run again. */
static int run_stage(struct stages *stages, struct stage_part **at, bool *ret_cut,
                     struct error *err) {
    struct stage_part *part = *at;
    struct tensor *inputs = x_calloc(part->input_count + 1, sizeof *inputs);
    struct parcel **outputs = x_calloc(part->output_count + 1, sizeof(struct parcel *));
    struct execution_plan *plan = NULL;
    size_t node = SIZE_MAX;
    int result = read_inputs(stages, part, inputs, err);
    result = result < 0 ? -1 : stage_plan(part, stages->common, inputs, &plan, &node, err);
    result = result < 0 ? -1 : stage_run(part, stages->common, plan, inputs, outputs, err);
    for (size_t i = 0; i < part->output_count; i++) {
        put_value(stages, part->outputs[i], outputs[i]);
    }
    free(inputs);
    free(outputs);
    *ret_cut = result < 0 && node != SIZE_MAX;
    if (*ret_cut) {
        error_clear(err);
        cut(stages, at, node);
        return 0;
    }
    return result;
}

/* The node's bodies, and which of its inputs are theirs. */
static void find_bodies(struct stages *stages, const struct stage_part *part,
                        struct late_call *call) {
    const struct node *node = part->late;
    int at = node->input_count;
    size_t count = 0;
    for (size_t i = 0; i < node->attribute_count; i++) {
        at -= node->attributes[i].graph ? (int)node->attributes[i].count : 0;
    }
    call->input_count = at;
    for (size_t i = 0; i < node->attribute_count && count < ARRAY_LEN(call->bodies); i++) {
        const struct attribute *attribute = &node->attributes[i];
        if (!attribute->graph) {
            continue;
        }
        if (!part->bodies[i]) {
            part->bodies[i] = make(stages->common, attribute->graph, true);
        }
        call->bodies[count++] = (struct late_body){attribute->graph, part->bodies[i],
                                                   call->inputs + at, (int)attribute->count};
        at += (int)attribute->count;
    }
}

/* Of reading it once, or with NonMaxSuppression each box with each other. */
static double work_of(const struct node *node, const struct parcel *item) {
    const struct shape *shape = &item->tensor.shape;
    double count = item->kind == PARCEL_TENSOR ? (double)shape_count(shape) : (double)item->count;
    bool is_squared = node->op->id == OP_NON_MAX_SUPPRESSION && shape->rank == 3;
    return is_squared ? count * (double)shape->dims[2] : count;
}

static int run_late(struct stages *stages, const struct stage_part *part, struct error *err) {
    const struct node *node = part->late;
    struct parcel **inputs = x_calloc(part->input_count + 1, sizeof(struct parcel *));
    struct parcel **outputs = x_calloc(part->output_count + 1, sizeof(struct parcel *));
    struct late_call call = {.node = node,
                             .output_count = node->output_count,
                             .inputs = inputs,
                             .outputs = outputs,
                             .run = stages_run_items};
    int result = 0;
    for (size_t i = 0; i < part->input_count && result == 0; i++) {
        inputs[i] = part->inputs[i] < 0 ? NULL : item_at(stages, part->inputs[i]);
        if (part->inputs[i] >= 0 && !inputs[i]) {
            result = error_set(err, ERROR_INVALID, "\"%.64s\" is not computed",
                               name_of(stages, part->inputs[i]));
        }
        stages->common->work += inputs[i] ? work_of(node, inputs[i]) : 0;
    }
    if (result == 0) {
        find_bodies(stages, part, &call);
        result = late_find(node->op->id)(&call, err);
    }
    for (size_t i = 0; i < part->output_count; i++) {
        put_value(stages, part->outputs[i], outputs[i]);
    }
    free(inputs);
    free(outputs);
    return result < 0 ? error_context(err, "%s node \"%.64s\"", node->op->name, node->name) : 0;
}

static int run_parts(struct stages *stages, struct error *err) {
    struct stages_common *common = stages->common;
    for (struct stage_part **at = &stages->parts; *at;) {
        bool is_cut = false;
        common->work += part_work;
        if (common->work > common->work_max) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "the network takes more than %.0e steps for these inputs",
                             common->work_max);
        }
        int result = (*at)->late ? run_late(stages, *at, err) : run_stage(stages, at, &is_cut, err);
        if (result < 0) {
            return -1;
        }
        if (!is_cut) {
            pass(stages, *at);
            at = &(*at)->next;
        }
    }
    return 0;
}

int stages_run_items(struct stages *stages, struct parcel *const *inputs, struct parcel **outputs,
                     struct error *err) {
    const struct graph *graph = stages->graph;
    stages->common->work += part_work; /* a body without nodes takes time, too */
    memcpy(stages->left, stages->reads, stages->value_count * sizeof *stages->left);
    for (size_t i = 0; i < graph->input_count; i++) {
        put_value(stages, graph->inputs[i], parcel_share(inputs[i]));
    }
    int result = run_parts(stages, err);
    for (size_t i = 0; i < graph->output_count && result == 0; i++) {
        outputs[i] = parcel_share(item_at(stages, graph->outputs[i]));
        if (!outputs[i]) {
            result = error_set(err, ERROR_INVALID, "output \"%.64s\" is not computed",
                               name_of(stages, graph->outputs[i]));
        }
    }
    if (result < 0) {
        parcel_release_all(outputs, graph->output_count);
    }
    parcel_release_all(stages->values, stages->value_count);
    return result;
}

/* What the caller or the model owns is copied: the caller keeps results for longer. */
static int move_output(struct parcel **item, struct tensor *ret_tensor, const char *name,
                       struct error *err) {
    if ((*item)->kind != PARCEL_TENSOR) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "output \"%.64s\" is %s: only tensors can be outputs", name,
                         (*item)->kind == PARCEL_SEQUENCE ? "a sequence" : "an empty optional");
    }
    const struct tensor *tensor = &(*item)->tensor;
    if (!tensor->owned) {
        struct parcel *copy;
        if (parcel_new(tensor->type, &tensor->shape, &copy, err) < 0) {
            return -1;
        }
        size_t bytes = (size_t)shape_count(&tensor->shape) * tensor_type_size(tensor->type);
        if (bytes) {
            memcpy(copy->tensor.data, tensor->data, bytes);
        }
        parcel_release(*item);
        *item = copy;
    }
    *ret_tensor = (*item)->tensor;
    ret_tensor->owned = false;
    return 0;
}

int stages_run(struct stages *stages, const struct tensor *inputs, struct tensor *outputs,
               struct error *err) {
    const struct graph *graph = stages->graph;
    struct parcel **items = x_calloc(graph->input_count + 1, sizeof(struct parcel *));
    int result = 0;
    parcel_release_all(stages->results, graph->output_count);
    stages->common->work = stages->common->flops = 0;
    for (size_t i = 0; i < graph->input_count; i++) {
        struct tensor borrowed = inputs[i];
        borrowed.owned = false;
        items[i] = parcel_of_tensor(borrowed);
        result =
            result < 0 ? -1 : graph_check_input(&graph->values[graph->inputs[i]], &inputs[i], err);
    }
    result = result < 0 ? -1 : stages_run_items(stages, items, stages->results, err);
    for (size_t i = 0; i < graph->output_count && result == 0; i++) {
        result = move_output(&stages->results[i], &outputs[i],
                             graph->values[graph->outputs[i]].name, err);
    }
    parcel_release_all(items, graph->input_count);
    free(items);
    return result;
}
