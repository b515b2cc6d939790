// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/norm.h"

#include "agent/engine/ops/infer/params.h"

#include <math.h>

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

int infer_batch_norm(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    bool trains = node_integer(node, "training_mode", 0) ||
                  (node->opset < 7 && !node_integer(node, "is_test", 0));
    if (trains || node->output_count > 1) {
        return error_set(err, ERROR_UNSUPPORTED, "statistics of the batch are not supported here");
    }
    return infer_norm(node, inputs, outputs, err);
}

void norm_batch_affine(const struct node *node, const float *const numbers[static 4],
                       size_t channels, float *ret_scale, float *ret_shift) {
    double epsilon = (double)node_number(node, "epsilon", 1e-5F);
    for (size_t i = 0; i < channels; i++) {
        double factor = (double)numbers[0][i] / sqrt((double)numbers[3][i] + epsilon);
        ret_scale[i] = (float)factor;
        ret_shift[i] = (float)((double)numbers[1][i] - (double)numbers[2][i] * factor);
    }
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

int infer_group_norm(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    int64_t groups = node_integer(node, "num_groups", 0);
    if (param_rank(inputs[0], 0, 3, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    int64_t channels = inputs[0]->shape.dims[1], wanted = node->opset < 21 ? groups : channels;
    if (groups < 1 || channels % groups != 0) {
        return error_set(
            err, ERROR_INVALID,
            "attribute \"num_groups\" is %lld, expected a divisor of the %lld channels",
            (long long)groups, (long long)channels);
    }
    for (int i = 1; i < 3; i++) {
        if (inputs[i]->shape.rank != 1 || inputs[i]->shape.dims[0] != wanted) {
            return error_set(err, ERROR_INVALID, "input %d must have %lld numbers", i,
                             (long long)wanted);
        }
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

/* The shape of the dimensions that are normalized together, without leading ones. */
static bool is_of_each(const struct shape *shape, const struct shape *x, int axis) {
    int more = shape->rank - (x->rank - axis);
    bool is = more >= 0;
    for (int i = 0; is && i < shape->rank; i++) {
        is = shape->dims[i] == (i < more ? 1 : x->dims[axis + i - more]);
    }
    return is;
}

int infer_layer_norm(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    struct layer_norm norm;
    if (layer_norm_params(node, x, &norm, err) < 0) {
        return -1;
    }
    for (int i = 1; i < node->input_count; i++) {
        if (inputs[i] && !is_of_each(&inputs[i]->shape, x, norm.axis)) {
            char text[128];
            shape_format(&inputs[i]->shape, text);
            return error_set(err, ERROR_UNSUPPORTED,
                             "input %d of shape %s: one number for each that is normalized over "
                             "together is supported",
                             i, text);
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
