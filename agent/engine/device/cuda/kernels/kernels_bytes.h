/* kernels_bytes.h: pictures of bytes [n, pixels, 3] to and from floats (bytes.cu;
 * agent/engine/ops/bytes.h says what is made of what). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernels_bytes {
    enum kernels_float type;  /* FLOAT32: plain, [n, 3, pixels]; else last, of one group of lanes */
    int64_t n, pixels, width; /* pixels: of a picture; width: of a row */
    float scale[3], shift[3];
    int is_turned;
};
int kernels_run_from_bytes(const struct kernels_bytes *bytes, const uint8_t *x, void *y,
                           void *stream);
/* bad: [n, pixels / width], zeroed before; or NULL. */
int kernels_run_to_bytes(const struct kernels_bytes *bytes, const void *x, uint8_t *y, int32_t *bad,
                         void *stream);

#ifdef __cplusplus
}
#endif
