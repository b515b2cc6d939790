// SPDX-License-Identifier: Apache-2.0
/* Elementwise operators of two inputs, with broadcasting: Add, Mul, Less, And ... */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/elementwise.h"

#include <math.h>
#include <string.h>

struct binary {
    int op;
    bool is_fmod; /* Mod */
    bool is_left; /* BitShift */
    const struct tensor *a, *b;
    struct tensor *y;
};

/* Calls row over the output with a and b broadcast to it. */
static void each_row(const struct node *node, const struct tensor *a, const struct tensor *b,
                     struct tensor *y, walk_row *row) {
    struct walk walk = {.shape = y->shape, .operand_count = 3};
    struct binary binary = {.op = node->op->id,
                            .is_fmod = node_integer(node, "fmod", 0),
                            .is_left = strcmp(node_text(node, "direction", ""), "LEFT") == 0,
                            .a = a,
                            .b = b,
                            .y = y};
    elementwise_broadcast_strides(&a->shape, &y->shape, walk.strides[0]);
    elementwise_broadcast_strides(&b->shape, &y->shape, walk.strides[1]);
    walk_plain_strides(&y->shape, walk.strides[2]);
    walk_each(&walk, row, &binary);
}

/* As each_row, with the call's two inputs. */
static void each_pair(const struct call *call, walk_row *row) {
    each_row(call->node, call->inputs[0], call->inputs[1], call->outputs[0], row);
}

/* One row of y = expression of u and v, elements of a and b. */
#define ROW(from, to, expression)                                                                  \
    for (int64_t i = 0; i < count; i++) {                                                          \
        from u = ((const from *)binary->a->data)[offsets[0] + i * steps[0]];                       \
        from v = ((const from *)binary->b->data)[offsets[1] + i * steps[1]];                       \
        ((to *)binary->y->data)[offsets[2] + i] = (to)(expression);                                \
    }                                                                                              \
    break

/* Integers wrap around as in two's complement; a division by zero gives zero, and so does the
 * remainder. `wide` is unsigned, and large enough not to be promoted to int. */
#define INTEGER_ROW(name, type, wide, quotient, rest)                                              \
    static void name(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) { \
        const struct binary *binary = context;                                                     \
        switch (binary->op) {                                                                      \
        case OP_ADD:                                                                               \
            ROW(type, type, (wide)u + (wide)v);                                                    \
        case OP_SUB:                                                                               \
            ROW(type, type, (wide)u - (wide)v);                                                    \
        case OP_MUL:                                                                               \
            ROW(type, type, (wide)u *(wide)v);                                                     \
        case OP_DIV:                                                                               \
            ROW(type, type, quotient);                                                             \
        case OP_MOD:                                                                               \
            ROW(type, type, rest);                                                                 \
        case OP_MAX:                                                                               \
            ROW(type, type, u > v ? u : v);                                                        \
        default:                                                                                   \
            ROW(type, type, u < v ? u : v);                                                        \
        }                                                                                          \
    }
/* The result of Mod has the divisor's sign; with fmod 1 it has the dividend's, as in C. */
#define SIGNED_ROW(name, type, wide)                                                               \
    INTEGER_ROW(name, type, wide,                                                                  \
                v == 0    ? 0                                                                      \
                : v == -1 ? (type)(0 - (wide)u)                                                    \
                          : u / v,                                                                 \
                v == 0 || v == -1                                          ? 0                     \
                : !binary->is_fmod && u % v != 0 && (u % v < 0) != (v < 0) ? u % v + v             \
                                                                           : u % v)
#define UNSIGNED_ROW(name, type, wide)                                                             \
    INTEGER_ROW(name, type, wide, v == 0 ? 0 : u / v, v == 0 ? 0 : u % v)
SIGNED_ROW(int64_row, int64_t, uint64_t)
SIGNED_ROW(int32_row, int32_t, uint32_t)
SIGNED_ROW(int16_row, int16_t, uint32_t)
SIGNED_ROW(int8_row, int8_t, uint32_t)
UNSIGNED_ROW(uint64_row, uint64_t, uint64_t)
UNSIGNED_ROW(uint32_row, uint32_t, uint32_t)
UNSIGNED_ROW(uint16_row, uint16_t, uint32_t)
UNSIGNED_ROW(uint8_row, uint8_t, uint32_t)

