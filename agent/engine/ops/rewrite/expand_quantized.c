// SPDX-License-Identifier: Apache-2.0
/* Quantized operators: x minus its zero point in int32, products and sums in int32, and one
 * rounding. */
#include "agent/engine/ops/rewrite/expand.h"

/* A parameter with several entries has one for each index of x's `axis`. */
static int aligned(struct expansion *expansion, int several, int x, int64_t axis) {
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    return expand_value(expansion, OP_ALIGN, INPUTS(several, x), 1, along);
}

/* x - zero, as int32. */
static int from_zero(struct expansion *expansion, int x, int zero, int64_t axis) {
    int wide = expand_cast(expansion, x, TENSOR_INT32);
    if (zero < 0) {
        return wide;
    }
    zero = aligned(expansion, zero, x, axis);
    return expand_binary(expansion, OP_SUB, wide, expand_cast(expansion, zero, TENSOR_INT32));
}

static int integer_product(struct expansion *expansion, int a, int a_zero, int b, int b_zero) {
    return expand_binary(expansion, OP_MATMUL, from_zero(expansion, a, a_zero, -2),
                         from_zero(expansion, b, b_zero, -1));
}

/* Its attributes are those of Conv. */
static int integer_conv(struct expansion *expansion, const struct node *node, const int *inputs) {
    enum { ATTRIBUTES_MAX = 8 };
    struct attribute attributes[ATTRIBUTES_MAX + 1] = {{.name = NULL}};
    for (size_t i = 0; i < MIN(node->attribute_count, ATTRIBUTES_MAX); i++) {
        attributes[i] = node->attributes[i];
    }
    return expand_value(expansion, OP_CONV, inputs, 1, attributes);
}

/* y = products * (a's scale * b's scale) / y's scale, by channels along the axis if need be. */
static void requantize(struct expansion *expansion, int products, const int *scales, int zero,
                       int64_t axis) {
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    int scale = expand_binary(expansion, OP_DIV, scales[2],
                              expand_binary(expansion, OP_MUL, scales[0], scales[1]));
    expand_give(
        expansion, 0,
        expand_value(expansion, OP_QUANTIZE_LINEAR, INPUTS(products, scale, zero), 1, along));
}

int expand_matmul_integer(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err UNUSED) {
    expand_give(expansion, 0,
                integer_product(expansion, node->inputs[0], expand_input(node, 2), node->inputs[1],
                                expand_input(node, 3)));
    *ret_done = true;
    return 0;
}

int expand_conv_integer(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err UNUSED) {
    int x = from_zero(expansion, node->inputs[0], expand_input(node, 2), 0);
    int w = from_zero(expansion, node->inputs[1], expand_input(node, 3), 0);
    expand_give(expansion, 0, integer_conv(expansion, node, INPUTS(x, w)));
    *ret_done = true;
    return 0;
}

/* a, its scale and zero point, b, its scale and zero point, y's scale and zero point */
int expand_qlinear_matmul(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err UNUSED) {
    const int *in = node->inputs;
    int products = integer_product(expansion, in[0], in[2], in[3], in[5]);
    /* Several scales of a or y are one per row. QuantizeLinear supports only one per column, so
     * these are refused by name: a row's scale must not be used for a column. */
    int a = aligned(expansion, in[1], products, -2), y = aligned(expansion, in[6], products, -2);
    requantize(expansion, products, (const int[]){a, in[4], y}, in[7], -1);
    *ret_done = true;
    return 0;
}

/* x, w and y, each with its scale and zero point; then the int32 bias. */
int expand_qlinear_conv(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err UNUSED) {
    const int *in = node->inputs;
    int x = from_zero(expansion, in[0], in[2], 0), w = from_zero(expansion, in[3], in[5], 0);
    int y = integer_conv(expansion, node, INPUTS(x, w, expand_input(node, 8)));
    requantize(expansion, y, (const int[]){in[1], in[4], in[6]}, in[7], 1);
    *ret_done = true;
    return 0;
}

/* To uint8: the range of x, extended to include 0, is divided into 255 steps. If all elements are
 * 0, the step is 1 instead of 0, as in ONNX Runtime. */
int expand_dynamic_quantize(struct expansion *expansion, const struct node *node, bool *ret_done,
                            struct error *err UNUSED) {
    const struct attribute drops[] = {{.name = "keepdims", .kind = ATTRIBUTE_INTEGER, .integer = 0},
                                      {.name = NULL}};
    int x = node->inputs[0], none = expand_number(expansion, 0);
    int steps = expand_number(expansion, 255);
    int least = expand_binary(expansion, OP_MIN,
                              expand_value(expansion, OP_REDUCE_MIN, INPUTS(x), 1, drops), none);
    int most = expand_binary(expansion, OP_MAX,
                             expand_value(expansion, OP_REDUCE_MAX, INPUTS(x), 1, drops), none);
    int range = expand_binary(expansion, OP_SUB, most, least);
    int scale = expand_value(expansion, OP_WHERE,
                             INPUTS(expand_binary(expansion, OP_EQUAL, range, none),
                                    expand_number(expansion, 1),
                                    expand_binary(expansion, OP_DIV, range, steps)),
                             1, NULL);
    int at = expand_binary(expansion, OP_DIV, expand_binary(expansion, OP_SUB, none, least), scale);
    at = expand_value(expansion, OP_ROUND, INPUTS(at), 1, NULL);
    at = expand_value(expansion, OP_CLIP, INPUTS(at, none, steps), 1, NULL);
    int zero = expand_cast(expansion, at, TENSOR_UINT8);
    expand_give(expansion, 0,
                expand_value(expansion, OP_QUANTIZE_LINEAR, INPUTS(x, scale, zero), 1, NULL));
    expand_give(expansion, 1, scale);
    expand_give(expansion, 2, zero);
    *ret_done = true;
    return 0;
}
