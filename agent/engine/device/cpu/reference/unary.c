// SPDX-License-Identifier: Apache-2.0
/* Elementwise operators of one input: Abs, Erf, Gelu, Sigmoid ... */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/elementwise.h"

#include <string.h>
#include <tgmath.h>

enum { GRAIN = 16384 };

struct unary {
    const void *x;
    void *y;
    float a, b; /* the operator's parameters: alpha, beta, bounds */
};

/* An expression of x, a and b over a part of the elements. */
#define UNARY_BODY(name, type, expression)                                                         \
    static void name(void *context, int64_t from, int64_t to) {                                    \
        const struct unary *unary = context;                                                       \
        type a UNUSED = unary->a, b UNUSED = unary->b;                                             \
        for (int64_t i = from; i < to; i++) {                                                      \
            type x = ((const type *)unary->x)[i];                                                  \
            ((type *)unary->y)[i] = (type)(expression);                                            \
        }                                                                                          \
    }
/* A kernel for float32 and float64 (tgmath.h chooses the functions). */
#define UNARY(name, expression)                                                                    \
    UNARY_BODY(name##_body, float, expression)                                                     \
    UNARY_BODY(name##_double, double, expression)                                                  \
    static int name##_run(const struct call *call, struct error *err UNUSED) {                     \
        struct unary unary = {.x = call->inputs[0]->data, .y = call->outputs[0]->data};            \
        elementwise_unary_numbers(call->node, call->node->op->id, &unary.a, &unary.b);             \
        threads_run(cpu_threads(call), shape_count(&call->inputs[0]->shape), GRAIN,                \
                    call->inputs[0]->type == TENSOR_FLOAT64 ? name##_double : name##_body,         \
                    &unary);                                                                       \
        return 0;                                                                                  \
    }                                                                                              \
    const struct kernel reference_##name = {"reference " #name, name##_run}

UNARY(acos, acos(x));
UNARY(acosh, acosh(x));
UNARY(asin, asin(x));
UNARY(asinh, asinh(x));
UNARY(atan, atan(x));
UNARY(atanh, atanh(x));
UNARY(ceil, ceil(x));
UNARY(celu, x > 0 ? x : a * expm1(x / a));
UNARY(cos, cos(x));
UNARY(cosh, cosh(x));
UNARY(elu, x < 0 ? a * expm1(x) : x);
UNARY(erf, erf(x));
UNARY(exp, exp(x));
UNARY(floor, floor(x));
UNARY(hard_sigmoid, isnan(x) ? x : fmax(0, fmin(1, a *x + b)));
UNARY(hard_swish, x *fmax(0, fmin(1, x / 6 + 0.5)));
UNARY(leaky_relu, x < 0 ? a * x : x);
UNARY(log, log(x));
UNARY(mish, x *tanh(x > 20 ? x : log1p(exp(x))));
UNARY(reciprocal, 1 / x);
UNARY(relu, x < 0 ? 0 : x);
UNARY(round, nearbyint(x));
UNARY(selu, x < 0 ? b * a * expm1(x) : b * x);
UNARY(sigmoid, 1 / (1 + exp(-x)));
UNARY(shrink, x<-a ? x + b : x> a ? x - b : 0);
UNARY(sin, sin(x));
UNARY(sinh, sinh(x));
UNARY(softplus, x > 20 ? x : log1p(exp(x)));
UNARY(softsign, x / (1 + fabs(x)));
UNARY(sqrt, sqrt(x));
UNARY(tan, tan(x));
UNARY(tanh, tanh(x));
UNARY(thresholded_relu, x <= a ? 0 : x);

/* x times the normal distribution function of x, or its approximation by tanh. */
UNARY_BODY(gelu_float, float, x / 2 * (1 + erf(x * (float)M_SQRT1_2)))
UNARY_BODY(gelu_double, double, x / 2 * (1 + erf(x * M_SQRT1_2)))
UNARY_BODY(gelu_tanh_float, float,
           x / 2 * (1 + tanh((float)(M_2_SQRTPI * M_SQRT1_2) * (x + 0.044715f * x * x * x))))
UNARY_BODY(gelu_tanh_double, double,
           x / 2 * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x))))

static int gelu_run(const struct call *call, struct error *err UNUSED) {
    static threads_body *const bodies[2][2] = {{gelu_float, gelu_double},
                                               {gelu_tanh_float, gelu_tanh_double}};
    bool is_tanh = strcmp(node_text(call->node, "approximate", "none"), "tanh") == 0;
    bool is_double = call->inputs[0]->type == TENSOR_FLOAT64;
    struct unary unary = {.x = call->inputs[0]->data, .y = call->outputs[0]->data};
    threads_run(cpu_threads(call), shape_count(&call->inputs[0]->shape), GRAIN,
                bodies[is_tanh][is_double], &unary);
    return 0;
}
const struct kernel reference_gelu = {"reference gelu", gelu_run};

static void clip_body(void *context, int64_t from, int64_t to) {
    const struct unary *unary = context;
    for (int64_t i = from; i < to; i++) {
        float x = ((const float *)unary->x)[i];
        x = x < unary->a ? unary->a : x;
        ((float *)unary->y)[i] = x > unary->b ? unary->b : x;
    }
}

