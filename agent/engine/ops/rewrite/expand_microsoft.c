// SPDX-License-Identifier: Apache-2.0
/* Operators of com.microsoft, and activations with a gate of the standard's newest opsets. */
#include "agent/engine/ops/rewrite/expand.h"

#include <string.h>

static struct attribute number(const char *name, float value) {
    return (struct attribute){.name = name, .kind = ATTRIBUTE_NUMBER, .number = value, .text = ""};
}

/* x * sigmoid(alpha * x) */
static int swish(struct expansion *expansion, int x, float alpha) {
    int inner =
        alpha == 1 ? x : expand_binary(expansion, OP_MUL, x, expand_number(expansion, alpha));
    return expand_binary(expansion, OP_MUL, x,
                         expand_value(expansion, OP_SIGMOID, INPUTS(inner), 1, NULL));
}

int expand_swish(struct expansion *expansion, const struct node *node, bool *ret_done,
                 struct error *err UNUSED) {
    bool is_quick = strcmp(node->op->name, "QuickGelu") == 0;
    float alpha = node_number(node, "alpha", is_quick ? 1.702f : 1);
    expand_give(expansion, 0, swish(expansion, node->inputs[0], alpha));
    *ret_done = true;
    return 0;
}

int expand_swiglu(struct expansion *expansion, const struct node *node, bool *ret_done,
                  struct error *err UNUSED) {
    int gate = swish(expansion, node->inputs[0], node_number(node, "alpha", 1));
    expand_give(expansion, 0, expand_binary(expansion, OP_MUL, gate, node->inputs[1]));
    *ret_done = true;
    return 0;
}

/* Gelu, BiasGelu: by the error function; FastGelu: by tanh. */
int expand_ms_gelu(struct expansion *expansion, const struct node *node, bool *ret_done,
                   struct error *err UNUSED) {
    const struct attribute by_tanh = {
        .name = "approximate", .kind = ATTRIBUTE_STRING, .text = "tanh"};
    bool is_fast = strcmp(node->op->name, "FastGelu") == 0;
    int x = node->inputs[0], bias = expand_input(node, 1);
    x = bias < 0 ? x : expand_binary(expansion, OP_ADD, x, bias);
    expand_give(expansion, 0,
                expand_newer(expansion, "Gelu", 20, INPUTS(x), is_fast ? &by_tanh : NULL));
    *ret_done = true;
    return 0;
}

/* ---- norms ---------------------------------------------------------------------------------- */

/* The standard's operator reads its epsilon, and -1 is its axis. */
static int layer_norm(struct expansion *expansion, int x, int scale, int shift) {
    const struct attribute epsilon =
        number("epsilon", node_number(expansion->node, "epsilon", 1e-12f));
    return shift < 0 ? expand_newer(expansion, "LayerNormalization", 17, INPUTS(x, scale), &epsilon)
                     : expand_newer(expansion, "LayerNormalization", 17, INPUTS(x, scale, shift),
                                    &epsilon);
}

static int rms_norm(struct expansion *expansion, int x, int scale, float added) {
    static const int64_t last[] = {-1};
    const struct attribute over[] = {
        {.name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = 1, .integers = last}, {.name = NULL}};
    int epsilon = expand_number(expansion, node_number(expansion->node, "epsilon", added));
    int mean = expand_value(expansion, OP_REDUCE_MEAN,
                            INPUTS(expand_binary(expansion, OP_MUL, x, x)), 1, over);
    int root = expand_value(expansion, OP_SQRT,
                            INPUTS(expand_binary(expansion, OP_ADD, mean, epsilon)), 1, NULL);
    return expand_binary(expansion, OP_MUL, expand_binary(expansion, OP_DIV, x, root), scale);
}

int expand_simplified_norm(struct expansion *expansion, const struct node *node, bool *ret_done,
                           struct error *err) {
    int64_t axis = node_integer(node, "axis", -1);
    if ((axis != -1 && axis != expand_rank(expansion, node->inputs[0]) - 1) ||
        expand_gives(node, 1)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "an axis that is not the last one, or output 1, is not supported");
    }
    expand_give(expansion, 0, rms_norm(expansion, node->inputs[0], node->inputs[1], 1e-5f));
    *ret_done = true;
    return 0;
}

/* The norm of input + skip + bias, and that sum. */
int expand_skip_norm(struct expansion *expansion, const struct node *node, bool *ret_done,
                     struct error *err) {
    bool is_rms = strcmp(node->op->name, "SkipSimplifiedLayerNormalization") == 0;
    int bias = expand_input(node, is_rms ? 3 : 4);
    int sum = expand_binary(expansion, OP_ADD, node->inputs[0], node->inputs[1]);
    if (expand_gives(node, 1) || expand_gives(node, 2)) {
        return error_set(err, ERROR_UNSUPPORTED, "its mean and deviation are not supported");
    }
    sum = bias < 0 ? sum : expand_binary(expansion, OP_ADD, sum, bias);
    expand_give(expansion, 0,
                is_rms ? rms_norm(expansion, sum, node->inputs[2], 1e-12f)
                       : layer_norm(expansion, sum, node->inputs[2], expand_input(node, 3)));
    expand_give(expansion, 3, sum);
    *ret_done = true;
    return 0;
}

