// SPDX-License-Identifier: Apache-2.0
/* Where the samples are in what a dropout reads. Shapes at two batch sizes show the axis that grows
 * with the batch. Where that axis also holds something else (heads, places), its order follows from
 * how the operators before it move elements. A network of one batch size only shows less: there it
 * is the only axis of that size, unless memory only gets another shape. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/shape_infer.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/training.h"

/* A value is [outer, samples, each] in memory. */
struct place {
    enum { SAMPLES_NONE, SAMPLES_KNOWN, SAMPLES_UNKNOWN } kind; /* none: it does not hold samples */
    int64_t outer, each;
};

/* Batch sizes to compare; any two would do. */
enum { FEW = 2, MANY = 3 };

struct trace {
    const struct graph *network;
    struct fact *few, *many; /* by value: at these batch sizes, or both at the only one */
    int64_t only;            /* the only one; 0: there are several */
    struct place *places;
};

static int64_t product(const struct shape *shape, int first, int last) {
    int64_t result = 1;
    for (int i = first; i < last; i++) {
        result *= shape->dims[i];
    }
    return result;
}

/* The only axis whose size is a multiple of the batch's; -1: there is none; -2: not only one, or
 * one that grows in another way. */
static int find_axis(const struct trace *trace, int value) {
    const struct shape *few = &trace->few[value].shape, *many = &trace->many[value].shape;
    int axis = -1;
    if (few->rank != many->rank) {
        return -2;
    }
    for (int i = 0; i < few->rank; i++) {
        if (few->dims[i] != many->dims[i]) {
            bool is_multiple =
                few->dims[i] % FEW == 0 && few->dims[i] * MANY == many->dims[i] * FEW;
            if (axis >= 0 || !is_multiple) {
                return -2;
            }
            axis = i;
        }
    }
    return axis;
}

/* What is before and after the samples within the value's axis; false: not known. */
static bool split_axis(const struct trace *trace, int value, int64_t *ret_before,
                       int64_t *ret_after) {
    int axis = value < 0 ? -1 : find_axis(trace, value);
    if (axis < 0 || trace->places[value].kind != SAMPLES_KNOWN) {
        return false;
    }
    const struct shape *shape = &trace->few[value].shape;
    *ret_before = trace->places[value].outer / MAX(product(shape, 0, axis), 1);
    *ret_after = trace->places[value].each / MAX(product(shape, axis + 1, shape->rank), 1);
    return true;
}

/* The samples follow each other in the axis as in the first operand that has them. A concatenation
 * of them, or a repetition, has more before them. */
static bool take_over(const struct trace *trace, const struct node *node, int64_t parts,
                      int64_t *ret_before, int64_t *ret_after) {
    int64_t before = 0, after = 0, all = 0;
    bool joins = node->op->id == OP_CONCAT, repeats = node->op->id == OP_TILE;
    for (int i = 0; i < node->input_count; i++) {
        int64_t own_before, own_after;
        if (!split_axis(trace, node->inputs[i], &own_before, &own_after)) {
            continue;
        }
        if (all > 0 && own_after != after) {
            return false;
        }
        before = all > 0 ? before : own_before;
        after = own_after;
        all += own_before;
    }
    *ret_before = joins && all * after == parts ? all
                  : repeats && after > 0        ? parts / after
                                                : before;
    *ret_after = after;
    return before > 0 && *ret_before * after == parts;
}

static bool keeps_order(const struct node *node) {
    switch (node->op->id) {
    case OP_RESHAPE:
    case OP_FLATTEN:
    case OP_SQUEEZE:
    case OP_UNSQUEEZE:
    case OP_IDENTITY:
        return true;
    default:
        return false;
    }
}

/* The only axis of the batch's size; -1: there is none, or more than one. */
static int find_only_axis(const struct trace *trace, int value) {
    const struct shape *shape = &trace->few[value].shape;
    int axis = -1, count = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == trace->only) {
            axis = i;
            count++;
        }
    }
    return count == 1 ? axis : -1;
}

static struct place place_around(const struct shape *shape, int axis) {
    return (struct place){SAMPLES_KNOWN, product(shape, 0, axis),
                          product(shape, axis + 1, shape->rank)};
}

/* With one batch size. What the node reads must have its samples where their axis is. */
static struct place only_place_of(const struct trace *trace, const struct node *node, int value) {
    static const struct place unknown = {.kind = SAMPLES_UNKNOWN}, none = {.kind = SAMPLES_NONE};
    bool holds_samples = false;
    if (keeps_order(node)) {
        return trace->places[node->inputs[0]];
    }
    for (int i = 0; i < node->input_count; i++) {
        int input = node->inputs[i];
        if (input < 0 || trace->places[input].kind == SAMPLES_NONE) {
            continue;
        }
        int axis = find_only_axis(trace, input);
        struct place own = trace->places[input];
        struct place seen = axis < 0 ? unknown : place_around(&trace->few[input].shape, axis);
        if (own.kind != SAMPLES_KNOWN || seen.kind != SAMPLES_KNOWN || own.outer != seen.outer ||
            own.each != seen.each) {
            return unknown;
        }
        holds_samples = true;
    }
    int axis = holds_samples ? find_only_axis(trace, value) : -1;
    return axis >= 0       ? place_around(&trace->few[value].shape, axis)
           : holds_samples ? unknown
                           : none;
}

