// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/quantize.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/types.h"

int quantize_params(const struct node *node, const struct shape *x, const struct shape *scale,
                    struct quantize *ret_quantize, struct error *err) {
    struct quantize quantize = {1, 1};
    int axis;
    if (shape_count(scale) != 1) {
        if (param_axis(node_integer(node, "axis", 1), x->rank, &axis, err) < 0) {
            return -1;
        }
        if (scale->rank != 1 || scale->dims[0] != x->dims[axis]) {
            return error_set(err, ERROR_INVALID,
                             "one scale, or %lld, one for each index of axis %d",
                             (long long)x->dims[axis], axis);
        }
        quantize.size = x->dims[axis];
        for (int i = axis + 1; i < x->rank; i++) {
            quantize.inner *= x->dims[i];
        }
    }
    *ret_quantize = quantize;
    return 0;
}

/* Checks the zero point: one per scale, or one in all. */
static int check_zero(const struct node *node, const struct fact *const *inputs,
                      struct error *err) {
    const struct fact *zero = param_input(node, inputs, 2);
    bool fits =
        !zero || shape_count(&zero->shape) == 1 || shape_equal(&zero->shape, &inputs[1]->shape);
    return fits ? 0 : error_set(err, ERROR_INVALID, "the zero point is not shaped as the scale");
}

int infer_quantize(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    const struct fact *zero = param_input(node, inputs, 2);
    struct quantize quantize;
    if (types_output(node,
                     (const enum tensor_type[]){inputs[0]->type, inputs[1]->type,
                                                zero ? zero->type : TENSOR_UINT8},
                     0, &outputs[0].type, err) < 0) {
        return -1;
    }
    if (zero && zero->type != outputs[0].type) {
        return error_set(err, ERROR_INVALID, "the zero point has another type than the output");
    }
    if ((inputs[0]->type != TENSOR_FLOAT32 && inputs[0]->type != TENSOR_INT32) ||
        (outputs[0].type != TENSOR_UINT8 && outputs[0].type != TENSOR_INT8)) {
        return error_set(err, ERROR_UNSUPPORTED, "from %s to %s is not supported",
                         tensor_type_name(inputs[0]->type), tensor_type_name(outputs[0].type));
    }
    if (quantize_params(node, &inputs[0]->shape, &inputs[1]->shape, &quantize, err) < 0 ||
        check_zero(node, inputs, err) < 0) {
        return -1;
    }
    return infer_same(node, inputs, outputs, err);
}

int infer_dequantize(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    enum tensor_type type = inputs[0]->type;
    struct quantize quantize;
    if (type != TENSOR_UINT8 && type != TENSOR_INT8 && type != TENSOR_INT32) {
        return error_set(err, ERROR_UNSUPPORTED, "input 0 of type %s is not supported",
                         tensor_type_name(type));
    }
    if (param_input(node, inputs, 2) && inputs[2]->type != type) {
        return error_set(err, ERROR_INVALID, "the zero point has another type than input 0");
    }
    if (quantize_params(node, &inputs[0]->shape, &inputs[1]->shape, &quantize, err) < 0 ||
        check_zero(node, inputs, err) < 0) {
        return -1;
    }
    outputs[0].type = TENSOR_FLOAT32;
    return infer_same(node, inputs, outputs, err);
}
