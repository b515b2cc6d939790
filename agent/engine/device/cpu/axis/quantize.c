// SPDX-License-Identifier: Apache-2.0
/* QuantizeLinear of float32 to 8 bits, and DequantizeLinear. */
#include "agent/engine/ops/infer/quantize.h"

#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/ops/table.h"

enum { ELEMENTS_A_PIECE = 1 << 14 };

struct run {
    struct quantize quantize;
    const struct tensor *x, *scale, *zero; /* zero: NULL for 0 */
    struct tensor *y;
};

static float zero_of(const struct run *run, int64_t index) {
    bool is_one = run->zero && shape_count(&run->zero->shape) == 1;
    return run->zero ? (float)tensor_number(run->zero, is_one ? 0 : index) : 0;
}

static float scale_of(const struct run *run, int64_t index) {
    return ((const float *)run->scale->data)[index];
}

/* Rounds a number of less than 2^22 to the nearest integer, ties to even. */
static inline float round_even(float x) {
    const float shift = 0x1.8p23F;
    return (x + shift) - shift;
}

/* Clamped before the zero point is added, as whole bounds allow; NaN becomes the zero point. */
#define QUANTIZE(name, type)                                                                       \
    static void name(const struct run *run, int64_t first, int64_t count, float scale, float zero, \
                     float low, float high) {                                                      \
        const float *x = (const float *)run->x->data + first;                                      \
        type *y = (type *)run->y->data + first;                                                    \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {                                  \
            float value = x[i] / scale;                                                            \
            value = value == value ? value : 0;                                                    \
            value = value > low - zero ? value : low - zero;                                       \
            value = value < high - zero ? value : high - zero;                                     \
            y[i] = (type)(int32_t)(round_even(value) + zero);                                      \
        }                                                                                          \
    }
QUANTIZE(quantize_uint8, uint8_t)
QUANTIZE(quantize_int8, int8_t)

#define DEQUANTIZE(name, type)                                                                     \
    static void name(const struct run *run, int64_t first, int64_t count, float scale,             \
                     float zero) {                                                                 \
        const type *x = (const type *)run->x->data + first;                                        \
        float *y = (float *)run->y->data + first;                                                  \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {                                  \
            y[i] = ((float)x[i] - zero) * scale;                                                   \
        }                                                                                          \
    }
DEQUANTIZE(dequantize_uint8, uint8_t)
DEQUANTIZE(dequantize_int8, int8_t)

/* Elements that share a scale and a zero point. */
static void convert(const struct run *run, int64_t first, int64_t count, int64_t index) {
    float scale = scale_of(run, index), zero = zero_of(run, index);
    if (run->x->type == TENSOR_UINT8) {
        dequantize_uint8(run, first, count, scale, zero);
    } else if (run->x->type == TENSOR_INT8) {
        dequantize_int8(run, first, count, scale, zero);
    } else if (run->y->type == TENSOR_UINT8) {
        quantize_uint8(run, first, count, scale, zero, 0, UINT8_MAX);
    } else {
        quantize_int8(run, first, count, scale, zero, INT8_MIN, INT8_MAX);
    }
}

static void convert_piece(void *context, int64_t first, int64_t last) {
    const struct run *run = context;
    int64_t inner = run->quantize.inner, size = run->quantize.size;
    if (size == 1) {
        convert(run, first, last - first, 0);
        return;
    }
    for (int64_t i = first; i < last;) {
        int64_t count = MIN(inner - i % inner, last - i);
        convert(run, i, count, i / inner % size);
        i += count;
    }
}

bool axis_quantize_takes(const struct schedule *schedule, const struct step *step) {
    enum { INNER_MIN = 8 };
    const struct schedule_slot *x = &schedule->slots[step->inputs[0]];
    const struct schedule_slot *scale = &schedule->slots[step->inputs[1]];
    struct quantize quantize;
    struct error err = {0};
    if (quantize_params(step->node, &x->shape, &scale->shape, &quantize, &err) < 0) {
        error_clear(&err);
        return false;
    }
    bool is_inverse = step->node->op->id == OP_DEQUANTIZE_LINEAR;
    bool fits =
        is_inverse ? x->type == TENSOR_UINT8 || x->type == TENSOR_INT8 : x->type == TENSOR_FLOAT32;
    return fits && scale->type == TENSOR_FLOAT32 &&
           (quantize.size == 1 || quantize.inner >= INNER_MIN);
}

static int quantize_run(const struct call *call, struct error *err) {
    struct run run = {.x = call->inputs[0],
                      .scale = call->inputs[1],
                      .zero = call->input_count > 2 ? call->inputs[2] : NULL,
                      .y = call->outputs[0]};
    if (quantize_params(call->node, &run.x->shape, &run.scale->shape, &run.quantize, err) < 0) {
        return -1;
    }
    threads_run(cpu_threads(call), shape_count(&run.x->shape), ELEMENTS_A_PIECE, convert_piece,
                &run);
    return 0;
}
const struct kernel axis_quantize = {"axis Quantize", quantize_run};
