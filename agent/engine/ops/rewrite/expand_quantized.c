// SPDX-License-Identifier: Apache-2.0
/* Quantized operators: x minus its zero point, products and sums, and one rounding, in float32: so
 * quantized networks have its kernels. A sum of whole numbers is exact up to 2^24. Operators that
 * give int32 are exact always: weights whose sums may exceed that are divided, and where weights
 * are not known the plain kernels of int32 compute. Those that give 8 bits round what exceeds 2^24
 * to 24 bits, long after the result has saturated. */
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/rewrite/expand.h"

#include <math.h>
#include <stdlib.h>

/* A parameter with several entries has one for each index of x's `axis`. */
static int aligned(struct expansion *expansion, int several, int x, int64_t axis) {
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    return expand_value(expansion, OP_ALIGN, INPUTS(several, x), 1, along);
}

/* Weights with one known zero point: rows `first` to `last` - 1 of them, less that, as one constant
 * (a chain of nodes would hold a copy for each). */
static int weights_from_zero(struct expansion *expansion, const struct tensor *from,
                             const struct tensor *zero, int64_t first, int64_t last) {
    struct graph *graph = &expansion->builder.graph;
    struct tensor to = {.type = TENSOR_FLOAT32, .shape = from->shape};
    int64_t row = shape_count(&from->shape) / MAX(from->shape.dims[0], 1);
    double less = zero ? tensor_number(zero, 0) : 0;
    to.shape.dims[0] = last - first;
    int64_t count = shape_count(&to.shape);
    float *numbers = to.data = arena_array(&graph->arena, (size_t)MAX(count, 1), sizeof *numbers);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = (float)(tensor_number(from, first * row + i) - less);
    }
    int index = builder_value(&expansion->builder, expansion->node->name);
    graph->values[index] = (struct value){.name = expansion->node->name,
                                          .type = to.type,
                                          .shape = to.shape,
                                          .has_shape = true,
                                          .is_constant = true,
                                          .constant = to};
    return index;
}

bool expand_has_room(struct expansion *expansion, const struct tensor *weights) {
    enum { COPIES_MAX = 4, ELEMENTS_LEAST = 1 << 20 };
    const struct graph *from = expansion->from;
    for (size_t i = 0; i < from->value_count && !expansion->weight_elements; i++) {
        expansion->constant_elements +=
            from->values[i].is_constant ? shape_count(&from->values[i].shape) : 0;
    }
    expansion->weight_elements += shape_count(&weights->shape);
    return expansion->weight_elements <= COPIES_MAX * expansion->constant_elements + ELEMENTS_LEAST;
}

/* x - zero, of this type */
static int from_zero_as(struct expansion *expansion, int x, int zero, int64_t axis,
                        enum tensor_type type) {
    int wide = expand_cast(expansion, x, type);
    if (zero < 0) {
        return wide;
    }
    zero = aligned(expansion, zero, x, axis);
    return expand_binary(expansion, OP_SUB, wide, expand_cast(expansion, zero, type));
}

/* Whether the zero point is one number that is known. */
static bool is_one_zero(const struct expansion *expansion, int zero) {
    const struct tensor *known = expand_constant(expansion, zero);
    return zero < 0 || (known && shape_count(&known->shape) == 1);
}

static int from_zero(struct expansion *expansion, int x, int zero, int64_t axis) {
    const struct tensor *weights = expand_constant(expansion, x);
    if (weights && weights->shape.rank > 0 && is_one_zero(expansion, zero) &&
        expand_has_room(expansion, weights)) {
        const struct tensor copy = *weights;
        return weights_from_zero(expansion, &copy, expand_constant(expansion, zero), 0,
                                 copy.shape.dims[0]);
    }
    return from_zero_as(expansion, x, zero, axis, TENSOR_FLOAT32);
}

static int whole_product(struct expansion *expansion, int a, int b) {
    const struct attribute whole[] = {
        {.name = PARAM_IS_WHOLE, .kind = ATTRIBUTE_INTEGER, .integer = PARAM_EXACT},
        {.name = NULL}};
    return expand_value(expansion, OP_MATMUL, INPUTS(a, b), 1, whole);
}

int expand_integer_product(struct expansion *expansion, int a, int a_zero, int b, int b_zero) {
    int left = from_zero(expansion, a, a_zero, -2), right = from_zero(expansion, b, b_zero, -1);
    return whole_product(expansion, left, right);
}

/* ---- exact products -------------------------------------------------------------------------- */

/* Sums of whole numbers up to it are exact in float32, and the greatest |x - zero| of 8 bits. */
enum { WHOLE_MAX = 1 << 24, FACTOR_MAX = 255 };

/* The first row behind `first` with which the sum of a column may exceed WHOLE_MAX. sums: scratch
 * for one number per column. */
