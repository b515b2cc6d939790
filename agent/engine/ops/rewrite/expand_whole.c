// SPDX-License-Identifier: Apache-2.0
/* Values of 8 bits that are read as float32: QuantizeLinear with one known scale, then
 * DequantizeLinear or a Cast. They never become 8 bits: rounded and clamped, they are the same
 * whole numbers in float32. So what is between two layers of a quantized network is a chain of
 * elementwise nodes, which devices fuse with the layers. Other readers get the 8 bits as before. */
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/rewrite/expand.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT_MAX = 4096 }; /* nodes before a reader */

/* The node that makes the value, behind views of the whole; NULL: none of the last ones. */
static const struct node *maker_of(const struct expansion *expansion, int value) {
    const struct graph *graph = &expansion->builder.graph;
    size_t first = graph->node_count > LOOKED_AT_MAX ? graph->node_count - LOOKED_AT_MAX : 0;
    for (size_t i = graph->node_count; i-- > first;) {
        const struct node *node = &graph->nodes[i];
        if (node->output_count == 1 && node->outputs[0] == value) {
            if (node->op->id != OP_IDENTITY) {
                return node;
            }
            value = node->inputs[0];
        }
    }
    return NULL;
}

/* Whether the value is one known number; -1: it is absent, and 0. */
static bool is_number(const struct expansion *expansion, int value, double *ret_number) {
    const struct tensor *known = expand_constant(expansion, value);
    *ret_number = 0;
    if (known && shape_count(&known->shape) == 1) {
        *ret_number = tensor_number(known, 0);
    }
    return value < 0 || (known && shape_count(&known->shape) == 1);
}

/* Where the float32 of a quantized value is kept. */
static int *kept(struct expansion *expansion, int value) {
    size_t count = expansion->builder.graph.value_count;
    if ((size_t)value >= expansion->whole_count) {
        expansion->wholes = x_realloc_array(expansion->wholes, 2 * count, sizeof(int));
        for (; expansion->whole_count < 2 * count; expansion->whole_count++) {
            expansion->wholes[expansion->whole_count] = -1;
        }
    }
    return &expansion->wholes[value];
}

/* The quantized value minus its zero point, as float32; -1: it is not made so. */
static int centered(struct expansion *expansion, int quantized, double *ret_zero) {
    const struct node *node = maker_of(expansion, quantized);
    double scale;
    if (!node || node->op->id != OP_QUANTIZE_LINEAR ||
        !is_number(expansion, node->inputs[1], &scale) ||
        !is_number(expansion, expand_input(node, 2), ret_zero) ||
        expand_type(expansion, node->inputs[0]) != TENSOR_FLOAT32 ||
        expand_type(expansion, node->inputs[1]) != TENSOR_FLOAT32) {
        return -1;
    }
    enum tensor_type type = expand_type(expansion, node->outputs[0]);
    double low = type == TENSOR_INT8 ? INT8_MIN : 0,
           high = type == TENSOR_INT8 ? INT8_MAX : UINT8_MAX;
    if (type != TENSOR_INT8 && type != TENSOR_UINT8) {
        return -1;
    }
    int quantity = node->outputs[0], x = *kept(expansion, quantity);
    if (x < 0) {
        x = expand_binary(expansion, OP_DIV, node->inputs[0],
                          expand_number(expansion, (float)scale));
        x = expand_value(expansion, OP_ROUND, INPUTS(x), 1, NULL);
        /* Not Clip, which devices fuse with convolutions alone. */
        x = expand_binary(expansion, OP_MAX, x, expand_number(expansion, (float)(low - *ret_zero)));
        x = expand_binary(expansion, OP_MIN, x,
                          expand_number(expansion, (float)(high - *ret_zero)));
        *kept(expansion, quantity) = x;
    }
    return x;
}

void expand_wholes_release(struct expansion *expansion) {
    free(TAKE(expansion->wholes));
    expansion->whole_count = 0;
}