#define REAL_ROW(name, type, rest)                                                                 \
    static void name(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) { \
        const struct binary *binary = context;                                                     \
        switch (binary->op) {                                                                      \
        case OP_ADD:                                                                               \
        case OP_MEAN:                                                                              \
        case OP_SUM:                                                                               \
            ROW(type, type, u + v);                                                                \
        case OP_SUB:                                                                               \
            ROW(type, type, u - v);                                                                \
        case OP_MUL:                                                                               \
            ROW(type, type, u *v);                                                                 \
        case OP_DIV:                                                                               \
            ROW(type, type, u / v);                                                                \
        case OP_MOD:                                                                               \
            ROW(type, type, rest(u, v));                                                           \
        case OP_MAX:                                                                               \
            ROW(type, type, u > v || isnan(u) ? u : v);                                            \
        default:                                                                                   \
            ROW(type, type, u < v || isnan(u) ? u : v);                                            \
        }                                                                                          \
    }
REAL_ROW(float_row, float, fmodf)
REAL_ROW(double_row, double, fmod)

static walk_row *arithmetic_row(enum tensor_type type) {
    static walk_row *const rows[TENSOR_TYPE_COUNT] = {
        [TENSOR_FLOAT32] = float_row, [TENSOR_FLOAT64] = double_row, [TENSOR_INT64] = int64_row,
        [TENSOR_INT32] = int32_row,   [TENSOR_INT16] = int16_row,    [TENSOR_INT8] = int8_row,
        [TENSOR_UINT64] = uint64_row, [TENSOR_UINT32] = uint32_row,  [TENSOR_UINT16] = uint16_row,
        [TENSOR_UINT8] = uint8_row};
    return rows[type];
}

static void divide(struct tensor *y, int count) {
    int64_t size = shape_count(&y->shape);
    for (int64_t i = 0; i < size; i++) {
        tensor_put_number(y, i, tensor_number(y, i) / count);
    }
}

/* Max, Mean, Min and Sum take any number of inputs: the output so far is the left operand. */
static int arithmetic_run(const struct call *call, struct error *err UNUSED) {
    struct tensor *y = call->outputs[0];
    walk_row *row = arithmetic_row(y->type);
    if (call->input_count == 1) {
        struct walk walk = {.shape = y->shape, .operand_count = 2};
        walk_plain_strides(&y->shape, walk.strides[0]);
        walk_plain_strides(&y->shape, walk.strides[1]);
        walk_copy(&walk, tensor_type_size(y->type), call->inputs[0]->data, y->data);
        return 0;
    }
    each_pair(call, row);
    for (int i = 2; i < call->input_count; i++) {
        each_row(call->node, y, call->inputs[i], y, row);
    }
    if (call->node->op->id == OP_MEAN) {
        divide(y, call->input_count);
    }
    return 0;
}
const struct kernel reference_arithmetic = {"reference arithmetic", arithmetic_run};

#define COMPARE_ROW(name, type)                                                                    \
    static void name(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) { \
        const struct binary *binary = context;                                                     \
        switch (binary->op) {                                                                      \
        case OP_EQUAL:                                                                             \
            ROW(type, uint8_t, u == v);                                                            \
        case OP_LESS:                                                                              \
            ROW(type, uint8_t, u < v);                                                             \
        case OP_LESS_OR_EQUAL:                                                                     \
            ROW(type, uint8_t, u <= v);                                                            \
        case OP_GREATER:                                                                           \
            ROW(type, uint8_t, u > v);                                                             \
        default:                                                                                   \
            ROW(type, uint8_t, u >= v);                                                            \
        }                                                                                          \
    }
COMPARE_ROW(compare_float, float)
COMPARE_ROW(compare_double, double)
COMPARE_ROW(compare_int64, int64_t)
COMPARE_ROW(compare_int32, int32_t)
COMPARE_ROW(compare_int16, int16_t)
COMPARE_ROW(compare_int8, int8_t)
COMPARE_ROW(compare_uint64, uint64_t)
COMPARE_ROW(compare_uint32, uint32_t)
COMPARE_ROW(compare_uint16, uint16_t)
COMPARE_ROW(compare_uint8, uint8_t)

static int compare_run(const struct call *call, struct error *err UNUSED) {
    static walk_row *const rows[TENSOR_TYPE_COUNT] = {
        [TENSOR_FLOAT32] = compare_float, [TENSOR_FLOAT64] = compare_double,
        [TENSOR_INT64] = compare_int64,   [TENSOR_INT32] = compare_int32,
        [TENSOR_INT16] = compare_int16,   [TENSOR_INT8] = compare_int8,
        [TENSOR_UINT64] = compare_uint64, [TENSOR_UINT32] = compare_uint32,
        [TENSOR_UINT16] = compare_uint16, [TENSOR_UINT8] = compare_uint8,
        [TENSOR_BOOL] = compare_uint8};
    each_pair(call, rows[call->inputs[0]->type]);
    return 0;
}
const struct kernel reference_compare = {"reference compare", compare_run};

