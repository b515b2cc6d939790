/* resize.h: a picture in another size, by a triangle filter that widens when it shrinks (what
 * Pillow, and so most training code, calls bilinear with antialiasing). */
#pragma once

#include "agent/data/picture.h"

/* *ret_picture: a new picture of that size (a copy when the size is the same). */
void picture_resize(const struct picture *picture, int width, int height,
                    struct picture *ret_picture);
