// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/run/stages/stage.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/builder.h"
#include "agent/engine/graph/shape_infer.h"
#include "agent/engine/ops/rewrite/rewrite.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_ELEMENTS_MAX = 64 /* as execution_plan.c */ };

/* ---- a graph of some nodes ------------------------------------------------------------------ */

/* Values of the whole graph that a stage has, by their index there; a table that is as large as the
 * stage. */
struct extraction {
    const struct graph *from;
    struct builder builder;
    struct stage_part *part;
    struct place {
        int from, to; /* from -1: free */
    } * places;
    size_t room;
};

static struct place *place_of(const struct extraction *extraction, int value) {
    size_t mask = extraction->room - 1, at = (size_t)value * 0x9E3779B97F4A7C15u >> 20 & mask;
    while (extraction->places[at].from >= 0 && extraction->places[at].from != value) {
        at = (at + 1) & mask;
    }
    return &extraction->places[at];
}

/* The stage's value for one that its nodes read or make. */
static int value_of(struct extraction *extraction, int index, bool is_made) {
    const struct value *value = &extraction->from->values[index];
    struct place *place = place_of(extraction, index);
    struct stage_part *part = extraction->part;
    if (place->from == index) {
        return place->to;
    }
    *place = (struct place){index, builder_value(&extraction->builder, value->name)};
    if (value->is_constant) {
        extraction->builder.graph.values[place->to] = *value;
    } else if (!is_made) {
        builder_add_input(&extraction->builder, place->to);
        part->inputs[part->input_count++] = index;
    }
    return place->to;
}

static void take_node(struct extraction *extraction, const struct node *node,
                      const bool *is_wanted) {
    struct arena *arena = &extraction->builder.graph.arena;
    struct stage_part *part = extraction->part;
    struct node copy = *node;
    int *inputs = arena_array(arena, (size_t)node->input_count, sizeof *inputs);
    int *outputs = arena_array(arena, (size_t)node->output_count, sizeof *outputs);
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = node->inputs[i] < 0 ? -1 : value_of(extraction, node->inputs[i], false);
    }
    for (int i = 0; i < node->output_count; i++) {
        int index = node->outputs[i];
        outputs[i] = index < 0 ? -1 : value_of(extraction, index, true);
        if (index >= 0 && is_wanted[index]) {
            builder_output(&extraction->builder, outputs[i]);
            part->outputs[part->output_count++] = index;
        }
    }
    copy.inputs = inputs;
    copy.outputs = outputs;
    builder_append(&extraction->builder, &copy);
}

struct stage_part *stage_new(const struct graph *from, const size_t *nodes, size_t count,
                             const bool *is_wanted) {
    struct stage_part *part = x_calloc(1, sizeof *part);
    struct extraction extraction = {.from = from, .part = part, .room = 16};
    size_t ports = 0, made = 0;
    for (size_t i = 0; i < count; i++) {
        ports += (size_t)from->nodes[nodes[i]].input_count;
        made += (size_t)from->nodes[nodes[i]].output_count;
    }
    while (extraction.room < 2 * (ports + made + 1)) {
        extraction.room *= 2;
    }
    part->inputs = x_calloc(ports + 1, sizeof *part->inputs);
    part->outputs = x_calloc(made + 1, sizeof *part->outputs);
    extraction.places = x_calloc(extraction.room, sizeof *extraction.places);
    for (size_t i = 0; i < extraction.room; i++) {
        extraction.places[i].from = -1;
    }
    builder_init(&extraction.builder, NULL);
    for (size_t i = 0; i < count; i++) {
        take_node(&extraction, &from->nodes[nodes[i]], is_wanted);
    }
    builder_take(&extraction.builder, &part->graph);
    free(extraction.places);
    return part;
}

void stage_forget(struct stage_part *part) {
    for (int i = 0; i < STAGE_PLANS; i++) {
        execution_plan_free(TAKE(part->plans[i]));
    }
}

void stage_free(struct stage_part *part) {
    if (part) {
        stage_forget(part);
        graph_release(&part->graph);
        free(part->inputs);
        free(part->outputs);
        free(part);
    }
}

/* ---- plans ---------------------------------------------------------------------------------- */

/* Types of inputs are known only now. */
static int complete(struct stage_part *part, const struct tensor *inputs, struct error *err) {
    struct graph rewritten;
    for (size_t i = 0; i < part->input_count && !part->is_typed; i++) {
        part->graph.values[part->graph.inputs[i]].type = inputs[i].type;
    }
    part->is_typed = true;
    if (part->is_rewritten) {
        return 0;
    }
    if (rewrite_graph(&part->graph, &rewritten, err) < 0) {
        return -1;
    }
    arena_join(&rewritten.arena, &part->graph.arena); /* the first borrows from the second */
    part->graph = rewritten;
    shape_fold_constants(&part->graph, device_evaluate);
    part->is_rewritten = true;
    return 0;
}

/* Whether a node of the stage makes an input of this node, which thus will be known later. */
static bool may_wait(const struct graph *graph, const struct node *node) {
    bool waits = false;
    for (int i = 0; i < node->input_count && !waits; i++) {
        int value = node->inputs[i];
        waits = value >= 0 && !graph->values[value].is_input && !graph->values[value].is_constant;
    }
    return waits;
}

