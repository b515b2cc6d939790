// SPDX-License-Identifier: Apache-2.0
/* Gradients of sums of products: matrices, convolutions, pools. */
#include "agent/engine/ops/training/gradient.h"

#include <string.h>

/* alpha a' b', where a' and b' are transposed if requested. */
static int multiply(struct gradient *gradient, const struct node *like, int a, bool turn_a, int b,
                    bool turn_b) {
    const struct attribute attributes[] = {
        {.name = "alpha", .kind = ATTRIBUTE_NUMBER, .number = node_number(like, "alpha", 1)},
        {.name = "transA", .kind = ATTRIBUTE_INTEGER, .integer = turn_a},
        {.name = "transB", .kind = ATTRIBUTE_INTEGER, .integer = turn_b},
    };
    const struct builder_new_node node = {.op = op_of_id(OP_GEMM),
                                          .name = like->name,
                                          .input_count = 2,
                                          .inputs = V(a, b),
                                          .output_count = 1,
                                          .attribute_count = ARRAY_LEN(attributes),
                                          .attributes = attributes};
    return builder_node(gradient_builder(gradient), &node);
}

/* y = alpha a' b' + beta c. */
int gradient_gemm(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), a = node->inputs[0], b = node->inputs[1];
    bool turn_a = node_integer(node, "transA", 0), turn_b = node_integer(node, "transB", 0);
    if (gradient_wants(gradient, a)) {
        gradient_add(gradient, a,
                     turn_a ? multiply(gradient, node, b, turn_b, dy, true)
                            : multiply(gradient, node, dy, false, b, !turn_b));
    }
    if (gradient_wants(gradient, b)) {
        gradient_add(gradient, b,
                     turn_b ? multiply(gradient, node, dy, true, a, turn_a)
                            : multiply(gradient, node, a, !turn_a, dy, false));
    }
    if (node->input_count > 2 && gradient_wants(gradient, node->inputs[2])) {
        float beta = node_number(node, "beta", 1);
        if (beta != 1) {
            int factor = builder_number(gradient_builder(gradient), beta);
            dy = gradient_node(gradient, OP_MUL, V(dy, factor));
        }
        gradient_add_summed(gradient, node->inputs[2], dy);
    }
    return 0;
}

int gradient_matmul(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), a = node->inputs[0], b = node->inputs[1];
    for (int side = 0; side < 2; side++) {
        const struct attribute which = {.name = "side", .kind = ATTRIBUTE_INTEGER, .integer = side};
        if (gradient_wants(gradient, node->inputs[side])) {
            gradient_add(gradient, node->inputs[side],
                         gradient_node_with(gradient, OP_MATMUL_GRADIENT, V(dy, a, b), &which));
        }
    }
    return 0;
}

/* ---- transposed convolutions --------------------------------------------------------------- */

enum { WINDOW_ATTRIBUTES = 5 };

/* Whether a convolution with the same window leads from the result's size to the input's. */
static bool is_reversible(const struct node *node) {
    const struct attribute *more = node_attribute(node, "output_padding");
    const struct attribute *strides = node_attribute(node, "strides");
    bool result = strcmp(node_text(node, "auto_pad", "NOTSET"), "NOTSET") == 0 &&
                  !node_attribute(node, "output_shape");
    for (size_t i = 0; more && i < more->count && result; i++) {
        result = more->integers[i] < (strides && i < strides->count ? strides->integers[i] : 1);
    }
    return result;
}

/* The window of the node, as attributes of a Conv. */
static size_t copy_window(const struct node *node, struct attribute to[WINDOW_ATTRIBUTES]) {
    static const char *const names[] = {"dilations", "group", "kernel_shape", "pads", "strides"};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct attribute *attribute = node_attribute(node, names[i]);
        if (attribute) {
            to[count++] = *attribute;
        }
    }
    return count;
}