/* The table's rows for positions 0 to the length of the ids, which are [images, length]. */
static int first_rows(struct expansion *expansion, int table, int ids) {
    int shape = expand_value(expansion, OP_SHAPE, INPUTS(ids), 1, NULL);
    int length =
        expand_value(expansion, OP_GATHER, INPUTS(shape, expand_integer(expansion, 1)), 1, NULL);
    return expand_value(
        expansion, OP_SLICE,
        INPUTS(table, expand_integer(expansion, 0), length, expand_integer(expansion, 0)), 1, NULL);
}

/* inputs: ids, segments, tables of words, positions, segments, scale, shift, mask, positions */
int expand_embed_layer_norm(struct expansion *expansion, const struct node *node, bool *ret_done,
                            struct error *err) {
    if (node->input_count < 7) {
        return error_set(err, ERROR_INVALID, "%d inputs, 7 to 9 are expected", node->input_count);
    }
    int ids = node->inputs[0], segments = node->inputs[1], mask = expand_input(node, 7);
    int positions = expand_input(node, 8);
    for (int i = 2; i < 7; i++) {
        if (node->inputs[i] < 0 && (i != 4 || segments >= 0)) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
    }
    int sum = expand_value(expansion, OP_GATHER, INPUTS(node->inputs[2], ids), 1, NULL);
    int places = positions < 0 ? first_rows(expansion, node->inputs[3], ids)
                               : expand_value(expansion, OP_GATHER,
                                              INPUTS(node->inputs[3], positions), 1, NULL);
    sum = expand_binary(expansion, OP_ADD, sum, places);
    if (segments >= 0) {
        int kinds = expand_value(expansion, OP_GATHER, INPUTS(node->inputs[4], segments), 1, NULL);
        sum = expand_binary(expansion, OP_ADD, sum, kinds);
    }
    expand_give(expansion, 0, layer_norm(expansion, sum, node->inputs[5], node->inputs[6]));
    if (expand_gives(node, 1)) { /* how many tokens the mask lets through; without one, 0 */
        mask = mask < 0 ? expand_binary(expansion, OP_SUB, ids, ids) : mask;
        const struct attribute flat[] = {
            {.name = "keepdims", .kind = ATTRIBUTE_INTEGER, .integer = 0}, {.name = NULL}};
        expand_give(expansion, 1,
                    expand_value(expansion, OP_REDUCE_SUM,
                                 INPUTS(mask, expand_integer(expansion, 1)), 1, flat));
    }
    expand_give(expansion, 2, sum);
    *ret_done = true;
    return 0;
}

/* ---- products ------------------------------------------------------------------------------- */

int expand_fused_matmul(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err UNUSED) {
    static const char *const equations[] = {"...ij,...jk->...ik", "...ij,...kj->...ik",
                                            "...ji,...jk->...ik", "...ji,...kj->...ik"};
    bool turns_a = node_integer(node, "transA", 0), turns_b = node_integer(node, "transB", 0);
    float alpha = node_number(node, "alpha", 1);
    const struct attribute equation[] = {
        {.name = "equation", .kind = ATTRIBUTE_STRING, .text = equations[2 * turns_a + turns_b]},
        {.name = NULL}};
    const int *operands = INPUTS(node->inputs[0], node->inputs[1]);
    int product = turns_a || turns_b ? expand_value(expansion, OP_EINSUM, operands, 1, equation)
                                     : expand_value(expansion, OP_MATMUL, operands, 1, NULL);
    expand_give(expansion, 0,
                alpha == 1
                    ? product
                    : expand_binary(expansion, OP_MUL, product, expand_number(expansion, alpha)));
    *ret_done = true;
    return 0;
}

/* A matrix of small integers in blocks along k, each with a scale and a zero: row n of it is column
 * n of the weights. */
struct blocks {
    const struct tensor *integers, *scales, *zeros; /* zeros NULL: half of the range */
    int64_t k, n, bits, size, count;                /* count: blocks of a row */
};

static int64_t packed(const struct tensor *tensor, int64_t row_bytes, int64_t row, int64_t index,
                      int64_t bits) {
    const uint8_t *bytes = (const uint8_t *)tensor->data + row * row_bytes;
    return bits == 8 ? bytes[index] : bytes[index / 2] >> (index % 2 * 4) & 15;
}