/* The first node that lacks a value, if a cut before it would give it. */
static size_t find_cut(const struct stage_part *part, const struct tensor *inputs) {
    const struct graph *graph = &part->graph;
    struct arena arena = {0};
    struct error err = {0};
    struct fact *facts = arena_array(&arena, graph->value_count, sizeof *facts);
    size_t reached = 0;
    for (size_t i = 0; i < graph->input_count; i++) {
        bool is_small = shape_count(&inputs[i].shape) <= VALUE_ELEMENTS_MAX;
        facts[graph->inputs[i]] =
            (struct fact){inputs[i].type, inputs[i].shape, is_small ? inputs[i].data : NULL};
    }
    int result = shape_infer_until(graph, device_evaluate, &arena, facts, &reached, &err);
    arena_release(&arena);
    bool helps = result < 0 && err.kind == ERROR_UNSUPPORTED && reached < graph->node_count &&
                 may_wait(graph, &graph->nodes[reached]);
    return helps ? reached : SIZE_MAX;
}

int stage_plan(struct stage_part *part, struct stages_common *common, const struct tensor *inputs,
               struct execution_plan **ret_plan, size_t *ret_cut, struct error *err) {
    struct execution_plan **oldest = &part->plans[0], *plan;
    *ret_cut = SIZE_MAX;
    if (complete(part, inputs, err) < 0) {
        return -1;
    }
    for (int i = 0; i < STAGE_PLANS; i++) {
        plan = part->plans[i];
        if (plan && execution_plan_fits(plan, inputs)) {
            *ret_plan = plan;
            return 0;
        }
        if (*oldest && (!plan || plan->last_used < (*oldest)->last_used)) {
            oldest = &part->plans[i];
        }
    }
    execution_plan_free(TAKE(*oldest));
    if (execution_plan_new(common->device, &part->graph, inputs, &plan, err) < 0) {
        *ret_cut = err->kind == ERROR_UNSUPPORTED ? find_cut(part, inputs) : SIZE_MAX;
        return -1;
    }
    *oldest = *ret_plan = plan;
    return 0;
}

static int grow_block(struct stages_common *common, size_t bytes, struct error *err) {
    const struct device_ops *ops = common->device->ops;
    if (common->block && bytes <= common->block_bytes) {
        return 0;
    }
    if (common->block) {
        ops->free(common->device, TAKE(common->block));
    }
    common->block_bytes = bytes;
    return ops->alloc(common->device, bytes, &common->block, err);
}

static int check_work(const struct stages_common *common, struct error *err) {
    return common->work <= common->work_max
               ? 0
               : error_set(err, ERROR_UNSUPPORTED,
                           "the network takes more than %.0e steps for these inputs",
                           common->work_max);
}

int stage_run(const struct stage_part *part, struct stages_common *common,
              struct execution_plan *plan, const struct tensor *inputs, struct parcel **outputs,
              struct error *err) {
    size_t count = part->graph.output_count;
    common->work += plan->work;
    common->flops += plan->flops;
    plan->last_used = ++common->runs;
    if (check_work(common, err) < 0 || grow_block(common, plan->schedule->block_bytes, err) < 0) {
        return -1;
    }
    struct tensor *made = x_calloc(count + 1, sizeof *made);
    int result = execution_plan_run(plan, common->block, inputs, made, NULL, err);
    for (size_t i = 0; result == 0 && i < count; i++) {
        result = parcel_new(made[i].type, &made[i].shape, &outputs[i], err);
        size_t bytes = (size_t)shape_count(&made[i].shape) * tensor_type_size(made[i].type);
        if (result == 0 && bytes) {
            memcpy(outputs[i]->tensor.data, made[i].data, bytes);
        }
    }
    free(made);
    return result;
}

/* ---- cutting -------------------------------------------------------------------------------- */

/* Marks the nodes that need what node `cut` makes, and it. */
static void find_later(const struct graph *graph, size_t cut, bool *is_later, bool *is_made_later) {
    for (size_t n = cut; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        is_later[n] = n == cut;
        for (int i = 0; i < node->input_count && !is_later[n]; i++) {
            is_later[n] = node->inputs[i] >= 0 && is_made_later[node->inputs[i]];
        }
        for (int i = 0; i < node->output_count; i++) {
            if (is_later[n] && node->outputs[i] >= 0) {
                is_made_later[node->outputs[i]] = !graph->values[node->outputs[i]].is_constant;
            }
        }
    }
}

struct stage_part *stage_cut(const struct stage_part *part, size_t cut) {
    const struct graph *graph = &part->graph;
    struct arena scratch = {0};
    bool *is_later = arena_array(&scratch, graph->node_count, sizeof *is_later);
    bool *is_made_later = arena_array(&scratch, graph->value_count, sizeof *is_made_later);
    bool *is_wanted = arena_array(&scratch, graph->value_count, sizeof *is_wanted);
    size_t *nodes = arena_array(&scratch, graph->node_count, sizeof *nodes);
    size_t first = 0, second = graph->node_count;
    find_later(graph, cut, is_later, is_made_later);
    for (size_t i = 0; i < graph->output_count; i++) {
        is_wanted[graph->outputs[i]] = true;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        for (int i = 0; is_later[n] && i < node->input_count; i++) {
            if (node->inputs[i] >= 0 && !graph->values[node->inputs[i]].is_constant) {
                is_wanted[node->inputs[i]] = true;
            }
        }
        if (!is_later[n]) {
            nodes[first++] = n;
        }
    }
    for (size_t n = graph->node_count; n-- > 0;) {
        if (is_later[n]) {
            nodes[--second] = n;
        }
    }
    struct stage_part *one = stage_new(graph, nodes, first, is_wanted);
    struct stage_part *other =
        stage_new(graph, nodes + second, graph->node_count - second, is_wanted);
    one->is_rewritten = other->is_rewritten = true;
    one->next = other;
    other->next = part->next;
    arena_release(&scratch);
    return one;
}
