// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/order.h"

#include "agent/engine/ops/infer/params.h"

static bool is_one_integer(const struct fact *fact) {
    return shape_count(&fact->shape) == 1 &&
           (fact->type == TENSOR_INT64 || fact->type == TENSOR_INT32);
}

int infer_cum_sum(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    if (!is_one_integer(inputs[1]) || inputs[0]->shape.rank == 0) {
        return error_set(err, ERROR_INVALID, "the axis must be one integer");
    }
    return infer_same(node, inputs, outputs, err);
}

int infer_eye_like(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    if (param_rank(inputs[0], 0, 2, 2, err) < 0 ||
        (node_attribute(node, "dtype") &&
         param_type(node_integer(node, "dtype", 0), &outputs[0].type, err) < 0)) {
        return -1;
    }
    return infer_same(node, inputs, outputs, err);
}

int infer_top_k(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    int64_t k = node_integer(node, "k", -1);
    int axis, count = 1;
    if (param_axis(node_integer(node, "axis", -1), x->rank, &axis, err) < 0 ||
        (node->input_count > 1 && param_integers(inputs[1], "K", &k, 1, &count, err) < 0)) {
        return -1;
    }
    if (count != 1 || k < 0 || k > x->dims[axis]) {
        return error_set(err, ERROR_INVALID, "k is %lld, expected 0 to %lld", (long long)k,
                         (long long)x->dims[axis]);
    }
    for (int i = 0; i < node->output_count; i++) {
        outputs[i].shape = *x;
        outputs[i].shape.dims[axis] = k;
        outputs[i].type = i ? TENSOR_INT64 : inputs[0]->type;
    }
    return 0;
}

int infer_trilu(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err) {
    const struct fact *k = param_input(node, inputs, 1);
    if (param_rank(inputs[0], 0, 2, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    if (k && !is_one_integer(k)) {
        return error_set(err, ERROR_INVALID, "k must be one integer");
    }
    return infer_same(node, inputs, outputs, err);
}
