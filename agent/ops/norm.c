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
