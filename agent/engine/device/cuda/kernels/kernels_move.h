/* kernels_move.h: elements taken to other places, of any type, by their size (move.cu). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[sum of index * y_strides] = x[x_start + sum of index * x_strides], index within dims. */
struct kernels_strided {
    size_t size; /* bytes per element: 1, 2, 4, 8 */
    int rank;
    int64_t dims[KERNELS_RANK], x_strides[KERNELS_RANK], y_strides[KERNELS_RANK];
    int64_t x_start, y_start;
};
int kernels_run_strided(const struct kernels_strided *strided, const void *x, void *y,
                        void *stream);
enum kernels_edge { KERNELS_CONSTANT, KERNELS_REFLECT, KERNELS_EDGE, KERNELS_REPEAT };
/* Output index i of a dimension is x's i - begin, which may lie beyond it: Pad, Tile. */
struct kernels_pad {
    size_t size;
    enum kernels_edge edge;
    int rank;
    int64_t x_dims[KERNELS_RANK], y_dims[KERNELS_RANK], begin[KERNELS_RANK];
};
int kernels_run_pad(const struct kernels_pad *pad, const void *x, const void *fill, void *y,
                    void *stream); /* fill: one element; NULL: zero */
/* y[outer, count, inner] = x[outer, indices, inner]; out of range: *fault becomes not 0. */
struct kernels_gather {
    size_t size;
    enum kernels_number index; /* I32, I64 */
    int64_t outer, axis, count, inner;
};
int kernels_run_gather(const struct kernels_gather *gather, const void *x, const void *indices,
                       void *y, void *stream);
/* taps: for every index of every dimension, one after the other: {low, high} element offsets and
 * the weight of high. */
struct kernels_tap {
    int64_t low, high;
    float weight;
};
struct kernels_resize {
    int rank;
    int64_t dims[KERNELS_RANK], first[KERNELS_RANK]; /* the dimension's first tap */
};
int kernels_run_resize(const struct kernels_resize *resize, const struct kernels_tap *taps,
                       const float *x, float *y, void *stream);

#ifdef __cplusplus
}
#endif
