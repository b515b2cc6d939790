// SPDX-License-Identifier: Apache-2.0
/* Batch normalization in training form, and its gradient, in three passes: two sums per channel
 * over pieces of the batch; per channel, the sum of the pieces and the factors; all elements. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_train.h"

enum { PIECE_LEAST = 2048, BLOCKS_WANTED = 1024, ROWS_LEAST = 256, CHUNKS_MOST = 512 };

/* The numbers of a channel that the last pass reads. Forward: y = (x - mean) * factor + base.
 * Backward: dx = factor * (dy - base - (x - mean) * slope). */
struct factors {
    double mean, factor, base, slope;
};

/* ---- plain ---------------------------------------------------------------------------------- */

/* The number of pieces per channel. Piece i begins at element count * i / pieces of `count`. */
static int64_t pieces_of(const struct kernels_batch_norm *b) {
    int64_t count = b->nhwc.n * b->nhwc.pixels, channels = b->nhwc.channels;
    int64_t most = count / PIECE_LEAST, wanted = BLOCKS_WANTED / (channels < 1 ? 1 : channels);
    int64_t pieces = most < wanted ? most : wanted;
    return pieces < 1 ? 1 : pieces;
}

/* The index of element i of channel c in the batch. */
static __device__ int64_t place_of(const struct kernels_channels_last &l, int64_t c, int64_t i) {
    return (i / l.pixels * l.channels + c) * l.pixels + i % l.pixels;
}

/* One block per piece of a channel. Forward: the mean of the piece and the sum of squared
 * deviations from it. Backward: the sums of dy and of dy (x - mean). */
__global__ void sums_kernel(struct kernels_batch_norm b, int64_t pieces, double *partial) {
    int64_t c = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    int64_t count = b.nhwc.n * b.nhwc.pixels;
    int64_t first = count * piece / pieces, last = count * (piece + 1) / pieces;
    const float *x = (const float *)b.x, *dy = (const float *)b.dy;
    double sum = 0, second = 0, mean = dy && x ? (double)b.mean[c] : 0;
    for (int64_t i = first + threadIdx.x; i < last; i += THREADS) {
        int64_t at = place_of(b.nhwc, c, i);
        sum += dy ? dy[at] : x[at];
        second += dy && x ? dy[at] * (x[at] - mean) : 0;
    }
    sum = block_join(sum, add_up());
    if (dy) {
        second = block_join(second, add_up());
    } else {
        sum /= (double)(last > first ? last - first : 1);
        for (int64_t i = first + threadIdx.x; i < last; i += THREADS) {
            double deviation = x[place_of(b.nhwc, c, i)] - sum;
            second += deviation * deviation;
        }
        second = block_join(second, add_up());
    }
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = sum;
        partial[2 * blockIdx.x + 1] = second;
    }
}

static __device__ void set_forward(const struct kernels_batch_norm &b, struct factors *factors,
                                   int64_t c, double mean, double variance) {
    b.mean[c] = (float)mean;
    b.variance[c] = (float)variance;
    factors[c] = {mean, b.scale[c] / sqrt(variance + b.epsilon), (double)b.shift[c], 0};
}

/* sum: of dy; product: the sum of dy (x - mean). */
static __device__ void set_backward(const struct kernels_batch_norm &b, struct factors *factors,
                                    int64_t c, double sum, double product) {
    b.dshift[c] = (float)sum;
    if (b.x) {
        double inverse = 1 / sqrt((double)b.variance[c] + b.epsilon);
        double count = b.is_fixed ? INFINITY : (double)(b.nhwc.n * b.nhwc.pixels);
        b.dscale[c] = (float)(product * inverse);
        factors[c] = {(double)b.mean[c], b.scale[c] * inverse, sum / count,
                      product * inverse * inverse / count};
    }
}

