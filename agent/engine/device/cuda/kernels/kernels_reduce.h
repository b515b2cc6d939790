/* kernels_reduce.h: reductions and normalizations of plain float32 (reduce.cu). */
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
/* kept: the sizes and strides of the dimensions of x that stay; gone: of those that are reduced. */
struct kernels_reduce {
    int kind, kept_rank, gone_rank;
    int64_t kept[KERNELS_RANK], kept_strides[KERNELS_RANK];
    int64_t gone[KERNELS_RANK], gone_strides[KERNELS_RANK];
};
int kernels_run_reduce(const struct kernels_reduce *reduce, const float *x, float *y, void *stream);
/* sizes: x is [outer, axis, inner]. */
int kernels_run_softmax(int is_log, const int64_t sizes[3], const float *x, float *y, void *stream);
/* takes_last: of equal values the last one, else the first. */
int kernels_run_arg_max(int is_min, int takes_last, const int64_t sizes[3], const float *x,
                        int64_t *y, void *stream);
/* x is [outer, inner]. shift may be NULL. means, inverses: float[outer], receive the means and
 * 1 / standard deviation; NULL: not needed. */
struct kernels_layer_norm {
    int64_t outer, inner;
    float epsilon;
    const float *x, *scale, *shift;
    float *y, *means, *inverses;
};
int kernels_run_layer_norm(const struct kernels_layer_norm *norm, void *stream);
/* BatchNormalization and InstanceNormalization: x is [n, c, pixels]. */
struct kernels_norm {
    int64_t n, c, pixels;
    float epsilon;
    const float *x, *scale, *shift, *mean,
        *variance; /* [c]; mean, variance NULL: computed per plane */
    float *y;
};
int kernels_run_norm(const struct kernels_norm *norm, void *stream);
/* Local response normalization over `size` channels. */
struct kernels_lrn {
    int64_t n, c, pixels, size;
    float alpha, beta, bias;
};
int kernels_run_lrn(const struct kernels_lrn *lrn, const float *x, float *y, void *stream);

#ifdef __cplusplus
}
#endif
