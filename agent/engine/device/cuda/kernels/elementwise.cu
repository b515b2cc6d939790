// SPDX-License-Identifier: Apache-2.0
/* Elementwise kernels: of one input, of two with broadcasting, Where, Cast. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_elementwise.h"

static __device__ float angle_value(int kind, float x) {
    switch (kind) {
    case KERNELS_ACOS:
        return acosf(x);
    case KERNELS_ACOSH:
        return acoshf(x);
    case KERNELS_ASIN:
        return asinf(x);
    case KERNELS_ASINH:
        return asinhf(x);
    case KERNELS_ATAN:
        return atanf(x);
    case KERNELS_ATANH:
        return atanhf(x);
    case KERNELS_COS:
        return cosf(x);
    case KERNELS_COSH:
        return coshf(x);
    case KERNELS_SIN:
        return sinf(x);
    case KERNELS_SINH:
        return sinhf(x);
    case KERNELS_TAN:
        return tanf(x);
    default: /* KERNELS_TANH */
        return tanhf(x);
    }
}

static __device__ float unary_value(int kind, float x, float a, float b) {
    switch (kind) {
    case KERNELS_ABS:
        return fabsf(x);
    case KERNELS_CEIL:
        return ceilf(x);
    case KERNELS_CELU:
        return x > 0 ? x : a * expm1f(x / a);
    case KERNELS_CLIP:
        return clip(x, a, b);
    case KERNELS_ELU:
        return x < 0 ? a * expm1f(x) : x;
    case KERNELS_ERF:
        return erff(x);
    case KERNELS_EXP:
        return expf(x);
    case KERNELS_FLOOR:
        return floorf(x);
    case KERNELS_HARD_SIGMOID:
        return fmaxf(0, fminf(1, a * x + b));
    case KERNELS_HARD_SWISH:
        return x * fmaxf(0, fminf(1, x / 6 + 0.5f));
    case KERNELS_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case KERNELS_LOG:
        return logf(x);
    case KERNELS_NEG:
        return -x;
    case KERNELS_RECIPROCAL:
        return 1 / x;
    case KERNELS_RELU:
        return x < 0 ? 0 : x;
    case KERNELS_ROUND:
        return rintf(x);
    case KERNELS_SELU:
        return x < 0 ? b * a * expm1f(x) : b * x;
    case KERNELS_SHRINK:
        return x < -a ? x + b : x > a ? x - b : 0;
    case KERNELS_SIGMOID:
        return 1 / (1 + expf(-x));
    case KERNELS_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x;
    case KERNELS_SOFTPLUS:
        return x > 20 ? x : log1pf(expf(x));
    case KERNELS_SOFTSIGN:
        return x / (1 + fabsf(x));
    case KERNELS_SQRT:
        return sqrtf(x);
    case KERNELS_THRESHOLDED_RELU:
        return x <= a ? 0 : x;
    default:
        return angle_value(kind, x);
    }
}

template <class T> __global__ void unary_kernel(struct kernels_unary u, const T *x, T *y) {
    EACH(i, u.count) {
        bool is_padding = u.pitch && (int)(i % u.pitch) >= u.channels;
        put(&y[i], is_padding ? 0 : unary_value(u.kind, get(x[i]), u.a, u.b));
    }
}

int kernels_run_unary(const struct kernels_unary *u, const void *x, void *y, void *stream) {
    int64_t blocks = blocks_for(u->count);
    switch (u->type) {
    case KERNELS_BFLOAT16:
        return start(stream, blocks, unary_kernel<__nv_bfloat16>, *u, (const __nv_bfloat16 *)x,
                     (__nv_bfloat16 *)y);
    case KERNELS_FLOAT16:
        return start(stream, blocks, unary_kernel<__half>, *u, (const __half *)x, (__half *)y);
    default:
        return start(stream, blocks, unary_kernel<float>, *u, (const float *)x, (float *)y);
    }
}

/* ---- two operands --------------------------------------------------------------------------- */

