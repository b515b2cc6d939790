// SPDX-License-Identifier: Apache-2.0
/* QuantizeLinear and DequantizeLinear. */
#include "agent/engine/ops/infer/quantize.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>

struct quantized {
    struct quantize quantize;
    const struct tensor *x, *scale, *zero; /* zero: NULL for 0 */
    struct tensor *y;
};

static double zero_of(const struct quantized *q, int64_t index) {
    bool is_one = q->zero && shape_count(&q->zero->shape) == 1;
    return q->zero ? tensor_number(q->zero, is_one ? 0 : index) : 0;
}

/* The quotient of float32 is computed in float32, as the test cases of the specification require:
 * it may be a tie only there. For int32 that would lose precision. */
static double divide(const struct tensor *x, int64_t index, double scale) {
    double value = tensor_number(x, index);
    return x->type == TENSOR_FLOAT32 ? (double)((float)value / (float)scale) : value / scale;
}

/* Rounds to nearest even and saturates to the range of the type; NaN becomes zero. */
static void quantize_body(void *context, int64_t first, int64_t last) {
    const struct quantized *q = context;
    double low = q->y->type == TENSOR_INT8 ? INT8_MIN : 0;
    double high = q->y->type == TENSOR_INT8 ? INT8_MAX : UINT8_MAX;
    for (int64_t i = first; i < last; i++) {
        int64_t index = i / q->quantize.inner % q->quantize.size;
        double scale = tensor_number(q->scale, index);
        double value = nearbyint(divide(q->x, i, scale)) + zero_of(q, index);
        tensor_put_number(q->y, i, isnan(value) ? zero_of(q, index) : fmin(fmax(value, low), high));
    }
}

static void dequantize_body(void *context, int64_t first, int64_t last) {
    const struct quantized *q = context;
    float *y = q->y->data;
    for (int64_t i = first; i < last; i++) {
        int64_t index = i / q->quantize.inner % q->quantize.size;
        double value = tensor_number(q->x, i) - zero_of(q, index);
        y[i] = (float)(value * tensor_number(q->scale, index));
    }
}

static int run(const struct call *call, threads_body *body, struct error *err) {
    struct quantized q = {.x = call->inputs[0],
                          .scale = call->inputs[1],
                          .zero = call->input_count > 2 ? call->inputs[2] : NULL,
                          .y = call->outputs[0]};
    if (quantize_params(call->node, &q.x->shape, &q.scale->shape, &q.quantize, err) < 0) {
        return -1;
    }
    threads_run(cpu_threads(call), shape_count(&q.x->shape), 4096, body, &q);
    return 0;
}

static int quantize_run(const struct call *call, struct error *err) {
    return run(call, quantize_body, err);
}
const struct kernel reference_quantize_linear = {"reference quantize_linear", quantize_run};

static int dequantize_run(const struct call *call, struct error *err) {
    return run(call, dequantize_body, err);
}
const struct kernel reference_dequantize_linear = {"reference dequantize_linear", dequantize_run};
