// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/elementwise.h"

#include "agent/engine/ops/infer/loss.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/op_id.h"

#include <float.h>
#include <math.h>
#include <string.h>

int elementwise_broadcast(struct shape *shape, const struct shape *other, struct error *err) {
    struct shape result = {.rank = MAX(shape->rank, other->rank)};
    for (int i = 0; i < result.rank; i++) {
        int at = shape->rank - 1 - i, other_at = other->rank - 1 - i;
        int64_t size = at < 0 ? 1 : shape->dims[at];
        int64_t other_size = other_at < 0 ? 1 : other->dims[other_at];
        if (size != other_size && size != 1 && other_size != 1) {
            char text[128], other_text[128];
            shape_format(shape, text);
            shape_format(other, other_text);
            return error_set(err, ERROR_INVALID, "shapes %s and %s are incompatible", text,
                             other_text);
        }
        result.dims[result.rank - 1 - i] = size == 1 ? other_size : size;
    }
    *shape = result;
    return 0;
}

void elementwise_broadcast_strides(const struct shape *from, const struct shape *to,
                                   int64_t ret_strides[TENSOR_RANK_MAX]) {
    int64_t stride = 1;
    for (int i = to->rank - 1; i >= 0; i--) {
        int at = from->rank - (to->rank - i);
        int64_t size = at < 0 ? 1 : from->dims[at];
        ret_strides[i] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

int infer_broadcast(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    outputs[0].shape = inputs[0]->shape;
    for (int i = 1; i < node->input_count; i++) {
        if (!inputs[i]) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
        bool is_alike = node_integer(node, ATTRIBUTE_ALIKE, 0);
        if (is_alike && loss_check_target(&inputs[0]->shape, &inputs[i]->shape, err) < 0) {
            return -1;
        }
        if (elementwise_broadcast(&outputs[0].shape, &inputs[i]->shape, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int infer_compare(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    outputs[0].type = TENSOR_BOOL;
    return infer_broadcast(node, inputs, outputs, err);
}

int infer_bit_shift(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    return node_attribute(node, "direction")
               ? infer_broadcast(node, inputs, outputs, err)
               : error_set(err, ERROR_INVALID, "attribute \"direction\" is missing");
}

int infer_bitwise(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    return tensor_type_is_real(inputs[0]->type)
               ? error_set(err, ERROR_INVALID, "integers are expected, not %s",
                           tensor_type_name(inputs[0]->type))
               : infer_broadcast(node, inputs, outputs, err);
}

int infer_mod(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
              struct error *err) {
    if (tensor_type_is_real(inputs[0]->type) && !node_integer(node, "fmod", 0)) {
        return error_set(err, ERROR_INVALID, "attribute \"fmod\" must be 1 for floats");
    }
    return infer_broadcast(node, inputs, outputs, err);
}

int infer_where(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err) {
    if (inputs[0]->type != TENSOR_BOOL || inputs[1]->type != inputs[2]->type) {
        return error_set(err, ERROR_INVALID,
                         "input 0 must be bool, and inputs 1 and 2 of one type");
    }
    outputs[0].type = inputs[1]->type;
    return infer_broadcast(node, inputs, outputs, err);
}

int infer_one_way(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    if (infer_broadcast(node, inputs, outputs, err) < 0) {
        return -1;
    }
    if (!shape_equal(&outputs[0].shape, &inputs[0]->shape)) {
        return error_set(err, ERROR_INVALID, "input 1 does not broadcast to input 0");
    }
    return 0;
}

int infer_cast(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    if (param_type(node_integer(node, "to", 0), &outputs[0].type, err) < 0) {
        return -1;
    }
    return infer_same(node, inputs, outputs, err);
}

int infer_cast_like(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    outputs[0].type = inputs[1]->type;
    return infer_same(node, inputs, outputs, err);
}

int infer_test(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    outputs[0].type = TENSOR_BOOL;
    return infer_same(node, inputs, outputs, err);
}

int infer_clip(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    for (int i = 1; i < node->input_count; i++) {
        if (inputs[i] && shape_count(&inputs[i]->shape) != 1) {
            return error_set(err, ERROR_INVALID, "input %d must be a single number", i);
        }
    }
    return infer_same(node, inputs, outputs, err);
}

void elementwise_unary_numbers(const struct node *node, int op, float *ret_first,
                               float *ret_second) {
    static const struct {
        int op;
        const char *first, *second;
        float first_default, second_default;
    } rows[] = {
        {OP_CELU, "alpha", "", 1, 0},
        {OP_ELU, "alpha", "", 1, 0},
        {OP_HARD_SIGMOID, "alpha", "beta", 0.2f, 0.5f},
        {OP_LEAKY_RELU, "alpha", "", 0.01f, 0},
        {OP_SELU, "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f},
        {OP_SHRINK, "lambd", "bias", 0.5f, 0},
        {OP_THRESHOLDED_RELU, "alpha", "", 1, 0},
    };
    *ret_first = *ret_second = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].op == op) {
            *ret_first = node_number(node, rows[i].first, rows[i].first_default);
            *ret_second = node_number(node, rows[i].second, rows[i].second_default);
        }
    }
}

void elementwise_clip_bounds(const struct node *node, const struct tensor *low,
                             const struct tensor *high, float *ret_low, float *ret_high) {
    *ret_low = low ? *(const float *)low->data : node_number(node, "min", -INFINITY);
    *ret_high = high ? *(const float *)high->data : node_number(node, "max", INFINITY);
}
