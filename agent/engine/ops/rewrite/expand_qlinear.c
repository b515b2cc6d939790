// SPDX-License-Identifier: Apache-2.0
/* Quantized operators of com.microsoft, as ONNX Runtime's static quantization writes them, and
 * products of integers with a float result. */
#include "agent/engine/ops/rewrite/expand.h"

#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* The first `count` inputs of the node; ERROR_INVALID: one that is not optional is absent. */
static int require(const struct node *node, int count, int optional, struct error *err) {
    for (int i = 0; i < count; i++) {
        if (expand_input(node, i) < 0 && i != optional) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
    }
    return 0;
}

static int dequantize(struct expansion *expansion, int x, int scale, int zero, int64_t axis) {
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    return expand_value(expansion, OP_DEQUANTIZE_LINEAR, INPUTS(x, scale, zero), 1, along);
}

/* Input `at` of the node, with the scale and the zero point that follow it. */
static int operand(struct expansion *expansion, const struct node *node, int at) {
    return dequantize(expansion, node->inputs[at], node->inputs[at + 1], expand_input(node, at + 2),
                      1);
}

/* Makes the node's output of x. Without a zero point (-1) it has the type of input 0. */
static void give_quantized(struct expansion *expansion, const struct node *node, int x, int scale,
                           int zero) {
    enum tensor_type type = expand_type(expansion, node->inputs[0]);
    zero = zero < 0 ? expand_typed(expansion, 0, type) : zero;
    expand_give(expansion, 0,
                expand_value(expansion, OP_QUANTIZE_LINEAR, INPUTS(x, scale, zero), 1, NULL));
}

int expand_ms_quantize(struct expansion *expansion, const struct node *node, bool *ret_done,
                       struct error *err) {
    int64_t axis = node_integer(node, "axis", 1);
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    const int *in = INPUTS(node->inputs[0], expand_input(node, 1), expand_input(node, 2));
    bool is_inverse = strcmp(node->op->name, "DequantizeLinear") == 0;
    if (require(node, 2, -1, err) < 0) {
        return -1;
    }
    expand_give(expansion, 0,
                expand_value(expansion, is_inverse ? OP_DEQUANTIZE_LINEAR : OP_QUANTIZE_LINEAR, in,
                             1, along));
    *ret_done = true;
    return 0;
}

/* ---- one operand ----------------------------------------------------------------------------- */

/* The inputs are x, its scale and zero point, y's scale and zero point. */

/* Appends the operator with those attributes of the node that it has, too. */
static int same_operator(struct expansion *expansion, enum op_id id, int x,
                         const char *const *names) {
    enum { ATTRIBUTES_MAX = 8 };
    const struct node *node = expansion->node;
    struct attribute attributes[ATTRIBUTES_MAX + 1] = {{.name = NULL}};
    size_t count = 0;
    for (; *names; names++) {
        const struct attribute *found = node_attribute(node, *names);
        if (found && count < ATTRIBUTES_MAX) {
            attributes[count++] = *found;
        }
    }
    return expand_value(expansion, id, INPUTS(x), 1, attributes);
}

/* Up to opset 12 a softmax is over all dimensions from the axis on. */
static int softmax(struct expansion *expansion, int x) {
    int64_t axis = node_integer(expansion->node, "axis", -1);
    int64_t opset = node_integer(expansion->node, "opset", BUILDER_OPSET);
    const struct attribute along = {.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis};
    return expand_newer(expansion, "Softmax", opset < BUILDER_OPSET ? 11 : BUILDER_OPSET, INPUTS(x),
                        &along);
}

int expand_qlinear_unary(struct expansion *expansion, const struct node *node, bool *ret_done,
                         struct error *err) {
    static const char *const none[] = {NULL}, *const slope[] = {"alpha", NULL};
    static const char *const window[] = {
        "auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides", NULL};
    if (require(node, 4, 2, err) < 0) {
        return -1;
    }
    int x = operand(expansion, node, 0), y;
    switch (node->op->id) {
    case OP_MS_QLINEAR_AVERAGE_POOL:
        y = same_operator(expansion, OP_AVERAGE_POOL, x, window);
        break;
    case OP_MS_QLINEAR_GLOBAL_AVERAGE_POOL:
        y = same_operator(expansion, OP_GLOBAL_AVERAGE_POOL, x, none);
        break;
    case OP_MS_QLINEAR_LEAKY_RELU:
        y = same_operator(expansion, OP_LEAKY_RELU, x, slope);
        break;
    case OP_MS_QLINEAR_SIGMOID:
        y = same_operator(expansion, OP_SIGMOID, x, none);
        break;
    default:
        y = softmax(expansion, x);
    }
    give_quantized(expansion, node, y, node->inputs[3], expand_input(node, 4));
    *ret_done = true;
    return 0;
}

/* ---- several operands ------------------------------------------------------------------------ */

int expand_qlinear_binary(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err) {
    bool is_sum = node->op->id == OP_MS_QLINEAR_ADD;
    for (int i = 0; i < 7; i++) {
        if (i != 2 && i != 5 && expand_input(node, i) < 0) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
    }
    int y = expand_binary(expansion, is_sum ? OP_ADD : OP_MUL, operand(expansion, node, 0),
                          operand(expansion, node, 3));
    give_quantized(expansion, node, y, node->inputs[6], expand_input(node, 7));
    *ret_done = true;
    return 0;
}

/* The condition; x and y, each with its scale and zero point; the result's. */
int expand_qlinear_where(struct expansion *expansion, const struct node *node, bool *ret_done,
                         struct error *err) {
    if (require(node, 9, -1, err) < 0) {
        return -1;
    }
    const int *chosen =
        INPUTS(node->inputs[0], operand(expansion, node, 1), operand(expansion, node, 4));
    give_quantized(expansion, node, expand_value(expansion, OP_WHERE, chosen, 1, NULL),
                   node->inputs[7], node->inputs[8]);
    *ret_done = true;
    return 0;
}

