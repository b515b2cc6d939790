/* image_jpeg.h: JPEG by libjpeg-turbo; see image.h. */
#pragma once

#include "agent/data/picture.h"

NODISCARD int image_jpeg_decode(const void *bytes, size_t size, struct picture *ret_picture,
                                struct error *err);
NODISCARD int image_jpeg_encode(const struct picture *picture, uint8_t **ret_bytes,
                                size_t *ret_size, struct error *err);
