// SPDX-License-Identifier: Apache-2.0
#include "agent/ops/norm.h"

#include "agent/ops/params.h"

int infer_norm(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    if (param_rank(inputs[0], 0, 2, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    for (int i = 1; i < node->input_count; i++) {
        if (!inputs[i] || inputs[i]->shape.rank != 1 ||
            inputs[i]->shape.dims[0] != inputs[0]->shape.dims[1]) {
            return error_set(err, ERROR_INVALID, "input %d must have %lld elements", i,
                             (long long)inputs[0]->shape.dims[1]);
        }
    }
    return infer_same(node, inputs, outputs, err);
}

int infer_lrn(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
              struct error *err) {
    if (!node_attribute(node, "size")) {
        return error_set(err, ERROR_INVALID, "attribute \"size\" is missing");
    }
    if (param_rank(inputs[0], 0, 3, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    return infer_same(node, inputs, outputs, err);
}

int layer_norm_params(const struct node *node, const struct shape *x, struct layer_norm *ret_norm,
                      struct error *err) {
    struct layer_norm norm = {.outer = 1, .inner = 1};
    if (param_axis(node_integer(node, "axis", -1), x->rank, &norm.axis, err) < 0) {
        return -1;
    }
    for (int i = 0; i < x->rank; i++) {
        *(i < norm.axis ? &norm.outer : &norm.inner) *= x->dims[i];
    }
    *ret_norm = norm;
    return 0;
}

int infer_layer_norm(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    struct layer_norm norm;
    if (layer_norm_params(node, x, &norm, err) < 0) {
        return -1;
    }
    for (int i = 1; i < node->input_count; i++) {
        if (inputs[i] && shape_count(&inputs[i]->shape) != norm.inner) {
            return error_set(err, ERROR_UNSUPPORTED, "input %d must have %lld elements", i,
                             (long long)norm.inner);
        }
    }
    for (int i = 1; i < node->output_count; i++) { /* mean, and 1 / deviation */
        outputs[i].shape = *x;
        for (int k = norm.axis; k < x->rank; k++) {
            outputs[i].shape.dims[k] = 1;
        }
        outputs[i].type = TENSOR_FLOAT32;
    }
    return infer_same(node, inputs, outputs, err);
}
