/* kernels_reduce.h: plain float32 in which many elements become one (reduce.cu). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kernels_reduce_kind {
    KERNELS_REDUCE_SUM,
    KERNELS_REDUCE_MEAN,
    KERNELS_REDUCE_MAX,
    KERNELS_REDUCE_MIN,
    KERNELS_REDUCE_PROD,
    KERNELS_REDUCE_L1,
    KERNELS_REDUCE_L2,
    KERNELS_REDUCE_SUM_SQUARE,
    KERNELS_REDUCE_LOG_SUM,
    KERNELS_REDUCE_LOG_SUM_EXP,
};
/* Dimensions of x that stay, and those that are summed, in order, with their strides. */
struct kernels_reduce {
    int kind, kept_rank, gone_rank;
    int64_t kept[KERNELS_RANK], kept_strides[KERNELS_RANK];
    int64_t gone[KERNELS_RANK], gone_strides[KERNELS_RANK];
};
int kernels_run_reduce(const struct kernels_reduce *reduce, const float *x, float *y, void *stream);
/* x is [outer, axis, inner]. */
int kernels_run_softmax(int is_log, const int64_t sizes[3], const float *x, float *y, void *stream);
int kernels_run_arg_max(int is_min, int takes_last, const int64_t sizes[3], const float *x,
                        int64_t *y, void *stream);
/* x is [outer, inner]; shift, means, inverses (of the deviation) may be NULL. */
struct kernels_layer_norm {
    int64_t outer, inner;
    float epsilon;
    const float *x, *scale, *shift;
    float *y, *means, *inverses;
};
int kernels_run_layer_norm(const struct kernels_layer_norm *norm, void *stream);
/* x is [n, c, pixels]. */
struct kernels_norm {
    int64_t n, c, pixels;
    float epsilon;
    const float *x, *scale, *shift, *mean, *variance; /* mean, variance NULL: of each plane */
    float *y;
};
int kernels_run_norm(const struct kernels_norm *norm, void *stream);
struct kernels_lrn {
    int64_t n, c, pixels, size;
    float alpha, beta, bias;
};
int kernels_run_lrn(const struct kernels_lrn *lrn, const float *x, float *y, void *stream);

#ifdef __cplusplus
}
#endif