/* The result's scale and zero point; then each operand with its own. */
int expand_qlinear_concat(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err) {
    static const char *const axis[] = {"axis", NULL};
    int count = (node->input_count - 2) / 3;
    if (require(node, node->input_count, -1, err) < 0) {
        return -1;
    }
    if (count < 1 || node->input_count != 2 + 3 * count) {
        return error_set(err, ERROR_INVALID, "%d inputs, expected 2 and 3 for each operand",
                         node->input_count);
    }
    int *operands =
        arena_array(&expansion->builder.graph.arena, (size_t)count + 1, sizeof *operands);
    for (int i = 0; i < count; i++) {
        operands[i] = operand(expansion, node, 2 + 3 * i);
    }
    operands[count] = -2;
    const struct attribute *along = node_attribute(node, axis[0]);
    const struct attribute attributes[] = {along ? *along : (struct attribute){.name = NULL},
                                           {.name = NULL}};
    give_quantized(expansion, node, expand_value(expansion, OP_CONCAT, operands, 1, attributes),
                   node->inputs[0], node->inputs[1]);
    *ret_done = true;
    return 0;
}

/* ---- products -------------------------------------------------------------------------------- */

/* a b * scales + bias, with a and b in integers. b's scale and zero point may be one per column. */
struct product {
    int a, a_zero, b, b_zero;
    int a_scale, b_scale; /* float32 */
    int bias;             /* float32; -1: none */
};

static int as_float(struct expansion *expansion, int value) {
    return expand_type(expansion, value) == TENSOR_FLOAT32
               ? value
               : expand_cast(expansion, value, TENSOR_FLOAT32);
}

static int scaled_product(struct expansion *expansion, const struct product *product) {
    int whole =
        expand_integer_product(expansion, product->a, product->a_zero, product->b, product->b_zero);
    /* Scales and bias may be float16, as the result is then. */
    enum tensor_type type = expand_type(expansion, product->a_scale);
    int scale = expand_binary(expansion, OP_MUL, as_float(expansion, product->a_scale),
                              as_float(expansion, product->b_scale));
    int y = expand_binary(expansion, OP_MUL, whole, scale);
    if (product->bias >= 0) {
        y = expand_binary(expansion, OP_ADD, y, as_float(expansion, product->bias));
    }
    return type == TENSOR_FLOAT32 ? y : expand_cast(expansion, y, type);
}

/* a, b, their scales, their zero points, a bias */
int expand_matmul_integer_to_float(struct expansion *expansion, const struct node *node,
                                   bool *ret_done, struct error *err) {
    if (require(node, 4, -1, err) < 0) {
        return -1;
    }
    const int *in = node->inputs;
    const struct product product = {.a = in[0],
                                    .b = in[1],
                                    .a_scale = in[2],
                                    .b_scale = in[3],
                                    .a_zero = expand_input(node, 4),
                                    .b_zero = expand_input(node, 5),
                                    .bias = expand_input(node, 6)};
    expand_give(expansion, 0, scaled_product(expansion, &product));
    *ret_done = true;
    return 0;
}

/* a in float32, b, its scale and zero point, a bias */
int expand_dynamic_quantize_matmul(struct expansion *expansion, const struct node *node,
                                   bool *ret_done, struct error *err) {
    if (require(node, 3, -1, err) < 0) {
        return -1;
    }
    int parts[3];
    expand_dynamic_parts(expansion, node->inputs[0], parts);
    const struct product product = {.a = parts[0],
                                    .a_scale = parts[1],
                                    .a_zero = parts[2],
                                    .b = node->inputs[1],
                                    .b_scale = node->inputs[2],
                                    .b_zero = expand_input(node, 3),
                                    .bias = expand_input(node, 4)};
    expand_give(expansion, 0, scaled_product(expansion, &product));
    *ret_done = true;
    return 0;
}

/* a and b, each with its scale and zero point; an int32 bias, in units of the product of the
 * scales; the result's scale and zero point, without which it is float32. */
int expand_qgemm(struct expansion *expansion, const struct node *node, bool *ret_done,
                 struct error *err) {
    if (require(node, 6, -1, err) < 0) {
        return -1;
    }
    int operands[2];
    for (int i = 0; i < 2; i++) {
        operands[i] = node->inputs[3 * i];
        if (node_integer(node, i ? "transB" : "transA", 0)) {
            operands[i] = expand_value(expansion, OP_TRANSPOSE, INPUTS(operands[i]), 1, NULL);
        }
    }
    int whole = expand_integer_product(expansion, operands[0], node->inputs[2], operands[1],
                                       node->inputs[5]);
    int bias = expand_input(node, 6);
    if (bias >= 0) {
        bias = expand_cast(expansion, bias, TENSOR_FLOAT32);
        whole = expand_binary(expansion, OP_ADD, whole, bias);
    }
    int scale = expand_binary(expansion, OP_MUL, node->inputs[1], node->inputs[4]);
    scale = expand_binary(expansion, OP_MUL, scale,
                          expand_number(expansion, node_number(node, "alpha", 1)));
    if (expand_input(node, 7) < 0) {
        expand_give(expansion, 0, expand_binary(expansion, OP_MUL, whole, scale));
    } else {
        scale = expand_binary(expansion, OP_DIV, scale, node->inputs[7]);
        give_quantized(expansion, node, expand_binary(expansion, OP_MUL, whole, scale),
                       expand_number(expansion, 1), expand_input(node, 8));
    }
    *ret_done = true;
    return 0;
}