static int64_t end_of_piece(const struct tensor *b, const struct tensor *zero, int64_t first,
                            double *sums) {
    int64_t rows = b->shape.dims[0], columns = b->shape.dims[1], row = first;
    double less = zero ? tensor_number(zero, 0) : 0, most = 0;
    for (int64_t k = 0; k < columns; k++) {
        sums[k] = 0;
    }
    for (; row < rows; row++) {
        for (int64_t k = 0; k < columns; k++) {
            sums[k] += fabs(tensor_number(b, row * columns + k) - less);
            most = fmax(most, sums[k]);
        }
        if (most * FACTOR_MAX > WHOLE_MAX) {
            break;
        }
    }
    return MAX(row, first + 1);
}

/* The columns first to last - 1 of a. */
static int columns_of(struct expansion *expansion, int a, int64_t first, int64_t last) {
    return expand_value(expansion, OP_SLICE,
                        INPUTS(a, expand_integer(expansion, first), expand_integer(expansion, last),
                               expand_integer(expansion, -1)),
                        1, NULL);
}

/* In float32, in as many pieces as are exact; as int32. */
static int product_of_pieces(struct expansion *expansion, int a, const struct tensor *b,
                             const struct tensor *zero) {
    int64_t rows = b->shape.dims[0];
    double *sums = x_calloc((size_t)MAX(b->shape.dims[1], 1), sizeof *sums);
    int sum = -1;
    for (int64_t first = 0; first < MAX(rows, 1);) {
        int64_t last = rows ? end_of_piece(b, zero, first, sums) : 1;
        bool is_all = first == 0 && last >= rows;
        int part = is_all ? a : columns_of(expansion, a, first, last);
        int product = whole_product(expansion, part,
                                    weights_from_zero(expansion, b, zero, first, MIN(last, rows)));
        product = expand_cast(expansion, product, TENSOR_INT32);
        sum = sum < 0 ? product : expand_binary(expansion, OP_ADD, sum, product);
        first = last;
    }
    free(sums);
    return sum;
}

static int exact_product(struct expansion *expansion, int a, int a_zero, int b, int b_zero) {
    const struct tensor *weights = expand_constant(expansion, b);
    if (!weights || weights->shape.rank != 2 || !is_one_zero(expansion, b_zero) ||
        !expand_has_room(expansion, weights)) {
        return expand_binary(expansion, OP_MATMUL,
                             from_zero_as(expansion, a, a_zero, -2, TENSOR_INT32),
                             from_zero_as(expansion, b, b_zero, -1, TENSOR_INT32));
    }
    const struct tensor copy = *weights, *zero = expand_constant(expansion, b_zero);
    struct tensor less = zero ? *zero : (struct tensor){0};
    return product_of_pieces(expansion, from_zero(expansion, a, a_zero, -2), &copy,
                             zero ? &less : NULL);
}

/* Whether each sum of this convolution is exact in float32. */
static bool is_exact(const struct expansion *expansion, int w, int w_zero) {
    const struct tensor *weights = expand_constant(expansion, w);
    if (!weights || weights->shape.rank < 2 || !is_one_zero(expansion, w_zero)) {
        return false;
    }
    const struct tensor *zero = expand_constant(expansion, w_zero);
    int64_t outputs = weights->shape.dims[0], each = shape_count(&weights->shape);
    each /= MAX(outputs, 1);
    double less = zero ? tensor_number(zero, 0) : 0, most = 0;
    for (int64_t o = 0; o < outputs; o++) {
        double sum = 0;
        for (int64_t i = 0; i < each; i++) {
            sum += fabs(tensor_number(weights, o * each + i) - less);
        }
        most = fmax(most, sum);
    }
    return most * FACTOR_MAX <= WHOLE_MAX;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Its attributes are those of Conv. */
static int integer_conv(struct expansion *expansion, const struct node *node, const int *inputs) {
    enum { ATTRIBUTES_MAX = 8 };
    struct attribute attributes[ATTRIBUTES_MAX + 2] = {{.name = NULL}};
    size_t count = MIN(node->attribute_count, ATTRIBUTES_MAX);
    for (size_t i = 0; i < count; i++) {
        attributes[i] = node->attributes[i];
    }
    attributes[count] = (struct attribute){
        .name = PARAM_IS_WHOLE, .kind = ATTRIBUTE_INTEGER, .integer = PARAM_EXACT};
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
    expand_give(expansion, 0,
                exact_product(expansion, node->inputs[0], expand_input(node, 2), node->inputs[1],
                              expand_input(node, 3)));
    *ret_done = true;
    return 0;
}

int expand_conv_integer(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err UNUSED) {
    int x = node->inputs[0], w = node->inputs[1];
    int x_zero = expand_input(node, 2), w_zero = expand_input(node, 3);
    if (is_exact(expansion, w, w_zero)) {
        int y = integer_conv(
            expansion, node,
            INPUTS(from_zero(expansion, x, x_zero, 0), from_zero(expansion, w, w_zero, 0)));
        expand_give(expansion, 0, expand_cast(expansion, y, TENSOR_INT32));
    } else {
        expand_give(expansion, 0,
                    integer_conv(expansion, node,
                                 INPUTS(from_zero_as(expansion, x, x_zero, 0, TENSOR_INT32),
                                        from_zero_as(expansion, w, w_zero, 0, TENSOR_INT32))));
    }
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
