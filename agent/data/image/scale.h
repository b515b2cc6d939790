/* scale.h: resizes decoded images (struct picture). Triangle filter (bilinear when enlarging, an
 * average over the covered area when shrinking, so that video does not flicker), separable, with
 * repeated edges. */
#pragma once

#include "agent/data/image/picture.h"

/* Initialises *ret_picture, which the caller releases. width, height: 1..MEDIA_SIDE_MAX. */
void scale_picture(const struct picture *picture, int width, int height,
                   struct picture *ret_picture);
