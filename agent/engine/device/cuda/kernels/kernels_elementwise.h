/* kernels_elementwise.h: elementwise operators (elementwise.cu). Kinds are the operators of ONNX
 * with the same names. kernels.h explains pointers, streams, layouts and results. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kernels_unary_kind {
    KERNELS_ABS,
    KERNELS_ACOS,
    KERNELS_ACOSH,
    KERNELS_ASIN,
    KERNELS_ASINH,
    KERNELS_ATAN,
    KERNELS_ATANH,
    KERNELS_CEIL,
    KERNELS_CELU,
    KERNELS_CLIP,
    KERNELS_COS,
    KERNELS_COSH,
    KERNELS_ELU,
    KERNELS_ERF,
    KERNELS_EXP,
    KERNELS_FLOOR,
    KERNELS_HARD_SIGMOID,
    KERNELS_HARD_SWISH,
    KERNELS_LEAKY_RELU,
    KERNELS_LOG,
    KERNELS_NEG,
    KERNELS_RECIPROCAL,
    KERNELS_RELU,
    KERNELS_ROUND,
    KERNELS_SELU,
    KERNELS_SHRINK,
    KERNELS_SIGMOID,
    KERNELS_SIGN,
    KERNELS_SIN,
    KERNELS_SINH,
    KERNELS_SOFTPLUS,
    KERNELS_SOFTSIGN,
    KERNELS_SQRT,
    KERNELS_TAN,
    KERNELS_TANH,
    KERNELS_THRESHOLDED_RELU,
};
struct kernels_unary {
    int kind; /* enum kernels_unary_kind */
    enum kernels_float type;
    float a, b;          /* alpha and beta; bounds of CLIP */
    int64_t count;       /* elements, padding included */
    int channels, pitch; /* of channels-last values; pitch 0: plain */
};
int kernels_run_unary(const struct kernels_unary *unary, const void *x, void *y, void *stream);

enum kernels_binary_kind {
    KERNELS_ADD,
    KERNELS_SUB,
    KERNELS_MUL,
    KERNELS_DIV,
    KERNELS_MAX,
    KERNELS_MIN,
    KERNELS_MOD,
    KERNELS_FMOD,
    KERNELS_POW,
    KERNELS_PRELU,
    KERNELS_EQUAL, /* this and the following kinds give bool */
    KERNELS_LESS,
    KERNELS_LESS_OR_EQUAL,
    KERNELS_GREATER,
    KERNELS_GREATER_OR_EQUAL,
    KERNELS_AND,
    KERNELS_OR,
    KERNELS_XOR,
};
/* Plain values. dims: of the output. Strides are in elements; 0 where an operand is repeated. */
struct kernels_binary {
    int kind;                 /* enum kernels_binary_kind */
    enum kernels_number type; /* F32, F64, I64, I32 or BOOL */
    int rank;
    int64_t dims[KERNELS_RANK], a_strides[KERNELS_RANK], b_strides[KERNELS_RANK];
    float scale; /* the result is multiplied by it (for Mean); else 1 */
};
int kernels_run_binary(const struct kernels_binary *binary, const void *a, const void *b, void *y,
                       void *stream);
/* Channels-last values; kinds ADD to PRELU. dims: [n, h, w, channels]. */
struct kernels_binary_channels_last {
    int kind;
    enum kernels_float type;
    int64_t dims[4], a_strides[4], b_strides[4];
    int pitch;       /* of the result */
    float low, high; /* the result is clamped to these */
};
int kernels_run_binary_channels_last(const struct kernels_binary_channels_last *binary,
                                     const void *a, const void *b, void *y, void *stream);
/* y = condition ? yes : no. Plain values; strides in elements, 0 where an operand is repeated. */
struct kernels_where {
    size_t size; /* bytes per element: 1, 2, 4, 8 */
    int rank;
    int64_t dims[KERNELS_RANK], strides[3][KERNELS_RANK]; /* of condition, yes, no */
};
int kernels_run_where(const struct kernels_where *where, const uint8_t *condition, const void *yes,
                      const void *no, void *y, void *stream);
/* Plain values: y = x converted, `count` elements. */
int kernels_run_cast(enum kernels_number from, enum kernels_number to, const void *x, void *y,
                     int64_t count, void *stream);
/* y = !x, `count` bools. */
int kernels_run_not(const uint8_t *x, uint8_t *y, int64_t count, void *stream);

#ifdef __cplusplus
}
#endif
