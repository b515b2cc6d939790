/* kernels_move.h: copies elements to other positions (move.cu). Types matter only by their size. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For every index within dims: y[y_start + sum of index * y_strides] = x[x_start + sum of index *
 * x_strides]. Strides and starts are in elements. */
struct kernels_strided {
    size_t size; /* bytes per element: 1, 2, 4, 8 */
    int rank;
    int64_t dims[KERNELS_RANK], x_strides[KERNELS_RANK], y_strides[KERNELS_RANK];
    int64_t x_start, y_start;
};
int kernels_run_strided(const struct kernels_strided *strided, const void *x, void *y,
                        void *stream);
enum kernels_edge { KERNELS_CONSTANT, KERNELS_REFLECT, KERNELS_EDGE, KERNELS_REPEAT };
/* Pad and Tile: output index i of a dimension is input index i - begin; `edge` says what is outside
 * x. REPEAT is Tile. */
struct kernels_pad {
    size_t size;
    enum kernels_edge edge;
    int rank;
    int64_t x_dims[KERNELS_RANK], y_dims[KERNELS_RANK], begin[KERNELS_RANK];
};
int kernels_run_pad(const struct kernels_pad *pad, const void *x, const void *fill, void *y,
                    void *stream); /* fill: the element outside x; NULL: zero */
/* y[outer, count, inner] = x[outer, indices[count], inner]; an index out of range gives zeros. */
struct kernels_gather {
    size_t size;
    enum kernels_number index; /* I32, I64 */
    int64_t outer, axis, count, inner;
};
int kernels_run_gather(const struct kernels_gather *gather, const void *x, const void *indices,
                       void *y, void *stream);
/* Linear interpolation along one dimension: (1 - weight) * x[low] + weight * x[high]; low and high
 * are offsets in elements. kernels_run_resize has one tap per output index of each dimension, one
 * dimension after the other. */
struct kernels_tap {
    int64_t low, high;
    float weight;
};
struct kernels_resize {
    int rank;
    int64_t dims[KERNELS_RANK], first[KERNELS_RANK]; /* index of each dimension's first tap */
};
int kernels_run_resize(const struct kernels_resize *resize, const struct kernels_tap *taps,
                       const float *x, float *y, void *stream);

#ifdef __cplusplus
}
#endif