static __device__ double rest_of(double u, double v, bool is_fmod) {
    double rest = fmod(u, v);
    return !is_fmod && rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;
}
static __device__ float rest_of(float u, float v, bool is_fmod) {
    float rest = fmodf(u, v);
    return !is_fmod && rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;
}
/* The remainder of a division by zero is zero, as the quotient is. */
static __device__ int64_t rest_of(int64_t u, int64_t v, bool is_fmod) {
    if (v == 0 || v == -1) {
        return 0;
    }
    int64_t rest = u % v;
    return !is_fmod && rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;
}
static __device__ float quotient_of(float u, float v) {
    return u / v;
}
static __device__ double quotient_of(double u, double v) {
    return u / v;
}
static __device__ int64_t quotient_of(int64_t u, int64_t v) {
    return v == 0 ? 0 : v == -1 ? (int64_t)(0 - (uint64_t)u) : u / v;
}
static __device__ float power_of(float u, float v) {
    return powf(u, v);
}
static __device__ double power_of(double u, double v) {
    return pow(u, v);
}
static __device__ int64_t power_of(int64_t u, int64_t v) {
    uint64_t power = 1, base = (uint64_t)u;
    if (v < 0) {
        return (int64_t)pow((double)u, (double)v);
    }
    for (uint64_t rest = (uint64_t)v; rest; rest >>= 1, base *= base) {
        power *= rest & 1 ? base : 1;
    }
    return (int64_t)power;
}
static __device__ float sum_of(float u, float v) {
    return u + v;
}
static __device__ double sum_of(double u, double v) {
    return u + v;
}
/* Integers wrap around. */
static __device__ int64_t sum_of(int64_t u, int64_t v) {
    return (int64_t)((uint64_t)u + (uint64_t)v);
}
static __device__ float product_of(float u, float v) {
    return u * v;
}
static __device__ double product_of(double u, double v) {
    return u * v;
}
static __device__ int64_t product_of(int64_t u, int64_t v) {
    return (int64_t)((uint64_t)u * (uint64_t)v);
}

template <class T> static __device__ T binary_value(int kind, T u, T v) {
    switch (kind) {
    case KERNELS_ADD:
        return sum_of(u, v);
    case KERNELS_SUB:
        return sum_of(u, -v);
    case KERNELS_MUL:
        return product_of(u, v);
    case KERNELS_DIV:
        return quotient_of(u, v);
    case KERNELS_MAX:
        return u > v || u != u ? u : v;
    case KERNELS_MIN:
        return u < v || u != u ? u : v;
    case KERNELS_MOD:
    case KERNELS_FMOD:
        return rest_of(u, v, kind == KERNELS_FMOD);
    case KERNELS_POW:
        return power_of(u, v);
    default: /* KERNELS_PRELU */
        return u < 0 ? product_of(u, v) : u;
    }
}

template <class T> static __device__ bool compare_value(int kind, T u, T v) {
    switch (kind) {
    case KERNELS_EQUAL:
        return u == v;
    case KERNELS_LESS:
        return u < v;
    case KERNELS_LESS_OR_EQUAL:
        return u <= v;
    case KERNELS_GREATER:
        return u > v;
    case KERNELS_GREATER_OR_EQUAL:
        return u >= v;
    case KERNELS_AND:
        return u && v;
    case KERNELS_OR:
        return u || v;
    default: /* KERNELS_XOR */
        return !u != !v;
    }
}

/* Wide: the type of the computation: int64 for int32, whose results then wrap around. */
template <class T, class Wide>
__global__ void binary_kernel(struct kernels_binary b, const T *x, const T *z, void *y,
                              int64_t count) {
    EACH(i, count) {
        int64_t rest = i, x_at = 0, z_at = 0;
        for (int k = b.rank - 1; k >= 0; k--) {
            int64_t index = rest % b.dims[k];
            rest /= b.dims[k];
            x_at += index * b.a_strides[k];
            z_at += index * b.b_strides[k];
        }
        Wide u = x[x_at], v = z[z_at];
        if (b.kind >= KERNELS_EQUAL) {
            ((uint8_t *)y)[i] = compare_value(b.kind, u, v);
        } else {
            Wide value = binary_value(b.kind, u, v);
            ((T *)y)[i] = (T)(b.scale == 1 ? value : value * (Wide)b.scale);
        }
    }
}

