// SPDX-License-Identifier: Apache-2.0
/* Converts images of bytes to floats and back; one thread per pixel. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_bytes.h"

#define OF_TYPE(type, CALL) ((type) == KERNELS_BFLOAT16 ? CALL(__nv_bfloat16) : CALL(__half))

__global__ void planes_from_bytes_kernel(struct kernels_bytes b, const uint8_t *x, float *y) {
    EACH(i, b.n * b.pixels) {
        int64_t n = i / b.pixels, pixel = i % b.pixels;
        for (int k = 0; k < 3; k++) {
            int from = b.is_bgr ? 2 - k : k;
            y[(n * 3 + k) * b.pixels + pixel] = x[i * 3 + from] * b.scale[k] + b.shift[k];
        }
    }
}

template <class T>
__global__ void channels_last_from_bytes_kernel(struct kernels_bytes b, const uint8_t *x, T *y) {
    EACH(i, b.n * b.pixels) {
        struct lanes<T> out;
        for (int k = 0; k < KERNELS_LANES; k++) {
            int from = b.is_bgr ? 2 - k : k;
            put(&out.at[k], k < 3 ? x[i * 3 + from] * b.scale[k] + b.shift[k] : 0);
        }
        ((struct lanes<T> *)y)[i] = out;
    }
}

int kernels_run_from_bytes(const struct kernels_bytes *b, const uint8_t *x, void *y, void *stream) {
    int64_t blocks = blocks_for(b->n * b->pixels);
#define FROM_BYTES(type)                                                                           \
    start(stream, blocks, channels_last_from_bytes_kernel<type>, *b, x, (type *)y)
    return b->type == KERNELS_FLOAT32
               ? start(stream, blocks, planes_from_bytes_kernel, *b, x, (float *)y)
               : OF_TYPE(b->type, FROM_BYTES);
}

/* The byte of pixel i. A NaN gives 0 and raises its row's entry of bad (NULL: none) to the number
 * of pixels from it to the end of the row. */
static __device__ __forceinline__ uint8_t byte_of(float value, const struct kernels_bytes *b,
                                                  int64_t i, int32_t *bad) {
    if (value != value) {
        if (bad) {
            atomicMax(&bad[i / b->width], (int32_t)(b->width - i % b->width));
        }
        return 0;
    }
    return (uint8_t)clip(value, 0, 255);
}

/* Elements between two pixels, two planes and two images of x. */
struct strides {
    int64_t pixel, plane, image;
};

template <class T>
__global__ void to_bytes_kernel(struct kernels_bytes b, const T *x, struct strides strides,
                                uint8_t *y, int32_t *bad) {
    EACH(i, b.n * b.pixels) {
        int64_t n = i / b.pixels, pixel = i % b.pixels;
        const T *from = x + n * strides.image + pixel * strides.pixel;
        for (int k = 0; k < 3; k++) {
            float value = get(from[k * strides.plane]) * b.scale[k] + b.shift[k];
            y[i * 3 + (b.is_bgr ? 2 - k : k)] = byte_of(value, &b, i, bad);
        }
    }
}

int kernels_run_to_bytes(const struct kernels_bytes *b, const void *x, uint8_t *y, int32_t *bad,
                         void *stream) {
    int64_t blocks = blocks_for(b->n * b->pixels);
    const struct strides planes = {1, b->pixels, 3 * b->pixels};
    const struct strides channels_last = {KERNELS_LANES, 1, KERNELS_LANES * b->pixels};
#define TO_BYTES(type)                                                                             \
    start(stream, blocks, to_bytes_kernel<type>, *b, (const type *)x, channels_last, y, bad)
    return b->type == KERNELS_FLOAT32
               ? start(stream, blocks, to_bytes_kernel<float>, *b, (const float *)x, planes, y, bad)
               : OF_TYPE(b->type, TO_BYTES);
}