int expand_whole_cast(struct expansion *expansion, const struct node *node, bool *ret_done,
                      struct error *err UNUSED) {
    double zero;
    bool to_float = node_integer(node, "to", 0) == tensor_type_onnx(TENSOR_FLOAT32);
    int x = to_float ? centered(expansion, node->inputs[0], &zero) : -1;
    if (x >= 0) {
        int whole =
            zero == 0 ? x
                      : expand_binary(expansion, OP_ADD, x, expand_number(expansion, (float)zero));
        expand_give(expansion, 0, whole);
        *ret_done = true;
    }
    return 0;
}

int expand_whole_dequantize(struct expansion *expansion, const struct node *node, bool *ret_done,
                            struct error *err UNUSED) {
    double scale, zero, own;
    if (!is_number(expansion, node->inputs[1], &scale) ||
        !is_number(expansion, expand_input(node, 2), &own) ||
        expand_type(expansion, node->inputs[1]) != TENSOR_FLOAT32) {
        return 0;
    }
    int x = centered(expansion, node->inputs[0], &zero);
    if (x >= 0) {
        x = zero == own ? x
                        : expand_binary(expansion, OP_ADD, x,
                                        expand_number(expansion, (float)(zero - own)));
        expand_give(expansion, 0,
                    expand_binary(expansion, OP_MUL, x, expand_number(expansion, (float)scale)));
        *kept(expansion, node->outputs[0]) = x; /* for the layer that reads it */
        *ret_done = true;
    }
    return 0;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Constant weights of 8 bits behind DequantizeLinear, with a scale and a zero point for each output
 * or for all. */
struct weights {
    struct tensor bits, scales, zeros; /* zeros: without data: 0 */
    int64_t axis, outputs;             /* the dimension of the outputs */
};

static bool take_constant(const struct expansion *expansion, int value, struct tensor *ret_tensor) {
    const struct tensor *known = expand_constant(expansion, value);
    *ret_tensor = known ? *known : (struct tensor){0};
    return known;
}

static bool fits_outputs(const struct tensor *numbers, int64_t outputs) {
    int64_t count = shape_count(&numbers->shape);
    return count == 1 || count == outputs;
}

/* The axis of the outputs of a layer's weights. */
static int64_t output_axis(const struct node *node, int rank) {
    return node->op->id == OP_CONV || node_integer(node, "transB", 0) ? 0 : rank - 1;
}

static bool find_weights(const struct expansion *expansion, const struct node *layer,
                         struct weights *ret_weights) {
    struct weights *w = ret_weights;
    const struct node *node = maker_of(expansion, layer->inputs[1]);
    if (!node || node->op->id != OP_DEQUANTIZE_LINEAR ||
        !take_constant(expansion, node->inputs[0], &w->bits) ||
        !take_constant(expansion, node->inputs[1], &w->scales) ||
        (expand_input(node, 2) >= 0 && !take_constant(expansion, node->inputs[2], &w->zeros))) {
        return false;
    }
    int rank = w->bits.shape.rank;
    bool is_matrix = layer->op->id != OP_CONV;
    if ((w->bits.type != TENSOR_INT8 && w->bits.type != TENSOR_UINT8) ||
        w->scales.type != TENSOR_FLOAT32 || (is_matrix ? rank != 2 : rank < 3) ||
        shape_count(&w->bits.shape) < 1) {
        return false;
    }
    w->axis = output_axis(layer, rank);
    w->outputs = w->bits.shape.dims[w->axis];
    int64_t along = node_integer(node, "axis", 1);
    bool is_one =
        shape_count(&w->scales.shape) == 1 && (!w->zeros.data || shape_count(&w->zeros.shape) == 1);
    return node_integer(node, "block_size", 0) == 0 && fits_outputs(&w->scales, w->outputs) &&
           (!w->zeros.data || fits_outputs(&w->zeros, w->outputs)) &&
           (is_one || (along < 0 ? along + rank : along) == w->axis);
}

static double at_output(const struct tensor *numbers, int64_t output) {
    return tensor_number(numbers, shape_count(&numbers->shape) == 1 ? 0 : output);
}

/* A constant of the layer, float32, whose numbers are to be filled in. */
static int new_constant(struct expansion *expansion, const struct shape *shape,
                        float **ret_numbers) {
    struct graph *graph = &expansion->builder.graph;
    size_t count = (size_t)shape_count(shape);
    struct tensor tensor = {.type = TENSOR_FLOAT32, .shape = *shape};
    tensor.data = *ret_numbers = arena_array(&graph->arena, count, sizeof(float));
    int index = builder_value(&expansion->builder, expansion->node->name);
    graph->values[index] = (struct value){.name = expansion->node->name,
                                          .type = tensor.type,
                                          .shape = tensor.shape,
                                          .has_shape = true,
                                          .is_constant = true,
                                          .constant = tensor};
    return index;
}

static int whole_weights(struct expansion *expansion, const struct weights *w) {
    float *numbers;
    int index = new_constant(expansion, &w->bits.shape, &numbers);
    const struct around around = param_around_axis(&w->bits.shape, w->axis);
    for (int64_t i = 0; i < shape_count(&w->bits.shape); i++) {
        double zero = w->zeros.data ? at_output(&w->zeros, i / around.inner % around.size) : 0;
        numbers[i] = (float)(tensor_number(&w->bits, i) - zero);
    }
    return index;
}

/* The scales of the products: [outputs], or [outputs, 1, ...] behind a convolution. */
static int scales_of(struct expansion *expansion, const struct weights *w, bool is_matrix,
                     double input_scale) {
    struct shape shape = {1, {w->outputs}};
    for (int i = 2; i < w->bits.shape.rank && !is_matrix; i++) {
        shape.dims[shape.rank++] = 1;
    }
    float *numbers;
    int index = new_constant(expansion, &shape, &numbers);
    for (int64_t o = 0; o < w->outputs; o++) {
        numbers[o] = (float)(at_output(&w->scales, o) * input_scale);
    }
    return index;
}

static int with_bias(struct expansion *expansion, const struct node *node, int y) {
    const struct attribute channels[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = 1},
                                         {.name = NULL}};
    int bias = expand_input(node, 2);
    if (bias >= 0 && node->op->id == OP_CONV) {
        bias = expand_value(expansion, OP_ALIGN, INPUTS(bias, y), 1, channels);
    }
    return bias < 0 ? y : expand_binary(expansion, OP_ADD, y, bias);
}

