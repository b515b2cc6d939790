// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/reduce.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/op_id.h"

int reduce_params(const struct node *node, const struct fact *const *inputs,
                  struct reduce *ret_reduce, struct error *err) {
    struct reduce reduce = {.keeps = node_integer(node, "keepdims", 1)};
    struct param_list axes;
    int rank = inputs[0]->shape.rank;
    if (param_read_list(node, inputs, "axes", 1, &axes, err) < 0 ||
        (axes.count > 0 && param_axes(axes.values, axes.count, rank, reduce.is_reduced, err) < 0)) {
        return -1;
    }
    reduce.is_identity = axes.count <= 0 && node_integer(node, "noop_with_empty_axes", 0);
    for (int i = 0; axes.count <= 0 && !reduce.is_identity && i < rank; i++) {
        reduce.is_reduced[i] = true;
    }
    *ret_reduce = reduce;
    return 0;
}

static void drop_axes(const struct shape *from, const bool *is_reduced, bool keeps,
                      struct shape *ret_shape) {
    struct shape shape = {0};
    for (int i = 0; i < from->rank; i++) {
        if (!is_reduced[i] || keeps) {
            shape.dims[shape.rank++] = is_reduced[i] ? 1 : from->dims[i];
        }
    }
    *ret_shape = shape;
}

/* Whether the reduction of a single number is that number. Then it does not matter whether a
 * reduction over no axes copies x or reduces each element alone, on which specification and
 * runtimes differ. */
static bool keeps_one(int id) {
    return id == OP_REDUCE_MAX || id == OP_REDUCE_MEAN || id == OP_REDUCE_MIN ||
           id == OP_REDUCE_PROD || id == OP_REDUCE_SUM;
}

int infer_reduce(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    struct reduce reduce;
    if (reduce_params(node, inputs, &reduce, err) < 0) {
        return -1;
    }
    for (int i = 0; i < inputs[0]->shape.rank; i++) {
        if (reduce.is_reduced[i] && inputs[0]->shape.dims[i] == 0) {
            return error_set(err, ERROR_UNSUPPORTED, "axis %d, which is reduced, has no elements",
                             i);
        }
    }
    if (reduce.is_identity && !keeps_one(node->op->id)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "attribute \"noop_with_empty_axes\" is not supported for %s",
                         node->op->name);
    }
    drop_axes(&inputs[0]->shape, reduce.is_reduced, reduce.keeps, &outputs[0].shape);
    return 0;
}

int infer_arg_max(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    int axis;
    bool is_reduced[TENSOR_RANK_MAX] = {0};
    if (param_axis(node_integer(node, "axis", 0), inputs[0]->shape.rank, &axis, err) < 0) {
        return -1;
    }
    if (inputs[0]->shape.dims[axis] == 0) {
        return error_set(err, ERROR_INVALID, "axis %d has no elements, at least one is expected",
                         axis);
    }
    is_reduced[axis] = true;
    outputs[0].type = TENSOR_INT64;
    drop_axes(&inputs[0]->shape, is_reduced, node_integer(node, "keepdims", 1), &outputs[0].shape);
    return 0;
}

int softmax_params(const struct node *node, const struct shape *x, struct softmax *ret_softmax,
                   struct error *err) {
    bool is_flat = node->opset < 13;
    struct softmax softmax = {1, 1, 1};
    int axis;
    if (param_axis(node_integer(node, "axis", is_flat ? 1 : -1), x->rank, &axis, err) < 0) {
        return -1;
    }
    for (int i = 0; i < x->rank; i++) {
        int64_t *part = i < axis               ? &softmax.outer
                        : i == axis || is_flat ? &softmax.axis
                                               : &softmax.inner;
        *part *= x->dims[i];
    }
    *ret_softmax = softmax;
    return 0;
}

int infer_softmax(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    struct softmax softmax;
    if (softmax_params(node, &inputs[0]->shape, &softmax, err) < 0) {
        return -1;
    }
    return infer_same(node, inputs, outputs, err);
}
