/* kernels_bytes.h: converts pictures of bytes, [n, pixels, 3], to floats and back (bytes.cu). The
 * formulas are in agent/engine/ops/bytes.h. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernels_bytes {
    enum kernels_float type;  /* of the floats. FLOAT32: plain, [n, 3, pixels]; else channels
 last with pitch KERNELS_LANES */
    int64_t n, pixels, width; /* pixels of a picture, of a row */
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
