// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and norms of rows as instructions.
#include <math.h>
#include <stdlib.h>

#include "agent/engine/device/cpu/chain/chain_lower.h"
#include "agent/engine/ops/infer/norm.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

enum { NONE = -1 };

// Elements of a row.
static float row_elements(const struct chain *chain) {
    int64_t count = 1;
    for (int i = 0; i < chain->reduced; i++) {
        count *= chain->domain.dims[chain->domain.rank - 1 - i];
    }
    return (float)count;
}

// The number of last dimensions that the node reduces; 0: it reduces others, too, or none.
int lower_reduced_dims(const struct lower *l) {
    const struct node *node = l->step->node;
    struct node_facts facts;
    struct reduce reduce;
    struct error err = {0};
    if (reduce_params(node, schedule_facts(l->schedule, node, &facts), &reduce, &err) < 0 ||
        reduce.is_identity) {
        error_clear(&err);
        return 0;
    }
    int rank = facts.inputs[0]->shape.rank, count = 0;
    while (count < rank && reduce.is_reduced[rank - 1 - count]) {
        count++;
    }
    for (int i = 0; i < rank - count; i++) {
        count = reduce.is_reduced[i] ? 0 : count;
    }
    return count;
}

static int reduce_row(struct lower *l, int x) {
    switch (l->step->node->op->id) {
    case OP_GLOBAL_MAX_POOL:
    case OP_REDUCE_MAX:
        return lower_one(l, CHAIN_ROW_MAX, x);
    case OP_REDUCE_MIN:
        return lower_one(l, CHAIN_ROW_MIN, x);
    case OP_REDUCE_SUM_SQUARE:
        return lower_one(l, CHAIN_ROW_SQUARES, x);
    case OP_REDUCE_L2:
        return lower_one(l, CHAIN_SQRT, lower_one(l, CHAIN_ROW_SQUARES, x));
    case OP_REDUCE_L1:
        return lower_one(l, CHAIN_ROW_SUM, lower_one(l, CHAIN_ABS, x));
    case OP_GLOBAL_AVERAGE_POOL:
    case OP_REDUCE_MEAN:
        return lower_with_number(l, CHAIN_DIV, lower_one(l, CHAIN_ROW_SUM, x),
                                 row_elements(l->chain));
    default:
        return lower_one(l, CHAIN_ROW_SUM, x);
    }
}

int lower_reduce(struct lower *l) {
    int x = lower_value(l, 0);
    // Registers have whole rows of full values only.
    if (!l->failed && lower_is_narrow(l, x)) {
        l->failed = true;
    }
    return reduce_row(l, x);
}

// x minus the row's maximum, so that no exponential is infinite.
static int shifted(struct lower *l) {
    int x = lower_value(l, 0);
    return lower_two(l, CHAIN_SUB, x, lower_one(l, CHAIN_ROW_MAX, x));
}

int lower_softmax(struct lower *l) {
    int e = lower_one(l, CHAIN_EXP, shifted(l));
    return lower_two(l, CHAIN_MUL, e,
                     lower_one(l, CHAIN_RECIPROCAL, lower_one(l, CHAIN_ROW_SUM, e)));
}

int lower_log_softmax(struct lower *l) {
    int y = shifted(l);
    int sum = lower_one(l, CHAIN_ROW_SUM, lower_one(l, CHAIN_EXP, y));
    return lower_two(l, CHAIN_SUB, y, lower_one(l, CHAIN_LOG, sum));
}

// Of y = softmax(x): y (dy - sum dy y); of its logarithm: dy - e^y sum dy.
int lower_softmax_gradient(struct lower *l) {
    int dy = lower_value(l, 0), y = lower_value(l, 1);
    if (op_forward_node(l->step->node).op->id == OP_LOG_SOFTMAX) {
        int sum = lower_one(l, CHAIN_ROW_SUM, dy);
        return lower_two(l, CHAIN_SUB, dy,
                         lower_two(l, CHAIN_MUL, lower_one(l, CHAIN_EXP, y), sum));
    }
    int sum = lower_one(l, CHAIN_ROW_SUM, lower_two(l, CHAIN_MUL, dy, y));
    return lower_two(l, CHAIN_MUL, y, lower_two(l, CHAIN_SUB, dy, sum));
}