/* Sums of each channel. */
static int sum_channels(struct gradient *gradient, int dy) {
    struct builder *builder = gradient_builder(gradient);
    const struct attribute keeps = {.name = "keepdims", .kind = ATTRIBUTE_INTEGER};
    int flat = builder_integers(builder, (const int64_t[]){0, 0, -1}, 3);
    int axes = builder_integers(builder, (const int64_t[]){0, 2}, 2);
    dy = gradient_node(gradient, OP_RESHAPE, V(dy, flat));
    return gradient_node_with(gradient, OP_REDUCE_SUM, V(dy, axes), &keeps);
}

/* y is what the gradient by the input of a convolution from y to x would be. So the gradient of x
 * is that convolution of dy, and that of the weights is the convolution's. */
static void reverse(struct gradient *gradient, const struct node *node) {
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0], w = node->inputs[1];
    struct attribute attributes[1 + WINDOW_ATTRIBUTES] = {
        {.name = "of", .kind = ATTRIBUTE_STRING, .text = "Conv"}};
    struct builder_new_node made = {.name = node->name,
                                    .opset = node->opset,
                                    .input_count = 3,
                                    .output_count = 1,
                                    .attributes = attributes,
                                    .attribute_count = 1 + copy_window(node, &attributes[1])};
    if (gradient_wants(gradient, w)) {
        made.op = op_of_id(OP_CONV_GRADIENT_WEIGHTS);
        made.inputs = V(x, gradient_shape(gradient, w), dy);
        gradient_add(gradient, w, builder_node(gradient_builder(gradient), &made));
    }
    if (node->input_count > 2 && gradient_wants(gradient, node->inputs[2])) {
        gradient_add(gradient, node->inputs[2], sum_channels(gradient, dy));
    }
    if (gradient_wants(gradient, x)) {
        made.op = op_of_id(OP_CONV);
        made.inputs = V(dy, w);
        made.input_count = 2;
        made.attributes = &attributes[1];
        made.attribute_count--;
        gradient_add(gradient, x, builder_node(gradient_builder(gradient), &made));
    }
}

/* Conv and ConvTranspose. */
int gradient_conv(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    if (node->op->id == OP_CONV_TRANSPOSE && is_reversible(node)) {
        reverse(gradient, node);
        return 0;
    }
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0], w = node->inputs[1];
    int bias = node->input_count > 2 ? node->inputs[2] : -1;
    bool wants_bias = gradient_wants(gradient, bias);
    if (gradient_wants(gradient, w) || wants_bias) {
        int shape = gradient_shape(gradient, w);
        int made = gradient_node_of(gradient, OP_CONV_GRADIENT_WEIGHTS, V(dy, shape, x),
                                    wants_bias ? 2 : 1);
        gradient_add(gradient, w, made);
        if (wants_bias) {
            gradient_add(gradient, bias, made + 1);
        }
    }
    if (gradient_wants(gradient, x)) {
        int shape = gradient_shape(gradient, x);
        gradient_add(gradient, x,
                     gradient_node_of(gradient, OP_CONV_GRADIENT_INPUT, V(dy, shape, w), 1));
    }
    return 0;
}

/* MaxPool, AveragePool, GlobalMaxPool. */
int gradient_pool(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0];
    int shape = gradient_shape(gradient, x);
    bool is_average = node->op->id == OP_AVERAGE_POOL;
    gradient_add(gradient, x,
                 is_average ? gradient_node_of(gradient, OP_POOL_GRADIENT, V(dy, shape), 1)
                            : gradient_node_of(gradient, OP_POOL_GRADIENT, V(dy, shape, x), 1));
    return 0;
}

int gradient_global_average(struct gradient *gradient, const struct node *node,
                            struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    int share = gradient_share(gradient, dy, node->outputs[0], node->inputs[0]);
    int shape = gradient_shape(gradient, node->inputs[0]);
    gradient_add(gradient, node->inputs[0], gradient_node(gradient, OP_EXPAND, V(share, shape)));
    return 0;
}