#define BITWISE_ROW(name, type)                                                                    \
    static void name(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) { \
        const struct binary *binary = context;                                                     \
        switch (binary->op) {                                                                      \
        case OP_BITWISE_AND:                                                                       \
            ROW(type, type, u &v);                                                                 \
        case OP_BITWISE_OR:                                                                        \
            ROW(type, type, u | v);                                                                \
        default:                                                                                   \
            ROW(type, type, u ^ v);                                                                \
        }                                                                                          \
    }
BITWISE_ROW(bitwise_8, uint64_t)
BITWISE_ROW(bitwise_4, uint32_t)
BITWISE_ROW(bitwise_2, uint16_t)
BITWISE_ROW(bitwise_1, uint8_t)

static int bitwise_run(const struct call *call, struct error *err UNUSED) {
    /* The sign bit is treated like other bits. */
    size_t size = tensor_type_size(call->inputs[0]->type);
    each_pair(call, size == 8   ? bitwise_8
                    : size == 4 ? bitwise_4
                    : size == 2 ? bitwise_2
                                : bitwise_1);
    return 0;
}
const struct kernel reference_bitwise = {"reference bitwise", bitwise_run};

/* Shifting by the width of the type or more gives zero. */
static uint64_t shifted(uint64_t value, uint64_t by, unsigned bits, bool is_left) {
    return by >= bits ? 0 : is_left ? value << by : value >> by;
}

#define SHIFT_ROW(name, type)                                                                      \
    static void name(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) { \
        const struct binary *binary = context;                                                     \
        do {                                                                                       \
            ROW(type, type, shifted(u, v, 8 * sizeof(type), binary->is_left));                     \
        } while (0);                                                                               \
    }
SHIFT_ROW(shift_uint64, uint64_t)
SHIFT_ROW(shift_uint32, uint32_t)
SHIFT_ROW(shift_uint16, uint16_t)
SHIFT_ROW(shift_uint8, uint8_t)

static int bit_shift_run(const struct call *call, struct error *err UNUSED) {
    enum tensor_type type = call->inputs[0]->type;
    each_pair(call, type == TENSOR_UINT64   ? shift_uint64
                    : type == TENSOR_UINT32 ? shift_uint32
                    : type == TENSOR_UINT16 ? shift_uint16
                                            : shift_uint8);
    return 0;
}
const struct kernel reference_bit_shift = {"reference bit_shift", bit_shift_run};

static void logic_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct binary *binary = context;
    switch (binary->op) {
    case OP_AND:
        ROW(uint8_t, uint8_t, u && v);
    case OP_OR:
        ROW(uint8_t, uint8_t, u || v);
    default:
        ROW(uint8_t, uint8_t, !u != !v);
    }
}

static int logic_run(const struct call *call, struct error *err UNUSED) {
    each_pair(call, logic_row);
    return 0;
}
const struct kernel reference_logic = {"reference logic", logic_run};

static void prelu_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct binary *binary = context;
    do {
        ROW(float, float, u < 0 ? u * v : u);
    } while (0);
}

static int prelu_run(const struct call *call, struct error *err UNUSED) {
    each_pair(call, prelu_row);
    return 0;
}
const struct kernel reference_prelu = {"reference prelu", prelu_run};

/* For integers: exact, and wraps around. */
static void put_power(const struct binary *binary, int64_t a, int64_t b, int64_t y) {
    uint64_t power = 1, base = tensor_whole(binary->a, a);
    for (uint64_t rest = tensor_whole(binary->b, b); rest; rest >>= 1, base *= base) {
        power *= rest & 1 ? base : 1;
    }
    tensor_put_whole(binary->y, y, power);
}

/* The types of base and exponent may differ; the result has the base's. */
static void pow_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct binary *binary = context;
    for (int64_t i = 0; i < count; i++) {
        if (!tensor_type_is_real(binary->a->type) && !tensor_type_is_real(binary->b->type) &&
            tensor_number(binary->b, offsets[1] + i * steps[1]) >= 0) {
            put_power(binary, offsets[0] + i * steps[0], offsets[1] + i * steps[1], offsets[2] + i);
            continue;
        }
        double value = pow(tensor_number(binary->a, offsets[0] + i * steps[0]),
                           tensor_number(binary->b, offsets[1] + i * steps[1]));
        tensor_put_number(binary->y, offsets[2] + i, value);
    }
}

static int pow_run(const struct call *call, struct error *err UNUSED) {
    each_pair(call, pow_row);
    return 0;
}
const struct kernel reference_pow = {"reference pow", pow_run};
