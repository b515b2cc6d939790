// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/shape_infer.h"

#include <string.h>

enum { FOLDED_ELEMENTS_MIN = 1 << 20 };

struct inference {
    const struct graph *graph;
    evaluate_function *evaluate;
    struct arena *arena;
    struct fact *facts;
};

/* The types of each letter (op.h). */
static bool type_is_accepted(enum tensor_type type, char letter, enum tensor_type first) {
    enum {
        REALS = 1 << TENSOR_FLOAT32 | 1 << TENSOR_FLOAT64,
        SIGNED = 1 << TENSOR_INT8 | 1 << TENSOR_INT16 | 1 << TENSOR_INT32 | 1 << TENSOR_INT64,
        UNSIGNED = 1 << TENSOR_UINT8 | 1 << TENSOR_UINT16 | 1 << TENSOR_UINT32 | 1 << TENSOR_UINT64,
    };
    static const struct {
        char letter;
        int types;
    } rows[] = {
        {'f', 1 << TENSOR_FLOAT32},
        {'r', REALS},
        {'c', REALS | 1 << TENSOR_INT32},
        {'t', REALS | 1 << TENSOR_INT32 | 1 << TENSOR_INT64},
        {'n', REALS | SIGNED | UNSIGNED},
        {'e', REALS | SIGNED | UNSIGNED | 1 << TENSOR_BOOL},
        {'i', 1 << TENSOR_INT32 | 1 << TENSOR_INT64},
        {'l', 1 << TENSOR_INT64},
        {'p', REALS | 1 << TENSOR_INT8 | 1 << TENSOR_UINT8},
        {'u', UNSIGNED},
        {'b', 1 << TENSOR_BOOL},
    };
    if (letter == '=') {
        return type == first;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].letter == letter) {
            return rows[i].types >> type & 1;
        }
    }
    return true;
}

bool shape_type_fits(const struct node *node, int index, enum tensor_type type,
                     enum tensor_type first) {
    const char *types = node->op->types;
    return type_is_accepted(type, types[MIN((size_t)index, strlen(types) - 1)], first);
}

static int check_types(const struct node *node, const struct fact *const *inputs,
                       struct error *err) {
    for (int i = 0; i < node->input_count; i++) {
        if (inputs[i] && !shape_type_fits(node, i, inputs[i]->type, inputs[0]->type)) {
            return error_set(err, ERROR_UNSUPPORTED, "input %d of type %s is not supported", i,
                             tensor_type_name(inputs[i]->type));
        }
    }
    return 0;
}

static struct tensor fact_tensor(const struct fact *fact) {
    /* Kernels never write to inputs; struct tensor has no const form. */
    return (struct tensor){
        .type = fact->type, .shape = fact->shape, .data = (void *)(uintptr_t)fact->known};
}

/* An empty value is known without running a kernel. */
static bool mark_empty_known(const struct node *node, struct fact *outputs, struct arena *arena) {
    bool all_empty = true;
    for (int i = 0; i < node->output_count; i++) {
        if (shape_count(&outputs[i].shape) == 0) {
            outputs[i].known = arena_alloc(arena, 0);
        } else {
            all_empty = false;
        }
    }
    return all_empty;
}

/* A view of a known value is known at any size, so reshaped weights stay constants. */
static bool mark_view_known(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs) {
    bool is_view = (node->op->flags & OP_VIEW) && node->output_count == 1 && inputs[0]->known;
    if (is_view) {
        outputs[0].known = inputs[0]->known;
    }
    return is_view;
}

/* Whether the node can be computed now, and cheaply. */
static bool is_foldable(const struct node *node, const struct fact *const *inputs,
                        const struct fact *outputs) {
    bool from_shape = node->op->flags & OP_FROM_SHAPE;
    for (int i = 0; i < node->input_count && !from_shape; i++) {
        if (inputs[i] &&
            (!inputs[i]->known || shape_count(&inputs[i]->shape) > SHAPE_KNOWN_ELEMENTS_MAX)) {
            return false;
        }
    }
    for (int i = 0; i < node->output_count; i++) {
        if (shape_count(&outputs[i].shape) > SHAPE_KNOWN_ELEMENTS_MAX) {
            return false;
        }
    }
    return true;
}

