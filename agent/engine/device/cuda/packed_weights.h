/* packed_weights.h: weights in the layout that kernels want, made once and kept in the device: by
 * the address of a lasting constant, that of what was multiplied in, and the layout. */
#pragma once

#include "agent/engine/device/kernel.h"

struct gpu;
struct packed;

struct packing {
    const float *weights, *bias; /* [m, rest], [m] or NULL; the key */
    const float *scale, *shift;  /* [m] or NULL: the result is (w x + bias) * scale + shift ... */
    const void *scale_key;       /* ... and lasts with this */
    int64_t m, c, taps;          /* rest is [c, taps] */
    bool is_last;                /* [m rounded up, taps, c rounded up], of the device's type */
    bool is_turned;              /* weights are [c, m] (taps is 1) */
    bool is_depthwise;           /* c is 1: [taps, m rounded up], float32 */
};
/* *ret_weights as said, *ret_bias float32 of m (rounded up when last, and the same again in the
 * device's type behind it), both in device memory of the device's. */
NODISCARD int packed_weights_get(struct gpu *gpu, const struct packing *pack, void **ret_weights,
                                 void **ret_bias, struct error *err);
void packed_weights_free(struct gpu *gpu);
/* A number as two bytes of the type, rounded to nearest even. */
uint16_t packed_weights_number(const struct gpu *gpu, float value);
