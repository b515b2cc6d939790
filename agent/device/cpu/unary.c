// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#include "agent/ops/elementwise.h"

#include <math.h>

enum { GRAIN = 16384 };

struct unary {
    const float *x;
    float *y;
    float a, b; /* the operator's numbers: alpha, beta, bounds */
};

/* A kernel of float32 from an expression of x, a and b; the defaults are those of ONNX. */
#define UNARY(name, first, first_default, second, second_default, expression)                      \
    static void name##_body(void *context, int64_t from, int64_t to) {                             \
        const struct unary *unary = context;                                                       \
        float a UNUSED = unary->a, b UNUSED = unary->b;                                            \
        for (int64_t i = from; i < to; i++) {                                                      \
            float x = unary->x[i];                                                                 \
            unary->y[i] = (expression);                                                            \
        }                                                                                          \
    }                                                                                              \
    static int name##_run(const struct call *call, struct error *err UNUSED) {                     \
        struct unary unary = {call->inputs[0]->data, call->outputs[0]->data,                       \
                              node_number(call->node, first, first_default),                       \
                              node_number(call->node, second, second_default)};                    \
        threads_run(cpu_threads(call), shape_count(&call->inputs[0]->shape), GRAIN, name##_body,   \
                    &unary);                                                                       \
        return 0;                                                                                  \
    }                                                                                              \
    const struct kernel reference_##name = {"reference " #name, name##_run}

UNARY(ceil, "", 0, "", 0, ceilf(x));
UNARY(elu, "alpha", 1, "", 0, x < 0 ? a * expm1f(x) : x);
UNARY(erf, "", 0, "", 0, erff(x));
UNARY(exp, "", 0, "", 0, expf(x));
UNARY(floor, "", 0, "", 0, floorf(x));
UNARY(hard_sigmoid, "alpha", 0.2f, "beta", 0.5f, fmaxf(0, fminf(1, a *x + b)));
UNARY(hard_swish, "", 0, "", 0, x *fmaxf(0, fminf(1, x / 6 + 0.5f)));
UNARY(leaky_relu, "alpha", 0.01f, "", 0, x < 0 ? a * x : x);
UNARY(log, "", 0, "", 0, logf(x));
UNARY(reciprocal, "", 0, "", 0, 1 / x);
UNARY(relu, "", 0, "", 0, x < 0 ? 0 : x);
UNARY(round, "", 0, "", 0, nearbyintf(x));
UNARY(selu, "alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f,
      x < 0 ? b * a * expm1f(x) : b * x);
UNARY(sigmoid, "", 0, "", 0, 1 / (1 + expf(-x)));
UNARY(softplus, "", 0, "", 0, x > 20 ? x : log1pf(expf(x)));
UNARY(softsign, "", 0, "", 0, x / (1 + fabsf(x)));
UNARY(sqrt, "", 0, "", 0, sqrtf(x));
UNARY(tanh, "", 0, "", 0, tanhf(x));

static void clip_body(void *context, int64_t from, int64_t to) {
    const struct unary *unary = context;
    for (int64_t i = from; i < to; i++) {
        float x = unary->x[i];
        x = x < unary->a ? unary->a : x;
        unary->y[i] = x > unary->b ? unary->b : x;
    }
}

static int clip_run(const struct call *call, struct error *err UNUSED) {
    struct unary unary = {.x = call->inputs[0]->data, .y = call->outputs[0]->data};
    clip_bounds(call->node, call->input_count > 1 ? call->inputs[1] : NULL,
                call->input_count > 2 ? call->inputs[2] : NULL, &unary.a, &unary.b);
    threads_run(cpu_threads(call), shape_count(&call->inputs[0]->shape), GRAIN, clip_body, &unary);
    return 0;
}
const struct kernel reference_clip = {"reference clip", clip_run};

/* Abs and Neg of integers wrap around at the smallest one. */
#define EACH(type, expression)                                                                     \
    for (int64_t i = 0; i < count; i++) {                                                          \
        type x = ((const type *)from)[i];                                                          \
        ((type *)to)[i] = (type)(expression);                                                      \
    }

static int sign_run(const struct call *call, bool is_abs) {
    const void *from = call->inputs[0]->data;
    void *to = call->outputs[0]->data;
    int64_t count = shape_count(&call->inputs[0]->shape);
    switch (call->inputs[0]->type) {
    case TENSOR_INT64:
        EACH(int64_t, !is_abs || x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
        break;
    case TENSOR_INT32:
        EACH(int32_t, !is_abs || x < 0 ? 0 - (uint32_t)x : (uint32_t)x);
        break;
    default:
        EACH(float, is_abs ? fabsf(x) : -x);
    }
    return 0;
}

static int abs_run(const struct call *call, struct error *err UNUSED) {
    return sign_run(call, true);
}
const struct kernel reference_abs = {"reference abs", abs_run};

static int neg_run(const struct call *call, struct error *err UNUSED) {
    return sign_run(call, false);
}
const struct kernel reference_neg = {"reference neg", neg_run};

static int not_run(const struct call *call, struct error *err UNUSED) {
    const void *from = call->inputs[0]->data;
    void *to = call->outputs[0]->data;
    int64_t count = shape_count(&call->inputs[0]->shape);
    EACH(uint8_t, !x);
    return 0;
}
const struct kernel reference_not = {"reference not", not_run};