/* Element `from` of another tensor of the same type, if that is beyond ours. */
static void bound(struct tensor *y, int64_t at, const struct tensor *limit, bool is_low) {
    size_t size = tensor_type_size(y->type);
    uint64_t pair[2] = {0};
    struct tensor both = {.type = y->type, .data = pair};
    if (!limit) {
        return;
    }
    memcpy(pair, (const char *)y->data + (size_t)at * size, size);
    memcpy((char *)pair + size, limit->data, size);
    if (tensor_compare(&both, 0, 1) == (is_low ? -1 : 1)) {
        memcpy((char *)y->data + (size_t)at * size, limit->data, size);
    }
}

static int clip_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *low = call->input_count > 1 ? call->inputs[1] : NULL;
    const struct tensor *high = call->input_count > 2 ? call->inputs[2] : NULL;
    struct tensor *y = call->outputs[0];
    int64_t count = shape_count(&y->shape);
    if (y->type == TENSOR_FLOAT32) {
        struct unary unary = {.x = call->inputs[0]->data, .y = y->data};
        elementwise_clip_bounds(call->node, low, high, &unary.a, &unary.b);
        threads_run(cpu_threads(call), count, GRAIN, clip_body, &unary);
        return 0;
    }
    memcpy(y->data, call->inputs[0]->data, (size_t)count * tensor_type_size(y->type));
    for (int64_t i = 0; i < count; i++) {
        bound(y, i, low, true);
        bound(y, i, high, false);
    }
    return 0;
}
const struct kernel reference_clip = {"reference clip", clip_run};

#define EACH(type, expression)                                                                     \
    for (int64_t i = 0; i < count; i++) {                                                          \
        type x = ((const type *)from)[i];                                                          \
        ((type *)to)[i] = (type)(expression);                                                      \
    }                                                                                              \
    break

/* Abs and Neg of integers wrap around at the smallest one. */
#define BY_TYPE(name, of_signed, of_unsigned, of_real)                                             \
    static int name##_run(const struct call *call, struct error *err UNUSED) {                     \
        const void *from = call->inputs[0]->data;                                                  \
        void *to = call->outputs[0]->data;                                                         \
        int64_t count = shape_count(&call->inputs[0]->shape);                                      \
        switch (call->inputs[0]->type) {                                                           \
        case TENSOR_INT64:                                                                         \
            EACH(int64_t, of_signed);                                                              \
        case TENSOR_INT32:                                                                         \
            EACH(int32_t, of_signed);                                                              \
        case TENSOR_INT16:                                                                         \
            EACH(int16_t, of_signed);                                                              \
        case TENSOR_INT8:                                                                          \
            EACH(int8_t, of_signed);                                                               \
        case TENSOR_UINT64:                                                                        \
            EACH(uint64_t, of_unsigned);                                                           \
        case TENSOR_UINT32:                                                                        \
            EACH(uint32_t, of_unsigned);                                                           \
        case TENSOR_UINT16:                                                                        \
            EACH(uint16_t, of_unsigned);                                                           \
        case TENSOR_UINT8:                                                                         \
            EACH(uint8_t, of_unsigned);                                                            \
        case TENSOR_FLOAT64:                                                                       \
            EACH(double, of_real);                                                                 \
        default:                                                                                   \
            EACH(float, of_real);                                                                  \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    const struct kernel reference_##name = {"reference " #name, name##_run}

BY_TYPE(abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, x, (x < 0 ? -x : x) + 0);
BY_TYPE(neg, 0 - (uint64_t)x, 0 - (uint64_t)x, -x);
BY_TYPE(sign, (x > 0) - (x < 0), x > 0, x > 0 ? 1 : x < 0 ? -1 : x);

static int not_run(const struct call *call, struct error *err UNUSED) {
    const void *from = call->inputs[0]->data;
    void *to = call->outputs[0]->data;
    int64_t count = shape_count(&call->inputs[0]->shape);
    do {
        EACH(uint8_t, !x);
    } while (0);
    return 0;
}
const struct kernel reference_not = {"reference not", not_run};

static int bitwise_not_run(const struct call *call, struct error *err UNUSED) {
    const uint8_t *from = call->inputs[0]->data;
    uint8_t *to = call->outputs[0]->data;
    int64_t count =
        shape_count(&call->inputs[0]->shape) * (int64_t)tensor_type_size(call->inputs[0]->type);
    for (int64_t i = 0; i < count; i++) {
        to[i] = (uint8_t)~from[i];
    }
    return 0;
}
const struct kernel reference_bitwise_not = {"reference bitwise_not", bitwise_not_run};

/* IsNaN, and IsInf for the requested signs. */
static int is_nan_run(const struct call *call, struct error *err UNUSED) {
    int64_t count = shape_count(&call->inputs[0]->shape);
    for (int64_t i = 0; i < count; i++) {
        bool is_nan = isnan(tensor_number(call->inputs[0], i));
        ((uint8_t *)call->outputs[0]->data)[i] = is_nan;
    }
    return 0;
}
const struct kernel reference_is_nan = {"reference is_nan", is_nan_run};

static int is_inf_run(const struct call *call, struct error *err UNUSED) {
    int64_t count = shape_count(&call->inputs[0]->shape);
    bool negative = node_integer(call->node, "detect_negative", 1);
    bool positive = node_integer(call->node, "detect_positive", 1);
    for (int64_t i = 0; i < count; i++) {
        double x = tensor_number(call->inputs[0], i);
        ((uint8_t *)call->outputs[0]->data)[i] = isinf(x) && (x > 0 ? positive : negative);
    }
    return 0;
}
const struct kernel reference_is_inf = {"reference is_inf", is_inf_run};
