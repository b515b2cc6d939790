/* picture.h: one picture in memory, 8-bit RGB, and what is done to pictures without a library. */
#pragma once

#include "lib/error.h"

enum {
    MEDIA_SIDE_MAX = 16384,     /* pixels: wider or higher pictures are refused */
    MEDIA_PIXELS_MAX = 1 << 27, /* and so are those of more pixels than this (134 million) */
};

/* Rows are packed (stride = 3 * width). */
struct picture {
    int width, height; /* pixels */
    uint8_t *pixels;   /* owned: 3 * width * height bytes; NULL in an empty picture */
};
void picture_init(struct picture *picture, int width, int height); /* pixels: not set */
void picture_release(struct picture *picture);                     /* for AUTO, too */

/* Whether such a picture may be made: both sides positive and within the limits above. */
NODISCARD int picture_check_size(int64_t width, int64_t height, struct error *err);

/* *ret_padded becomes a larger copy, its new right and lower part filled with the edge's pixels.
 */
void picture_pad(const struct picture *picture, int width, int height, struct picture *ret_padded);

/* Turns the picture as an EXIF orientation (1..8) asks for; others leave it alone. */
void picture_orient(struct picture *picture, int orientation);
