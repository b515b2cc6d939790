// SPDX-License-Identifier: Apache-2.0
/* Cast between the types that networks cast at run time, to and from float32 and int64. */
#include "agent/engine/device/cpu/axis/axis.h"
#include "lib/number/half.h"

enum { ELEMENTS_A_PIECE = 1 << 15 };

struct run {
    const struct tensor *x;
    struct tensor *y;
};

/* name: converts elements first .. last - 1 by `expression` of the element v. */
#define CAST(name, from, to, expression)                                                           \
    static void name(void *context, int64_t first, int64_t last) {                                 \
        const struct run *run = context;                                                           \
        const from *x = run->x->data;                                                              \
        to *y = run->y->data;                                                                      \
        _Pragma("omp simd") for (int64_t i = first; i < last; i++) {                               \
            from v = x[i];                                                                         \
            y[i] = (to)(expression);                                                               \
        }                                                                                          \
    }

/* Numbers beyond these are converted as tensor_put_number says. */
#define IS_INT32(v) ((v) >= -2147483648.0F && (v) < 2147483648.0F)
#define CAST_FLOAT(name, to)                                                                       \
    static void name(void *context, int64_t first, int64_t last) {                                 \
        const struct run *run = context;                                                           \
        const float *x = run->x->data;                                                             \
        to *y = run->y->data;                                                                      \
        for (int64_t i = first; i < last; i++) {                                                   \
            if (IS_INT32(x[i])) {                                                                  \
                y[i] = (to)(int32_t)x[i];                                                          \
            } else {                                                                               \
                tensor_put_number(run->y, i, tensor_number(run->x, i));                            \
            }                                                                                      \
        }                                                                                          \
    }

CAST(float_from_uint8, uint8_t, float, v)
CAST(float_from_int8, int8_t, float, v)
CAST(float_from_uint16, uint16_t, float, v)
CAST(float_from_int16, int16_t, float, v)
CAST(float_from_int32, int32_t, float, v)
/* Rounded twice, as through tensor_number. */
CAST(float_from_int64, int64_t, float, (double)v)
CAST(float_from_double, double, float, v)
CAST(float_from_half, uint16_t, float, half_to_float(v))
CAST(float_from_bfloat, uint16_t, float, bfloat_to_float(v))
CAST(half_from_float, float, uint16_t, half_from_double((double)v))
CAST(bfloat_from_float, float, uint16_t, bfloat_from_double((double)v))
CAST(double_from_float, float, double, v)
CAST(bool_from_float, float, uint8_t, v != 0)
CAST_FLOAT(int64_from_float, int64_t)
CAST_FLOAT(int32_from_float, int32_t)
CAST_FLOAT(uint8_from_float, uint8_t)
CAST(int64_from_int32, int32_t, int64_t, v)
CAST(int64_from_uint8, uint8_t, int64_t, v)
CAST(int32_from_int64, int64_t, int32_t, (uint32_t)v)
CAST(int32_from_uint8, uint8_t, int32_t, v)
CAST(bool_from_int64, int64_t, uint8_t, v != 0)
CAST(bool_from_int32, int32_t, uint8_t, v != 0)

static const struct pair {
    enum tensor_type from, to;
    threads_body *body;
} pairs[] = {
    {TENSOR_UINT8, TENSOR_FLOAT32, float_from_uint8},
    {TENSOR_BOOL, TENSOR_FLOAT32, float_from_uint8},
    {TENSOR_INT8, TENSOR_FLOAT32, float_from_int8},
    {TENSOR_UINT16, TENSOR_FLOAT32, float_from_uint16},
    {TENSOR_INT16, TENSOR_FLOAT32, float_from_int16},
    {TENSOR_INT32, TENSOR_FLOAT32, float_from_int32},
    {TENSOR_INT64, TENSOR_FLOAT32, float_from_int64},
    {TENSOR_FLOAT64, TENSOR_FLOAT32, float_from_double},
    {TENSOR_FLOAT16, TENSOR_FLOAT32, float_from_half},
    {TENSOR_BFLOAT16, TENSOR_FLOAT32, float_from_bfloat},
    {TENSOR_FLOAT32, TENSOR_FLOAT16, half_from_float},
    {TENSOR_FLOAT32, TENSOR_BFLOAT16, bfloat_from_float},
    {TENSOR_FLOAT32, TENSOR_FLOAT64, double_from_float},
    {TENSOR_FLOAT32, TENSOR_BOOL, bool_from_float},
    {TENSOR_FLOAT32, TENSOR_INT64, int64_from_float},
    {TENSOR_FLOAT32, TENSOR_INT32, int32_from_float},
    {TENSOR_FLOAT32, TENSOR_UINT8, uint8_from_float},
    {TENSOR_INT32, TENSOR_INT64, int64_from_int32},
    {TENSOR_UINT8, TENSOR_INT64, int64_from_uint8},
    {TENSOR_BOOL, TENSOR_INT64, int64_from_uint8},
    {TENSOR_INT64, TENSOR_INT32, int32_from_int64},
    {TENSOR_UINT8, TENSOR_INT32, int32_from_uint8},
    {TENSOR_BOOL, TENSOR_INT32, int32_from_uint8},
    {TENSOR_INT64, TENSOR_BOOL, bool_from_int64},
    {TENSOR_INT32, TENSOR_BOOL, bool_from_int32},
};

static threads_body *body_of(enum tensor_type from, enum tensor_type to) {
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if (pairs[i].from == from && pairs[i].to == to) {
            return pairs[i].body;
        }
    }
    return NULL;
}

bool axis_cast_has(enum tensor_type from, enum tensor_type to) {
    return body_of(from, to);
}

static int cast_run(const struct call *call, struct error *err UNUSED) {
    struct run run = {call->inputs[0], call->outputs[0]};
    threads_run(cpu_threads(call), shape_count(&run.x->shape), ELEMENTS_A_PIECE,
                body_of(run.x->type, run.y->type), &run);
    return 0;
}
const struct kernel axis_cast = {"axis Cast", cast_run};
