/* jpeg_tidy.h: JPEG files about which libjpeg warns although their pictures are complete. */
#pragma once

#include "lib/base.h"

/* Copies the file up to its end marker, without what is between the segments of its header, and
 * without the last `padding` bytes before the end marker. Numbers of the header that do not matter
 * get their usual value: JFIF's version, Adobe's transform of colors, and of a scan that is not
 * progressive the range of its coefficients. NULL: those are not all 0x00 or 0xFF, as
 * cameras write them (what is left over of damaged data looks otherwise), or the file is broken.
 * The caller frees. */
uint8_t *jpeg_tidy(const uint8_t *bytes, size_t size, size_t padding, size_t *ret_size);