__global__ void join_kernel(struct kernels_batch_norm b, int64_t pieces, const double *partial,
                            struct factors *factors) {
    int64_t count = b.nhwc.n * b.nhwc.pixels;
    EACH(c, b.nhwc.channels) {
        const double *from = partial + 2 * c * pieces;
        double first = 0, second = 0;
        for (int64_t i = 0; i < pieces; i++) {
            double size = (double)(count * (i + 1) / pieces - count * i / pieces);
            first += b.dy ? from[2 * i] : from[2 * i] * size;
            second += from[2 * i + 1];
        }
        if (b.dy) {
            set_backward(b, factors, c, first, second);
            continue;
        }
        double mean = first / (double)count;
        for (int64_t i = 0; i < pieces; i++) {
            double size = (double)(count * (i + 1) / pieces - count * i / pieces);
            second += size * (from[2 * i] - mean) * (from[2 * i] - mean);
        }
        set_forward(b, factors, c, mean, second / (double)count);
    }
}

__global__ void norm_all_kernel(struct kernels_batch_norm b, const struct factors *factors) {
    const float *x = (const float *)b.x, *dy = (const float *)b.dy;
    float *y = (float *)b.y;
    EACH(i, b.nhwc.n * b.nhwc.channels * b.nhwc.pixels) {
        struct factors f = factors[i / b.nhwc.pixels % b.nhwc.channels];
        double deviation = x[i] - f.mean;
        double value = dy ? f.factor * (dy[i] - f.base - deviation * f.slope)
                          : deviation * f.factor + f.base;
        y[i] = (float)value;
    }
}

static int run_plain(const struct kernels_batch_norm *b, void *stream) {
    int64_t pieces = pieces_of(b), channels = b->nhwc.channels;
    struct factors *factors = (struct factors *)b->scratch;
    double *partial = (double *)(factors + channels);
    int result = start(stream, channels * pieces, sums_kernel, *b, pieces, partial);
    result = result != cudaSuccess
                 ? result
                 : start(stream, blocks_for(channels), join_kernel, *b, pieces, partial, factors);
    return result != cudaSuccess || !b->x
               ? result
               : start(stream, blocks_for(b->nhwc.n * channels * b->nhwc.pixels), norm_all_kernel,
                       *b, factors);
}

/* ---- channels last -------------------------------------------------------------------------- */

static int64_t chunks_of(const struct kernels_batch_norm *b) {
    int64_t chunks = b->nhwc.n * b->nhwc.pixels / ROWS_LEAST;
    return chunks < 1 ? 1 : chunks < CHUNKS_MOST ? chunks : (int64_t)CHUNKS_MOST;
}

/* One block sums a chunk of the pixels for up to 32 groups of KERNELS_LANES channels, with `rows`
 * threads per group. Forward: the sums of x - origin and of its square, where origin is the first
 * pixel of the batch; this avoids cancellation where the mean is large and the deviation small. */
template <class T>
__global__ void sums_channels_last_kernel(struct kernels_batch_norm b, int64_t chunks, int columns,
                                          int bases, float *partial) {
    __shared__ float shared[THREADS][2 * KERNELS_LANES];
    int groups = b.nhwc.pitch / KERNELS_LANES;
    int rows = THREADS / columns, column = threadIdx.x % columns, row = threadIdx.x / columns;
    int64_t chunk = blockIdx.x / bases, base = blockIdx.x % bases * columns, group = base + column;
    int64_t pixels = b.nhwc.n * b.nhwc.pixels;
    int64_t first = pixels * chunk / chunks, last = pixels * (chunk + 1) / chunks;
    bool has_work = group < groups && row < rows;
    const struct lanes<T> *x = (const struct lanes<T> *)b.x;
    const struct lanes<T> *dy = (const struct lanes<T> *)b.dy;
    float origins[KERNELS_LANES] = {}, sums[2 * KERNELS_LANES] = {};
    for (int k = 0; k < KERNELS_LANES && has_work && x; k++) {
        int64_t c = group * KERNELS_LANES + k;
        origins[k] = !dy ? get(x[group].at[k]) : c < b.nhwc.channels ? b.mean[c] : 0;
    }
    for (int64_t pixel = first + row; has_work && pixel < last; pixel += rows) {
        struct lanes<T> in = {}, from = {};
        if (x) {
            in = x[pixel * groups + group];
        }
        if (dy) {
            from = dy[pixel * groups + group];
        }
        for (int k = 0; k < KERNELS_LANES; k++) {
            float deviation = get(in.at[k]) - origins[k], weight = dy ? get(from.at[k]) : deviation;
            sums[k] += weight;
            sums[KERNELS_LANES + k] += weight * deviation;
        }
    }
    add_rows(shared, sums, rows, columns, base, groups, partial + chunk * b.nhwc.pitch * 2);
}

