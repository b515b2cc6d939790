/* kernels.h: what kernels.cu offers to C: raw device pointers in, a cudaError_t as int out. Starts
 * the work on the stream and returns. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kernels_unary { KERNELS_RELU, KERNELS_SIGMOID, KERNELS_TANH, KERNELS_CLIP };
enum kernels_binary { KERNELS_ADD, KERNELS_SUB, KERNELS_MUL };

/* How two operands are read along the output: strides in elements, 0 where one is repeated. */
struct kernels_broadcast {
    int rank;
    int64_t dims[8], a_strides[8], b_strides[8];
};

int kernels_run_unary(enum kernels_unary kind, const float *x, float *y, int64_t count, float low,
                      float high, void *stream);
int kernels_run_binary(enum kernels_binary kind, const float *a, const float *b, float *y,
                       const struct kernels_broadcast *broadcast, void *stream);

#ifdef __cplusplus
}
#endif
