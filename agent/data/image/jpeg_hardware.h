/* jpeg_hardware.h: decodes JPEG files with nvJPEG, loaded at run time (nvjpeg_library.h), in
 * workers that have GPUs (hardware.h). libjpeg-turbo decodes all other files: those that are not
 * complete grey or YCbCr pictures of 8 bits (jpeg_outline.h), those with more than
 * JPEG_HARDWARE_PIXELS, and every file for which nvJPEG reports an error, so that error messages
 * are always libjpeg-turbo's.
 *
 * nvJPEG's bytes differ from libjpeg-turbo's: the two round the cosine transform and the colours
 * differently, and interpolate subsampled chroma differently. The first grey and the first colour
 * picture are decoded by both, and nvJPEG is not used any more if the two differ by more than the
 * limits below. */
#pragma once

#include "agent/data/image/picture.h"

enum {
    JPEG_HARDWARE_PIXELS = 1 << 25, /* 100 MB on the GPU */
    JPEG_HARDWARE_BYTE_MAX = 4,     /* of each byte, for grey pictures and chroma that is not
                                       subsampled */
    JPEG_HARDWARE_MEAN_MAX = 3,     /* otherwise: of the mean over all bytes */
};

struct jpeg_hardware;

/* nvJPEG is loaded when the first JPEG file is decoded, not here. NULL: this
 * process should not decode on a GPU (hardware.h). For one thread at a time. */
struct jpeg_hardware *jpeg_hardware_new(void);
/* Logs how many pictures it decoded. */
void jpeg_hardware_free(struct jpeg_hardware *hardware);
/* Like image_decode, but returns false if the processor has to decode the file; always false if
 * hardware is NULL. name: the file's, for the log. Calls may come from different threads, but not
 * at the same time. */
bool jpeg_hardware_decode(struct jpeg_hardware *hardware, const char *name, const void *bytes,
                          size_t size, struct picture *ret_picture);
/* Whether two decoded pictures of one file differ by no more than the limits. */
bool jpeg_hardware_is_near(const struct picture *one, const struct picture *other,
                           bool is_subsampled);