int kernels_run_binary(const struct kernels_binary *b, const void *x, const void *z, void *y,
                       void *stream) {
    int64_t count = 1;
    for (int k = 0; k < b->rank; k++) {
        count *= b->dims[k];
    }
    int64_t blocks = blocks_for(count);
    switch (b->type) {
    case KERNELS_F64:
        return start(stream, blocks, binary_kernel<double, double>, *b, (const double *)x,
                     (const double *)z, y, count);
    case KERNELS_I64:
        return start(stream, blocks, binary_kernel<int64_t, int64_t>, *b, (const int64_t *)x,
                     (const int64_t *)z, y, count);
    case KERNELS_I32:
        return start(stream, blocks, binary_kernel<int32_t, int64_t>, *b, (const int32_t *)x,
                     (const int32_t *)z, y, count);
    case KERNELS_U8:
    case KERNELS_BOOL:
        return start(stream, blocks, binary_kernel<uint8_t, int64_t>, *b, (const uint8_t *)x,
                     (const uint8_t *)z, y, count);
    default:
        return start(stream, blocks, binary_kernel<float, float>, *b, (const float *)x,
                     (const float *)z, y, count);
    }
}

template <class T>
__global__ void binary_channels_last_kernel(struct kernels_binary_channels_last b, const T *x,
                                            const T *z, T *y, int64_t count) {
    EACH(i, count) {
        int64_t c = i % b.pitch, w = i / b.pitch;
        int64_t h = w / b.dims[2], n = h / b.dims[1];
        w %= b.dims[2];
        h %= b.dims[1];
        float value = 0;
        if (c < b.dims[3]) {
            value = binary_value(b.kind,
                                 get(x[n * b.a_strides[0] + h * b.a_strides[1] +
                                       w * b.a_strides[2] + c * b.a_strides[3]]),
                                 get(z[n * b.b_strides[0] + h * b.b_strides[1] +
                                       w * b.b_strides[2] + c * b.b_strides[3]]));
            value = clip(value, b.low, b.high);
        }
        put(&y[i], value);
    }
}

int kernels_run_binary_channels_last(const struct kernels_binary_channels_last *b, const void *x,
                                     const void *z, void *y, void *stream) {
    int64_t count = b->dims[0] * b->dims[1] * b->dims[2] * b->pitch;
    return b->type == KERNELS_BFLOAT16
               ? start(stream, blocks_for(count), binary_channels_last_kernel<__nv_bfloat16>, *b,
                       (const __nv_bfloat16 *)x, (const __nv_bfloat16 *)z, (__nv_bfloat16 *)y,
                       count)
               : start(stream, blocks_for(count), binary_channels_last_kernel<__half>, *b,
                       (const __half *)x, (const __half *)z, (__half *)y, count);
}

/* ---- choosing and converting ---------------------------------------------------------------- */

template <class T>
__global__ void where_kernel(struct kernels_where where, const uint8_t *condition, const T *yes,
                             const T *no, T *y, int64_t count) {
    EACH(i, count) {
        int64_t rest = i, at[3] = {0, 0, 0};
        for (int k = where.rank - 1; k >= 0; k--) {
            int64_t index = rest % where.dims[k];
            rest /= where.dims[k];
            at[0] += index * where.strides[0][k];
            at[1] += index * where.strides[1][k];
            at[2] += index * where.strides[2][k];
        }
        y[i] = condition[at[0]] ? yes[at[1]] : no[at[2]];
    }
}

int kernels_run_where(const struct kernels_where *where, const uint8_t *condition, const void *yes,
                      const void *no, void *y, void *stream) {
    int64_t count = 1;
    for (int k = 0; k < where->rank; k++) {
        count *= where->dims[k];
    }
#define WHERE(type)                                                                                \
    start(stream, blocks_for(count), where_kernel<type>, *where, condition, (const type *)yes,     \
          (const type *)no, (type *)y, count)
    return where->size == 1   ? WHERE(uint8_t)
           : where->size == 2 ? WHERE(uint16_t)
           : where->size == 4 ? WHERE(uint32_t)
                              : WHERE(uint64_t);
}

