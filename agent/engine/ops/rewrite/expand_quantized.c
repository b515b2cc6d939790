// SPDX-License-Identifier: Apache-2.0
/* Quantized operators: x minus its zero point, products and sums in float32, and one rounding. Such
 * sums are exact up to 2^24, which is 258 products of 255 and 255; with factors of both signs, as
 * networks have, some hundred thousand. (Runtimes that add pairs of products in 16 bits saturate
 * sooner.) So quantized networks have the kernels of float32. */
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/rewrite/expand.h"

/* A parameter with several entries has one for each index of x's `axis`. */
static int aligned(struct expansion *expansion, int several, int x, int64_t axis) {
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    return expand_value(expansion, OP_ALIGN, INPUTS(several, x), 1, along);
}

/* x - zero */
static int from_zero(struct expansion *expansion, int x, int zero, int64_t axis) {
    int wide = expand_cast(expansion, x, TENSOR_FLOAT32);
    if (zero < 0) {
        return wide;
    }
    zero = aligned(expansion, zero, x, axis);
    return expand_binary(expansion, OP_SUB, wide, expand_cast(expansion, zero, TENSOR_FLOAT32));
}

int expand_integer_product(struct expansion *expansion, int a, int a_zero, int b, int b_zero) {
    return expand_binary(expansion, OP_MATMUL, from_zero(expansion, a, a_zero, -2),
                         from_zero(expansion, b, b_zero, -1));
}

/* Its attributes are those of Conv. */
static int integer_conv(struct expansion *expansion, const struct node *node, const int *inputs) {
    enum { ATTRIBUTES_MAX = 8 };
    struct attribute attributes[ATTRIBUTES_MAX + 2] = {{.name = NULL}};
    size_t count = MIN(node->attribute_count, ATTRIBUTES_MAX);
    for (size_t i = 0; i < count; i++) {
        attributes[i] = node->attributes[i];
    }
    attributes[count] =
        (struct attribute){.name = PARAM_IS_WHOLE, .kind = ATTRIBUTE_INTEGER, .integer = 1};
    return expand_value(expansion, OP_CONV, inputs, 1, attributes);
}

/* y = products * (a's scale * b's scale / y's scale), as runtimes compute it: so ties are rounded
 * alike. Several scales are aligned with the products. */
static void requantize(struct expansion *expansion, int products, const int *scales, int zero) {
    int scale = expand_binary(expansion, OP_DIV,
                              expand_binary(expansion, OP_MUL, scales[0], scales[1]), scales[2]);
    int y = expand_binary(expansion, OP_MUL, products, scale);
    expand_give(expansion, 0,
                expand_value(expansion, OP_QUANTIZE_LINEAR,
                             INPUTS(y, expand_number(expansion, 1), zero), 1, NULL));
}

int expand_matmul_integer(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err UNUSED) {
    int products = expand_integer_product(expansion, node->inputs[0], expand_input(node, 2),
                                          node->inputs[1], expand_input(node, 3));
    expand_give(expansion, 0, expand_cast(expansion, products, TENSOR_INT32));
    *ret_done = true;
    return 0;
}

int expand_conv_integer(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err UNUSED) {
    int x = from_zero(expansion, node->inputs[0], expand_input(node, 2), 0);
    int w = from_zero(expansion, node->inputs[1], expand_input(node, 3), 0);
    int y = integer_conv(expansion, node, INPUTS(x, w));
    expand_give(expansion, 0, expand_cast(expansion, y, TENSOR_INT32));
    *ret_done = true;
    return 0;
}

/* a, its scale and zero point, b, its scale and zero point, y's scale and zero point */
int expand_qlinear_matmul(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err UNUSED) {
    const int *in = node->inputs;
    int products = expand_integer_product(expansion, in[0], in[2], in[3], in[5]);
    /* Several scales of a or y are one per row, those of b one per column. */
    requantize(expansion, products,
               (const int[]){aligned(expansion, in[1], products, -2),
                             aligned(expansion, in[4], products, -1),
                             aligned(expansion, in[6], products, -2)},
               in[7]);
    *ret_done = true;
    return 0;
}

/* x, w and y, each with its scale and zero point; then the int32 bias. */
int expand_qlinear_conv(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err UNUSED) {
    const int *in = node->inputs;
    int x = from_zero(expansion, in[0], in[2], 0), w = from_zero(expansion, in[3], in[5], 0);
    int bias = expand_input(node, 8);
    bias = bias < 0 ? bias : expand_cast(expansion, bias, TENSOR_FLOAT32);
    int y = integer_conv(expansion, node, INPUTS(x, w, bias));
    requantize(expansion, y, (const int[]){in[1], aligned(expansion, in[4], y, 1), in[6]}, in[7]);
    *ret_done = true;
    return 0;
}

void expand_dynamic_parts(struct expansion *expansion, int x, int ret_parts[3]) {
    const struct attribute drops[] = {{.name = "keepdims", .kind = ATTRIBUTE_INTEGER, .integer = 0},
                                      {.name = NULL}};
    int none = expand_number(expansion, 0), steps = expand_number(expansion, 255);
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
    ret_parts[0] = expand_value(expansion, OP_QUANTIZE_LINEAR, INPUTS(x, scale, zero), 1, NULL);
    ret_parts[1] = scale;
    ret_parts[2] = zero;
}

int expand_dynamic_quantize(struct expansion *expansion, const struct node *node, bool *ret_done,
                            struct error *err UNUSED) {
    int parts[3];
    expand_dynamic_parts(expansion, node->inputs[0], parts);
    for (int i = 0; i < 3; i++) {
        expand_give(expansion, i, parts[i]);
    }
    *ret_done = true;
    return 0;
}
