/* packed_weights.h: weights in the layout of a kernel, made once and kept in the device. The key is
 * the address of a lasting constant, the address of the scale that was multiplied in, and the
 * layout. */
#pragma once

#include "agent/engine/device/kernel.h"

struct gpu;
struct packed;

struct packing {
    const float *weights, *bias; /* [m, rest], [m] or NULL; the key */
    const float *scale, *shift;  /* [m] or NULL: the result is (w x + bias) * scale + shift */
    const void *scale_key;       /* the key for scale and shift */
    int64_t m, c, taps;          /* rest is [c, taps] */
    bool is_channels_last;       /* [m rounded up, taps, c rounded up], of the device's type */
    bool is_turned;              /* weights are [c, m] (taps is 1) */
    bool is_depthwise;           /* c is 1: [taps, m rounded up], float32 */
};
/* *ret_weights is in the layout above. *ret_bias is float32 [m]; if is_channels_last, m is rounded
 * up and the same numbers follow in the device's type. Both are in device memory that the device
 * owns. */
NODISCARD int packed_weights_get(struct gpu *gpu, const struct packing *pack, void **ret_weights,
                                 void **ret_bias, struct error *err);
void packed_weights_free(struct gpu *gpu);
/* A number in the device's 16-bit type, rounded to nearest even. */
uint16_t packed_weights_number(const struct gpu *gpu, float value);