static int fold(struct inference *inference, const struct node *node,
                const struct fact *const *inputs, struct fact *outputs, struct error *err) {
    struct arena scratch = {0};
    size_t input_count = (size_t)node->input_count, output_count = (size_t)node->output_count;
    struct tensor *in = arena_array(&scratch, input_count, sizeof *in);
    struct tensor *out = arena_array(&scratch, output_count, sizeof *out);
    const struct tensor **in_at = arena_array(&scratch, input_count, sizeof *in_at);
    struct tensor **out_at = arena_array(&scratch, output_count, sizeof *out_at);
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i]) {
            in[i] = fact_tensor(inputs[i]);
            in_at[i] = &in[i];
        }
    }
    for (size_t i = 0; i < output_count; i++) {
        size_t size = (size_t)shape_count(&outputs[i].shape) * tensor_type_size(outputs[i].type);
        out[i] = fact_tensor(&outputs[i]);
        out[i].data = arena_alloc(inference->arena, size);
        out_at[i] = &out[i];
    }
    struct error cause = {0};
    int result = inference->evaluate(node, in_at, out_at, &cause);
    for (size_t i = 0; result == 0 && i < output_count; i++) {
        outputs[i].known = out[i].data;
    }
    arena_release(&scratch);
    if (result < 0 && cause.kind != ERROR_EXHAUSTED) {
        *err = cause;
        return -1;
    }
    return 0;
}

static int check_outputs(const struct node *node, const struct fact *outputs, struct error *err) {
    for (int i = 0; i < node->output_count; i++) {
        if (shape_count(&outputs[i].shape) < 0) {
            char text[128];
            shape_format(&outputs[i].shape, text);
            return error_set(err, ERROR_INVALID, "its output would have the shape %s", text);
        }
    }
    return 0;
}

/* The state of shape_fold_constants. */
static bool is_done(const struct graph *graph, const struct node *node) {
    bool done = true;
    for (int i = 0; done && i < node->output_count; i++) {
        done = node->outputs[i] < 0 || graph->values[node->outputs[i]].is_constant;
    }
    return done;
}

static int infer_node(struct inference *inference, const struct node *node,
                      const struct fact **inputs, struct fact *outputs, struct error *err) {
    for (int i = 0; i < node->input_count; i++) {
        int value = node->inputs[i];
        inputs[i] = value < 0 ? NULL : &inference->facts[value];
    }
    for (int i = 0; i < node->output_count; i++) {
        outputs[i] = (struct fact){0};
        outputs[i].type = inputs[0] && node->input_count ? inputs[0]->type : TENSOR_FLOAT32;
    }
    if (check_types(node, inputs, err) < 0 || node->op->infer(node, inputs, outputs, err) < 0 ||
        check_outputs(node, outputs, err) < 0 ||
        (!mark_empty_known(node, outputs, inference->arena) &&
         !mark_view_known(node, inputs, outputs) && is_foldable(node, inputs, outputs) &&
         fold(inference, node, inputs, outputs, err) < 0)) {
        return error_context(err, "%s node \"%.64s\"", node->op->name, node->name);
    }
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i] >= 0) {
            inference->facts[node->outputs[i]] = outputs[i];
        }
    }
    return 0;
}

static void fill_constants(const struct graph *graph, struct fact *facts) {
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        if (value->is_constant) {
            facts[i] = (struct fact){value->type, value->constant.shape, value->constant.data};
        }
    }
}

int shape_infer(const struct graph *graph, evaluate_function *evaluate, struct arena *arena,
                struct fact *facts, struct error *err) {
    size_t reached;
    return shape_infer_until(graph, evaluate, arena, facts, &reached, err);
}

int shape_infer_until(const struct graph *graph, evaluate_function *evaluate, struct arena *arena,
                      struct fact *facts, size_t *ret_reached, struct error *err) {
    struct inference inference = {graph, evaluate, arena, facts};
    struct arena scratch = {0};
    const struct fact **inputs = arena_array(&scratch, NODE_PORTS_MAX, sizeof *inputs);
    struct fact *outputs = arena_array(&scratch, NODE_PORTS_MAX, sizeof *outputs);
    fill_constants(graph, facts);
    int result = 0;
    for (size_t i = 0; result == 0 && i < graph->node_count; i++) {
        *ret_reached = i;
        if (!is_done(graph, &graph->nodes[i])) {
            result = infer_node(&inference, &graph->nodes[i], inputs, outputs, err);
        }
    }
    arena_release(&scratch);
    return result;
}

