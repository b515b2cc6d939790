/* picture.h: a decoded image in memory (struct picture), 8-bit RGB, and operations that need no
 * library. image.h has image files. */
#pragma once

#include "lib/error.h"

enum {
    MEDIA_SIDE_MAX = 16384,     /* pixels; wider or higher pictures are refused */
    MEDIA_PIXELS_MAX = 1 << 27, /* pictures with more pixels (134 million) are refused, too */
};

/* Rows are packed (stride = 3 * width). */
struct picture {
    int width, height; /* pixels */
    uint8_t *pixels;   /* owned: 3 * width * height bytes; NULL in an empty picture */
    /* The three bytes of each pixel are equal: a PNG of it has one channel. Set by who fills it;
     * the functions below and in scale.h do not pass it on. */
    bool is_grey;
};
void picture_init(struct picture *picture, int width, int height); /* pixels are uninitialised */
void picture_release(struct picture *picture);                     /* for AUTO, too */
/* The caller releases the copy. */
void picture_copy(const struct picture *picture, struct picture *ret_copy);

/* INVALID unless width and height are positive and within the limits above. */
NODISCARD int picture_check_size(int64_t width, int64_t height, struct error *err);

/* Sets *ret_padded to a copy that is at least as wide and high (assert), which the caller releases;
 * the new right and lower parts repeat the edge's pixels. */
void picture_pad(const struct picture *picture, int width, int height, struct picture *ret_padded);

/* Rotates and flips the picture as an EXIF orientation (1..8) says; other values change nothing. */
void picture_orient(struct picture *picture, int orientation);
