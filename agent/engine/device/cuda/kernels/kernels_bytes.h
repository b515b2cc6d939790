/* kernels_bytes.h: launches the CUDA kernels that convert 8-bit pixels [n, pixels, 3] to floats and
 * back (bytes.cu). The formulas are in agent/engine/ops/bytes.h. kernels.h
 * explains pointers, streams and results. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernels_bytes {
    enum kernels_float type;  /* of the floats. FLOAT32: [n, 3, pixels]; else [n, pixels,
                                  KERNELS_LANES], of which the first 3 are channels */
    int64_t n, pixels, width; /* pixels of a sample, of one of its rows */
    float scale[3], shift[3];
    int is_bgr; /* bytes are in the order B, G, R */
};
int kernels_run_from_bytes(const struct kernels_bytes *bytes, const uint8_t *x, void *y,
                           void *stream);
/* bad: [n, height], zeroed by the caller: for each row, the number of pixels from its first NaN to
 * its end. NULL: not computed. */
int kernels_run_to_bytes(const struct kernels_bytes *bytes, const void *x, uint8_t *y, int32_t *bad,
                         void *stream);

#ifdef __cplusplus
}
#endif