/* The same node of whole numbers. */
static int whole_node(struct expansion *expansion, const struct node *node, int x, int w) {
    enum { ATTRIBUTES_MAX = 8 };
    struct attribute attributes[ATTRIBUTES_MAX + 2] = {{.name = NULL}};
    size_t count = MIN(node->attribute_count, ATTRIBUTES_MAX);
    memcpy(attributes, node->attributes, count * sizeof *attributes);
    attributes[count] = (struct attribute){
        .name = PARAM_IS_WHOLE, .kind = ATTRIBUTE_INTEGER, .integer = PARAM_ROUNDS};
    return expand_value(expansion, (enum op_id)node->op->id, INPUTS(x, w), 1, attributes);
}

/* A convolution or a product of a quantized value and quantized weights is one of whole numbers,
 * which devices may compute in 16 bits or less, times the scales. */
int expand_whole_layer(struct expansion *expansion, const struct node *node, bool *ret_done,
                       struct error *err UNUSED) {
    struct weights weights = {.outputs = 0};
    int x = *kept(expansion, node->inputs[0]);
    const struct node *scaled = x < 0 ? NULL : maker_of(expansion, node->inputs[0]);
    double scale;
    if (!scaled || scaled->op->id != OP_MUL || !is_number(expansion, scaled->inputs[1], &scale) ||
        node_number(node, "alpha", 1) != 1 || node_number(node, "beta", 1) != 1 ||
        node_integer(node, "transA", 0) || !find_weights(expansion, node, &weights) ||
        !expand_has_room(expansion, &weights.bits)) {
        return 0;
    }
    bool is_matrix = node->op->id != OP_CONV;
    int y = whole_node(expansion, node, x, whole_weights(expansion, &weights));
    y = expand_binary(expansion, OP_MUL, y, scales_of(expansion, &weights, is_matrix, scale));
    expand_give(expansion, 0, with_bias(expansion, node, y));
    *ret_done = true;
    return 0;
}