/* One element of a type that is chosen at run time. */
static __device__ double load_real(int type, const void *x, int64_t i) {
    switch (type) {
    case KERNELS_F64:
        return ((const double *)x)[i];
    case KERNELS_F16:
        return (double)__half2float(((const __half *)x)[i]);
    case KERNELS_BF16:
        return (double)__bfloat162float(((const __nv_bfloat16 *)x)[i]);
    default:
        return (double)((const float *)x)[i];
    }
}

static __device__ int64_t load_whole(int type, const void *x, int64_t i) {
    switch (type) {
    case KERNELS_I64:
    case KERNELS_U64:
        return ((const int64_t *)x)[i];
    case KERNELS_I32:
        return ((const int32_t *)x)[i];
    case KERNELS_U32:
        return ((const uint32_t *)x)[i];
    case KERNELS_I16:
        return ((const int16_t *)x)[i];
    case KERNELS_U16:
        return ((const uint16_t *)x)[i];
    case KERNELS_I8:
        return ((const int8_t *)x)[i];
    default:
        return ((const uint8_t *)x)[i];
    }
}

static __device__ void store_real(int type, void *y, int64_t i, double value) {
    switch (type) {
    case KERNELS_F64:
        ((double *)y)[i] = value;
        break;
    case KERNELS_F16:
        ((__half *)y)[i] = __float2half_rn((float)value);
        break;
    case KERNELS_BF16:
        ((__nv_bfloat16 *)y)[i] = __float2bfloat16_rn((float)value);
        break;
    default:
        ((float *)y)[i] = (float)value;
    }
}

static __device__ void store_whole(int type, void *y, int64_t i, int64_t value) {
    switch (type) {
    case KERNELS_I64:
    case KERNELS_U64:
        ((int64_t *)y)[i] = value;
        break;
    case KERNELS_I32:
    case KERNELS_U32:
        ((uint32_t *)y)[i] = (uint32_t)value;
        break;
    case KERNELS_I16:
    case KERNELS_U16:
        ((uint16_t *)y)[i] = (uint16_t)value;
        break;
    case KERNELS_BOOL:
        ((uint8_t *)y)[i] = value != 0;
        break;
    default:
        ((uint8_t *)y)[i] = (uint8_t)value;
    }
}

static __device__ bool is_real(int type) {
    return type == KERNELS_F32 || type == KERNELS_F64 || type == KERNELS_F16 ||
           type == KERNELS_BF16;
}

/* Rounds towards zero. NaN becomes 0; values beyond the range of int64 are clamped. */
static __device__ int64_t whole_of(double value) {
    return value != value     ? 0
           : value >= 0x1p63  ? (int64_t)0x7fffffffffffffff
           : value <= -0x1p63 ? -0x7fffffffffffffff - 1
                              : (int64_t)value;
}

__global__ void cast_kernel(int from, int to, const void *x, void *y, int64_t count) {
    EACH(i, count) {
        if (is_real(from)) {
            double value = load_real(from, x, i);
            if (is_real(to)) {
                store_real(to, y, i, value);
            } else {
                store_whole(to, y, i, to == KERNELS_BOOL ? value != 0 : whole_of(value));
            }
        } else {
            int64_t value = load_whole(from, x, i);
            if (is_real(to)) {
                store_real(to, y, i, from == KERNELS_U64 ? (double)(uint64_t)value : (double)value);
            } else {
                store_whole(to, y, i, value);
            }
        }
    }
}

int kernels_run_cast(enum kernels_number from, enum kernels_number to, const void *x, void *y,
                     int64_t count, void *stream) {
    return start(stream, blocks_for(count), cast_kernel, (int)from, (int)to, x, y, count);
}

__global__ void not_kernel(const uint8_t *x, uint8_t *y, int64_t count) {
    EACH(i, count) {
        y[i] = !x[i];
    }
}

int kernels_run_not(const uint8_t *x, uint8_t *y, int64_t count, void *stream) {
    return start(stream, blocks_for(count), not_kernel, x, y, count);
}