/* One block per channel. */
template <class T>
__global__ void join_channels_last_kernel(struct kernels_batch_norm b, int64_t chunks,
                                          const float *partial, struct factors *factors) {
    double count = (double)(b.nhwc.n * b.nhwc.pixels);
    for (int64_t c = blockIdx.x; c < b.nhwc.channels; c += gridDim.x) {
        double first = 0, second = 0;
        for (int64_t chunk = threadIdx.x; chunk < chunks; chunk += THREADS) {
            const float *from = &partial[(chunk * b.nhwc.pitch + c) * 2];
            first += from[0];
            second += from[1];
        }
        first = block_join(first, add_up());
        second = block_join(second, add_up());
        if (threadIdx.x == 0 && b.dy) {
            set_backward(b, factors, c, first, second);
        } else if (threadIdx.x == 0) {
            double shifted = first / count, variance = second / count - shifted * shifted;
            set_forward(b, factors, c, shifted + get(((const T *)b.x)[c]),
                        variance > 0 ? variance : 0);
        }
    }
}

template <class T>
__global__ void norm_channels_last_kernel(struct kernels_batch_norm b,
                                          const struct factors *factors) {
    int groups = b.nhwc.pitch / KERNELS_LANES;
    EACH(i, b.nhwc.n * b.nhwc.pixels * groups) {
        int64_t group = i % groups;
        struct lanes<T> in = ((const struct lanes<T> *)b.x)[i], from = {}, out;
        if (b.dy) {
            from = ((const struct lanes<T> *)b.dy)[i];
        }
        for (int k = 0; k < KERNELS_LANES; k++) {
            int64_t c = group * KERNELS_LANES + k;
            float value = 0;
            if (c < b.nhwc.channels) {
                struct factors f = factors[c];
                float deviation = get(in.at[k]) - (float)f.mean;
                value = b.dy ? (float)f.factor *
                                   (get(from.at[k]) - (float)f.base - deviation * (float)f.slope)
                             : deviation * (float)f.factor + (float)f.base;
            }
            put(&out.at[k], value);
        }
        ((struct lanes<T> *)b.y)[i] = out;
    }
}

template <class T> static int run_channels_last(const struct kernels_batch_norm *b, void *stream) {
    int groups = b->nhwc.pitch / KERNELS_LANES, columns = groups < 32 ? groups : 32;
    int bases = (groups + columns - 1) / columns;
    int64_t chunks = chunks_of(b), channels = b->nhwc.channels;
    struct factors *factors = (struct factors *)b->scratch;
    float *partial = (float *)(factors + channels);
    int result = start(stream, chunks * bases, sums_channels_last_kernel<T>, *b, chunks, columns,
                       bases, partial);
    result = result != cudaSuccess ? result
                                   : start(stream, channels, join_channels_last_kernel<T>, *b,
                                           chunks, partial, factors);
    return result != cudaSuccess || !b->x
               ? result
               : start(stream, blocks_for(b->nhwc.n * b->nhwc.pixels * groups),
                       norm_channels_last_kernel<T>, *b, factors);
}

size_t kernels_batch_norm_bytes(const struct kernels_batch_norm *b) {
    size_t partial = b->nhwc.type == KERNELS_FLOAT32
                         ? (size_t)(b->nhwc.channels * pieces_of(b)) * 2 * sizeof(double)
                         : (size_t)(b->nhwc.pitch * chunks_of(b)) * 2 * sizeof(float);
    return (size_t)b->nhwc.channels * sizeof(struct factors) + partial;
}

int kernels_run_batch_norm(const struct kernels_batch_norm *b, void *stream) {
    return b->nhwc.type == KERNELS_FLOAT32    ? run_plain(b, stream)
           : b->nhwc.type == KERNELS_BFLOAT16 ? run_channels_last<__nv_bfloat16>(b, stream)
                                              : run_channels_last<__half>(b, stream);
}