static void unpack(const struct blocks *blocks, float *weights) {
    int64_t row_bytes = blocks->count * blocks->size * blocks->bits / 8;
    int64_t zero_bytes = (blocks->count * blocks->bits + 7) / 8;
    for (int64_t n = 0; n < blocks->n; n++) {
        for (int64_t k = 0; k < blocks->k; k++) {
            int64_t block = k / blocks->size;
            int64_t zero = blocks->zeros ? packed(blocks->zeros, zero_bytes, n, block, blocks->bits)
                                         : (int64_t)1 << (blocks->bits - 1);
            int64_t whole = packed(blocks->integers, row_bytes, n, k, blocks->bits);
            double scale = tensor_number(blocks->scales, n * blocks->count + block);
            weights[k * blocks->n + n] = (float)((double)(whole - zero) * scale);
        }
    }
}

static int read_blocks(const struct expansion *expansion, const struct node *node,
                       struct blocks *blocks, struct error *err) {
    *blocks = (struct blocks){.integers = expand_constant(expansion, node->inputs[1]),
                              .scales = expand_constant(expansion, node->inputs[2]),
                              .zeros = expand_constant(expansion, expand_input(node, 3)),
                              .k = node_integer(node, "K", 0),
                              .n = node_integer(node, "N", 0),
                              .bits = node_integer(node, "bits", 4),
                              .size = node_integer(node, "block_size", 0)};
    if ((blocks->bits != 4 && blocks->bits != 8) || expand_input(node, 4) >= 0) {
        return error_set(err, ERROR_UNSUPPORTED, "%lld bits, or g_idx, are not supported",
                         (long long)blocks->bits);
    }
    if (!blocks->integers || !blocks->scales || (expand_input(node, 3) >= 0 && !blocks->zeros) ||
        (blocks->zeros && blocks->zeros->type != TENSOR_UINT8)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "weights that are not constants, or zero points that are not uint8");
    }
    if (MIN(blocks->k, blocks->n) < 1 || MAX(blocks->k, blocks->n) > INT32_MAX ||
        blocks->size < 16 || (blocks->size & (blocks->size - 1)) != 0) {
        return error_set(err, ERROR_INVALID,
                         "K and N of 1 to 2147483647 and a block_size that is a power of 2 and at "
                         "least 16 are expected");
    }
    blocks->count = (blocks->k + blocks->size - 1) / blocks->size;
    int64_t row_bytes = blocks->count * blocks->size * blocks->bits / 8;
    int64_t zero_bytes = (blocks->count * blocks->bits + 7) / 8;
    bool fits = blocks->integers->type == TENSOR_UINT8 &&
                shape_count(&blocks->integers->shape) == blocks->n * row_bytes &&
                tensor_type_is_real(blocks->scales->type) &&
                shape_count(&blocks->scales->shape) == blocks->n * blocks->count &&
                (!blocks->zeros || shape_count(&blocks->zeros->shape) == blocks->n * zero_bytes);
    return fits ? 0
                : error_set(err, ERROR_INVALID,
                            "weights, scales and zero points do not have the sizes that K, N, "
                            "bits and block_size say");
}

/* The weights become float32: right, but as large and as slow as if they had never been packed. */
int expand_matmul_bits(struct expansion *expansion, const struct node *node, bool *ret_done,
                       struct error *err) {
    struct blocks blocks;
    if (read_blocks(expansion, node, &blocks, err) < 0) {
        return -1;
    }
    struct graph *graph = &expansion->builder.graph;
    struct tensor weights = {.type = TENSOR_FLOAT32, .shape = {2, {blocks.k, blocks.n}}};
    weights.data = arena_array(&graph->arena, (size_t)(blocks.k * blocks.n), sizeof(float));
    unpack(&blocks, weights.data);
    int index = builder_value(&expansion->builder, node->name);
    graph->values[index] = (struct value){.name = node->name,
                                          .type = weights.type,
                                          .shape = weights.shape,
                                          .has_shape = true,
                                          .is_constant = true,
                                          .constant = weights};
    int product = expand_binary(expansion, OP_MATMUL, node->inputs[0], index),
        bias = expand_input(node, 5);
    expand_give(expansion, 0, bias < 0 ? product : expand_binary(expansion, OP_ADD, product, bias));
    *ret_done = true;
    return 0;
}

/* ---- Dropout -------------------------------------------------------------------------------- */

static bool is_read(const struct graph *graph, int value) {
    bool is = false;
    for (size_t i = 0; i < graph->node_count && !is; i++) {
        for (int k = 0; k < graph->nodes[i].input_count && !is; k++) {
            is = graph->nodes[i].inputs[k] == value;
        }
    }
    for (size_t i = 0; i < graph->output_count && !is; i++) {
        is = graph->outputs[i] == value;
    }
    return is;
}

/* Before opset 10 a mask is declared, but a network that is not trained does not fill it. */
int expand_old_dropout(struct expansion *expansion, const struct node *node, bool *ret_done,
                       struct error *err) {
    if (node->opset >= 10 || !expand_gives(node, 1)) {
        return 0;
    }
    if (is_read(expansion->from, node->outputs[1])) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "a mask that is read is not supported before opset 10");
    }
    expand_give(expansion, 0, node->inputs[0]);
    *ret_done = true;
    return 0;
}