static struct place place_of(const struct trace *trace, const struct node *node, int value) {
    static const struct place unknown = {.kind = SAMPLES_UNKNOWN}, none = {.kind = SAMPLES_NONE};
    const struct shape *shape = &trace->few[value].shape;
    if (trace->only) {
        return only_place_of(trace, node, value);
    }
    int axis = find_axis(trace, value);
    if (axis < 0) {
        return axis == -1 ? none : unknown;
    }
    int64_t parts = shape->dims[axis] / FEW, before = 1, after = 1;
    if (parts > 1 && keeps_order(node)) {
        return trace->places[node->inputs[0]];
    }
    if (parts > 1 && !take_over(trace, node, parts, &before, &after)) {
        return unknown;
    }
    return (struct place){SAMPLES_KNOWN, product(shape, 0, axis) * before,
                          product(shape, axis + 1, shape->rank) * after};
}

static void walk(struct trace *trace) {
    const struct graph *network = trace->network;
    for (size_t i = 0; i < network->input_count; i++) {
        int value = network->inputs[i];
        int64_t count = shape_count(&trace->few[value].shape);
        int64_t samples = trace->only ? trace->only : FEW;
        trace->places[value] = (struct place){SAMPLES_KNOWN, 1, count / samples};
    }
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        for (int i = 0; i < node->output_count; i++) {
            if (node->outputs[i] >= 0) {
                trace->places[node->outputs[i]] = place_of(trace, node, node->outputs[i]);
            }
        }
    }
}

static int infer(const struct graph *network, const struct tensor *samples, int64_t batch,
                 struct arena *scratch, struct fact **ret_facts, struct error *err) {
    struct fact *facts = arena_array(scratch, network->value_count, sizeof *facts);
    for (size_t i = 0; i < network->input_count; i++) {
        struct fact *fact = &facts[network->inputs[i]];
        *fact = (struct fact){samples[i].type, samples[i].shape, NULL};
        fact->shape.dims[0] = batch;
    }
    *ret_facts = facts;
    return shape_infer(network, device_evaluate, scratch, facts, err);
}

static bool has_dropout(const struct training_graph *training) {
    return training->keys > 0;
}

/* The node of the training graph that was made for a Dropout node, or for its gradient. */
static int place_node(const struct trace *trace, struct training_graph *training, size_t index,
                      struct error *err) {
    struct node *node = &training->graph.nodes[index];
    const struct node *from = &trace->network->nodes[node_integer(node, "salt", 0)];
    const struct place *place = &trace->places[from->inputs[0]];
    char shape[128];
    if (place->kind == SAMPLES_UNKNOWN) {
        shape_format(&trace->many[from->inputs[0]].shape, shape);
        return error_set(
            err, ERROR_UNSUPPORTED,
            "Dropout node \"%.64s\" cannot be trained: it reads %s for %d samples, and "
            "the graph does not show which of these numbers belong to which sample",
            from->name, shape, trace->only ? (int)trace->only : MANY);
    }
    struct attribute *attributes =
        arena_array(&training->graph.arena, node->attribute_count + 1, sizeof *attributes);
    for (size_t i = 0; i < node->attribute_count; i++) {
        attributes[i] = node->attributes[i];
    }
    attributes[node->attribute_count] =
        (struct attribute){.name = "each",
                           .kind = ATTRIBUTE_INTEGER,
                           .integer = place->kind == SAMPLES_KNOWN ? place->each : 0};
    node->attributes = attributes;
    node->attribute_count++;
    return 0;
}

/* Infers shapes at two batch sizes; if the network does not run with any, at that of `samples`. */
static int infer_all(struct trace *trace, const struct tensor *samples, struct arena *scratch,
                     struct error *err) {
    struct error ignored = {0};
    int64_t batch = samples[0].shape.dims[0];
    if (infer(trace->network, samples, FEW, scratch, &trace->few, &ignored) == 0 &&
        infer(trace->network, samples, MANY, scratch, &trace->many, &ignored) == 0) {
        return 0;
    }
    error_clear(&ignored);
    trace->only = MAX(batch, 1);
    if (infer(trace->network, samples, trace->only, scratch, &trace->few, err) < 0) {
        return error_context(err, "the network does not run with %lld samples",
                             (long long)trace->only);
    }
    trace->many = trace->few;
    return 0;
}

int training_place_samples(struct training_graph *training, const struct tensor *samples,
                           struct error *err) {
    if (!has_dropout(training)) {
        return 0;
    }
    struct arena scratch = {0};
    struct trace trace = {.network = training->rounded.node_count ? &training->rounded
                                                                  : &training->decomposed};
    trace.places = arena_array(&scratch, trace.network->value_count, sizeof *trace.places);
    int result = infer_all(&trace, samples, &scratch, err);
    if (result == 0) {
        walk(&trace);
    }
    for (size_t n = 0; result == 0 && n < training->graph.node_count; n++) {
        if (training->graph.nodes[n].op->id == OP_DROPOUT_TRAINING) {
            result = place_node(&trace, training, n, err);
        }
    }
    arena_release(&scratch);
    return result;
}