// (x - mean) / sqrt(variance + epsilon) of each row
static int normalized(struct lower *l, int x, float epsilon) {
    float count = row_elements(l->chain);
    int mean = lower_with_number(l, CHAIN_DIV, lower_one(l, CHAIN_ROW_SUM, x), count);
    int d = lower_two(l, CHAIN_SUB, x, mean);
    int squares = lower_one(l, CHAIN_ROW_SQUARES, d);
    int variance = lower_affine(l, lower_with_number(l, CHAIN_DIV, squares, count), 1, epsilon);
    return lower_two(l, CHAIN_MUL, d,
                     lower_one(l, CHAIN_RECIPROCAL, lower_one(l, CHAIN_SQRT, variance)));
}

int lower_layer_norm(struct lower *l) {
    const struct step *step = l->step;
    int y = normalized(l, lower_value(l, 0), node_number(step->node, "epsilon", 1e-5F));
    y = lower_two(l, CHAIN_MUL, y, lower_value(l, 1));
    bool shifts = step->node->input_count > 2 && step->inputs[2] >= 0;
    return shifts ? lower_two(l, CHAIN_ADD, y, lower_value(l, 2)) : y;
}

// One number per channel as [c, 1, ...], which broadcasts to the domain [n, c, ...].
static struct shape channel_shape(const struct chain *chain) {
    struct shape shape = {.rank = chain->domain.rank - 1};
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = i ? 1 : chain->domain.dims[1];
    }
    return shape;
}

static int channel_value(struct lower *l, int index) {
    struct shape shape = channel_shape(l->chain);
    return lower_input(l, l->step->inputs[index], &shape, NULL);
}

int lower_instance_norm(struct lower *l) {
    int y = normalized(l, lower_value(l, 0), node_number(l->step->node, "epsilon", 1e-5F));
    y = lower_two(l, CHAIN_MUL, y, channel_value(l, 1));
    return lower_two(l, CHAIN_ADD, y, channel_value(l, 2));
}

// x scale + shift for each channel, with constants that are computed here.
int lower_batch_norm(struct lower *l) {
    const struct chain *chain = l->chain;
    const float *constants[4] = {0};
    for (int i = 0; i < 4; i++) {
        const struct schedule_slot *slot = &l->schedule->slots[l->step->inputs[i + 1]];
        l->failed |= !slot->is_lasting || slot->type != TENSOR_FLOAT32;
        constants[i] = slot->constant;
    }
    int x = lower_value(l, 0);
    if (l->failed) {
        return 0;
    }
    struct shape shape = channel_shape(chain);
    size_t channels = (size_t)shape.dims[0];
    float *scale = x_calloc(channels, sizeof *scale), *shift = x_calloc(channels, sizeof *shift);
    norm_batch_affine(l->step->node, constants, channels, scale, shift);
    int values = chain->value_count;
    int a = lower_input(l, NONE, &shape, scale), b = lower_input(l, NONE, &shape, shift);
    if (l->failed) { // the chain has what it has taken
        if (chain->value_count == values) {
            free(scale);
        }
        if (chain->value_count < values + 2) {
            free(shift);
        }
        return 0;
    }
    return lower_two(l, CHAIN_ADD, lower_two(l, CHAIN_MUL, x, a), b);
}

// The number of last dimensions over which the node normalizes; 0: it is not over last ones.
int lower_normalized_dims(const struct lower *l) {
    const struct node *node = l->step->node;
    const struct shape *x = &l->schedule->slots[l->step->inputs[0]].shape;
    struct error err = {0};
    struct layer_norm norm;
    struct softmax softmax;
    if (node->op->id == OP_LAYER_NORMALIZATION) {
        bool fits = layer_norm_params(node, x, &norm, &err) == 0;
        error_clear(&err);
        return fits ? x->rank - norm.axis : 0;
    }
    if (softmax_params(node, x, &softmax, &err) < 0 || softmax.inner != 1) {
        error_clear(&err);
        return 0;
    }
    int count = 0;
    for (int64_t size = 1; size < softmax.axis && count < x->rank; count++) {
        size *= x->dims[x->rank - 1 - count];
    }
    return MAX(count, 1);
}
