// SPDX-License-Identifier: Apache-2.0
/* Kernels that copy elements to other positions. Types matter only by their size. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_move.h"

#define BY_SIZE(bytes, CALL)                                                                       \
    ((bytes) == 1   ? CALL(uint8_t)                                                                \
     : (bytes) == 2 ? CALL(uint16_t)                                                               \
     : (bytes) == 4 ? CALL(uint32_t)                                                               \
                    : CALL(uint64_t))

static int64_t count_of(int rank, const int64_t *dims) {
    int64_t count = 1;
    for (int k = 0; k < rank; k++) {
        count *= dims[k];
    }
    return count;
}

template <class T>
__global__ void strided_kernel(struct kernels_strided s, const T *x, T *y, int64_t count) {
    EACH(i, count) {
        int64_t rest = i, from = s.x_start, to = s.y_start;
        for (int k = s.rank - 1; k >= 0; k--) {
            int64_t index = rest % s.dims[k];
            rest /= s.dims[k];
            from += index * s.x_strides[k];
            to += index * s.y_strides[k];
        }
        y[to] = x[from];
    }
}

int kernels_run_strided(const struct kernels_strided *s, const void *x, void *y, void *stream) {
    int64_t count = count_of(s->rank, s->dims);
#define STRIDED(type)                                                                              \
    start(stream, blocks_for(count), strided_kernel<type>, *s, (const type *)x, (type *)y, count)
    return BY_SIZE(s->size, STRIDED);
}

template <class T>
__global__ void pad_kernel(struct kernels_pad p, const T *x, const T *fill, T *y, int64_t count) {
    EACH(i, count) {
        int64_t rest = i, from = 0, stride = 1;
        bool is_inside = true;
        for (int k = p.rank - 1; k >= 0; k--) {
            int64_t at = rest % p.y_dims[k] - p.begin[k];
            int64_t index =
                p.edge == KERNELS_REPEAT ? at % p.x_dims[k] : edge_index(at, p.x_dims[k], p.edge);
            rest /= p.y_dims[k];
            is_inside = is_inside && index >= 0;
            from += index * stride;
            stride *= p.x_dims[k];
        }
        y[i] = is_inside ? x[from] : fill ? *fill : (T)0;
    }
}

int kernels_run_pad(const struct kernels_pad *p, const void *x, const void *fill, void *y,
                    void *stream) {
    int64_t count = count_of(p->rank, p->y_dims);
#define PAD(type)                                                                                  \
    start(stream, blocks_for(count), pad_kernel<type>, *p, (const type *)x, (const type *)fill,    \
          (type *)y, count)
    return BY_SIZE(p->size, PAD);
}

/* A kernel cannot report an index out of range: it writes zeros then, and reads nothing outside x.
 */
template <class T>
__global__ void gather_kernel(struct kernels_gather g, const T *x, const void *indices, T *y,
                              int64_t count) {
    EACH(i, count) {
        int64_t inner = i % g.inner, at = i / g.inner % g.count, outer = i / g.inner / g.count;
        int64_t index = g.index == KERNELS_I64 ? ((const int64_t *)indices)[at]
                                               : ((const int32_t *)indices)[at];
        index = index < 0 ? index + g.axis : index;
        bool is_inside = index >= 0 && index < g.axis;
        y[i] = is_inside ? x[(outer * g.axis + index) * g.inner + inner] : (T)0;
    }
}

int kernels_run_gather(const struct kernels_gather *g, const void *x, const void *indices, void *y,
                       void *stream) {
    int64_t count = g->outer * g->count * g->inner;
#define GATHER(type)                                                                               \
    start(stream, blocks_for(count), gather_kernel<type>, *g, (const type *)x, indices, (type *)y, \
          count)
    return BY_SIZE(g->size, GATHER);
}

/* Interpolates between two neighbours in every dimension, so between up to 2^rank elements, most of
 * which have weight 0. Bit k of `corner` selects the high neighbour in dimension k. */
__global__ void resize_kernel(struct kernels_resize r, const struct kernels_tap *taps,
                              const float *x, float *y, int64_t count) {
    EACH(i, count) {
        const struct kernels_tap *chosen[KERNELS_RANK];
        int64_t rest = i;
        for (int k = r.rank - 1; k >= 0; k--) {
            chosen[k] = &taps[r.first[k] + rest % r.dims[k]];
            rest /= r.dims[k];
        }
        float sum = 0;
        for (unsigned corner = 0; corner < 1u << r.rank; corner++) {
            float weight = 1;
            int64_t at = 0;
            for (int k = 0; k < r.rank; k++) {
                bool is_high = corner >> k & 1;
                weight *= is_high ? chosen[k]->weight : 1 - chosen[k]->weight;
                at += is_high ? chosen[k]->high : chosen[k]->low;
            }
            sum += weight != 0 ? weight * x[at] : 0;
        }
        y[i] = sum;
    }
}

int kernels_run_resize(const struct kernels_resize *r, const struct kernels_tap *taps,
                       const float *x, float *y, void *stream) {
    int64_t count = count_of(r->rank, r->dims);
    return start(stream, blocks_for(count), resize_kernel, *r, taps, x, y, count);
}
