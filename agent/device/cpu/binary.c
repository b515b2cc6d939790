// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#include "agent/device/cpu/rows.h"
#include "agent/ops/elementwise.h"

#include <math.h>
#include <string.h>

struct binary {
    int op;
    const struct tensor *a, *b;
    struct tensor *y;
};

/* Calls row over the output with a and b broadcast to it. */
static void each_row(const struct tensor *a, const struct tensor *b, struct tensor *y, int op,
                     rows_row *row) {
    struct rows rows = {.shape = y->shape, .operand_count = 3};
    struct binary binary = {op, a, b, y};
    broadcast_strides(&a->shape, &y->shape, rows.strides[0]);
    broadcast_strides(&b->shape, &y->shape, rows.strides[1]);
    rows_plain_strides(&y->shape, rows.strides[2]);
    rows_each(&rows, row, &binary);
}

/* One row of y = expression of u and v, elements of a and b. */
#define ROW(from, to, expression)                                                                  \
    for (int64_t i = 0; i < count; i++) {                                                          \
        from u = ((const from *)binary->a->data)[offsets[0] + i * steps[0]];                       \
        from v = ((const from *)binary->b->data)[offsets[1] + i * steps[1]];                       \
        ((to *)binary->y->data)[offsets[2] + i] = (to)(expression);                                \
    }                                                                                              \
    break

/* Integers wrap around as two's complement does; a division by zero gives zero. */
#define INTEGER_ROW(name, type, wide)                                                              \
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
            ROW(type, type, v == 0 ? 0 : v == -1 ? (type)(0 - (wide)u) : u / v);                   \
        case OP_MAX:                                                                               \
            ROW(type, type, u > v ? u : v);                                                        \
        default:                                                                                   \
            ROW(type, type, u < v ? u : v);                                                        \
        }                                                                                          \
    }
INTEGER_ROW(int64_row, int64_t, uint64_t)
INTEGER_ROW(int32_row, int32_t, uint32_t)

static void float_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct binary *binary = context;
    switch (binary->op) {
    case OP_ADD:
    case OP_SUM:
        ROW(float, float, u + v);
    case OP_SUB:
        ROW(float, float, u - v);
    case OP_MUL:
        ROW(float, float, u *v);
    case OP_DIV:
        ROW(float, float, u / v);
    case OP_MAX:
        ROW(float, float, u > v || isnan(u) ? u : v);
    default:
        ROW(float, float, u < v || isnan(u) ? u : v);
    }
}

static rows_row *arithmetic_row(enum tensor_type type) {
    return type == TENSOR_INT64 ? int64_row : type == TENSOR_INT32 ? int32_row : float_row;
}

/* Max, Min and Sum take any number of inputs: the output so far is the left operand. */
static int arithmetic_run(const struct call *call, struct error *err UNUSED) {
    struct tensor *y = call->outputs[0];
    rows_row *row = arithmetic_row(y->type);
    int op = call->node->op->id;
    if (call->input_count == 1) {
        struct rows rows = {.shape = y->shape, .operand_count = 2};
        rows_plain_strides(&y->shape, rows.strides[0]);
        rows_plain_strides(&y->shape, rows.strides[1]);
        rows_copy(&rows, tensor_type_size(y->type), call->inputs[0]->data, y->data);
        return 0;
    }
    each_row(call->inputs[0], call->inputs[1], y, op, row);
    for (int i = 2; i < call->input_count; i++) {
        each_row(y, call->inputs[i], y, op, row);
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
COMPARE_ROW(compare_int32, int32_t)
COMPARE_ROW(compare_int64, int64_t)

static int compare_run(const struct call *call, struct error *err UNUSED) {
    enum tensor_type type = call->inputs[0]->type;
    each_row(call->inputs[0], call->inputs[1], call->outputs[0], call->node->op->id,
             type == TENSOR_INT64   ? compare_int64
             : type == TENSOR_INT32 ? compare_int32
                                    : compare_float);
    return 0;
}
const struct kernel reference_compare = {"reference compare", compare_run};

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
    each_row(call->inputs[0], call->inputs[1], call->outputs[0], call->node->op->id, logic_row);
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
    each_row(call->inputs[0], call->inputs[1], call->outputs[0], OP_PRELU, prelu_row);
    return 0;
}
const struct kernel reference_prelu = {"reference prelu", prelu_run};

static int64_t saturate(double value, double low, double high) {
    return isnan(value)    ? 0
           : value <= low  ? (int64_t)low
           : value >= high ? INT64_MAX
                           : (int64_t)value;
}

/* The types of base and exponent may differ; the result has the base's. */
static void pow_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct binary *binary = context;
    for (int64_t i = 0; i < count; i++) {
        double value = pow(cpu_number(binary->a, offsets[0] + i * steps[0]),
                           cpu_number(binary->b, offsets[1] + i * steps[1]));
        int64_t at = offsets[2] + i;
        if (binary->y->type == TENSOR_INT64) {
            ((int64_t *)binary->y->data)[at] = saturate(value, -0x1p63, 0x1p63);
        } else if (binary->y->type == TENSOR_INT32) {
            int64_t whole = saturate(value, -0x1p31, 0x1p31);
            ((int32_t *)binary->y->data)[at] = (int32_t)MIN(whole, INT32_MAX);
        } else {
            ((float *)binary->y->data)[at] = (float)value;
        }
    }
}

static int pow_run(const struct call *call, struct error *err UNUSED) {
    each_row(call->inputs[0], call->inputs[1], call->outputs[0], OP_POW, pow_row);
    return 0;
}
const struct kernel reference_pow = {"reference pow", pow_run};