/* Whether all inputs are constants with so few elements that folding is fast. */
static bool is_constant_node(const struct graph *graph, const struct node *node,
                             int64_t *ret_size) {
    int64_t size = 0;
    for (int i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i] < 0 ? NULL : &graph->values[node->inputs[i]];
        if (value && !value->is_constant) {
            return false;
        }
        size += value ? shape_count(&value->constant.shape) : 0;
    }
    *ret_size = size;
    return !(node->op->flags & (OP_CONVOLVES | OP_SPREADS | OP_MULTIPLIES));
}

static void fold_node(struct inference *inference, struct graph *graph, const struct node *node,
                      const struct fact **inputs, struct fact *outputs, int64_t *budget) {
    struct error err = {0}; /* ignored here; the run reports it again */
    int64_t size;
    if (!is_constant_node(graph, node, &size)) {
        return;
    }
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = node->inputs[i] < 0 ? NULL : &inference->facts[node->inputs[i]];
    }
    outputs[0] = (struct fact){.type = inputs[0] ? inputs[0]->type : TENSOR_FLOAT32};
    if (node->output_count != 1 || node->outputs[0] < 0 || check_types(node, inputs, &err) < 0 ||
        node->op->infer(node, inputs, outputs, &err) < 0 ||
        check_outputs(node, outputs, &err) < 0 ||
        shape_count(&outputs[0].shape) > MIN(*budget, MAX(size, SHAPE_KNOWN_ELEMENTS_MAX))) {
        return;
    }
    if (!mark_empty_known(node, outputs, inference->arena) &&
        !mark_view_known(node, inputs, outputs) &&
        fold(inference, node, inputs, outputs, &err) < 0) {
        return;
    }
    if (!outputs[0].known) {
        return;
    }
    bool is_new = outputs[0].known != (inputs[0] ? inputs[0]->known : NULL);
    if (!is_new) {
        /* Two values share these bytes: resident.h. */
        graph->values[node->inputs[0]].is_pinned = true;
    }
    *budget -= is_new ? shape_count(&outputs[0].shape) : 0;
    struct value *value = &graph->values[node->outputs[0]];
    value->type = outputs[0].type;
    value->shape = outputs[0].shape;
    value->has_shape = value->is_constant = true;
    value->constant = fact_tensor(&outputs[0]);
    inference->facts[node->outputs[0]] = outputs[0];
}

void shape_fold_constants(struct graph *graph, evaluate_function *evaluate) {
    struct arena scratch = {0};
    const struct fact **inputs = arena_array(&scratch, NODE_PORTS_MAX, sizeof *inputs);
    struct fact *outputs = arena_array(&scratch, NODE_PORTS_MAX, sizeof *outputs);
    struct fact *facts = arena_array(&scratch, graph->value_count, sizeof *facts);
    struct inference inference = {graph, evaluate, &graph->arena, facts};
    fill_constants(graph, facts);
    /* Grows with the file, so that a small file cannot use much memory. */
    int64_t budget = FOLDED_ELEMENTS_MIN;
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        budget += value->is_constant ? 2 * shape_count(&value->shape) : 0;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        fold_node(&inference, graph, &graph->nodes[i], inputs, outputs, &budget);
    }
    arena_release(&scratch);
}

double shape_node_flops(const struct node *node, const struct shape *a, const struct shape *w,
                        const struct shape *y) {
    if (node->op->flags & OP_MULTIPLIES) {
        bool is_turned = node_integer(node, "transA", 0);
        int64_t inner = a->rank == 0 ? 0 : is_turned ? a->dims[0] : a->dims[a->rank - 1];
        return 2.0 * (double)shape_count(y) * (double)inner;
    }
    const struct shape *met = node->op->flags & OP_CONVOLVES ? y : a;
    return 2.0 * (double)shape_count(met) * (double)shape_count(w) / (double)MAX(w->dims[0], 1);
}

double shape_flops(const struct graph *graph, const struct fact *facts) {
    double total = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op->flags & OP_COUNTED) {
            total +=
                shape_node_flops(node, &facts[node->inputs[0]].shape, &facts[node->inputs[1]].shape,
                                 &facts[node->outputs[0]].shape);
        }
    }
    return total;
}
