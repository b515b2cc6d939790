/* jpeg_hardware.h: JPEG files by nvJPEG, found at run time (nvjpeg_library.h), for workers that
 * have GPUs (hardware.h). libjpeg-turbo decodes all other files: any but whole grey and YCbCr
 * pictures of 8 bits (jpeg_outline.h), more than JPEG_HARDWARE_PIXELS, and every file that nvJPEG
 * reports an error for, so that error messages are always libjpeg-turbo's.
 *
 * Its bytes are not the processor's: each rounds the cosine transform and the colours its own way,
 * and, where chroma has fewer samples, puts its own values between them. The first picture of each
 * (grey, colours) is decoded by both, and nvJPEG is left for good if the two differ by more than is
 * allowed below. */
#pragma once

#include "agent/data/image/picture.h"

enum {
    JPEG_HARDWARE_PIXELS = 1 << 25, /* 100 MB on the GPU */
    JPEG_HARDWARE_BYTE_MAX = 4,     /* each byte, where every pixel has its own chroma, or none */
    JPEG_HARDWARE_MEAN_MAX = 3,     /* else: the mean over all bytes */
};

struct jpeg_hardware;

/* Nothing is opened or said before the first JPEG file. NULL: not wanted here. For one thread. */
struct jpeg_hardware *jpeg_hardware_new(void);
/* Says how many it decoded. */
void jpeg_hardware_free(struct jpeg_hardware *hardware);
/* As image_decode, but false: the processor has to (so, too, where hardware is NULL). name: of the
 * file, for the log. Called from another thread than before is fine, at the same time is not. */
bool jpeg_hardware_decode(struct jpeg_hardware *hardware, const char *name, const void *bytes,
                          size_t size, struct picture *ret_picture);
/* Whether two pictures of one file are as near as is allowed. */
bool jpeg_hardware_is_near(const struct picture *one, const struct picture *other,
                           bool is_subsampled);
