/* scale.h: pictures in another size. Triangle filter (bilinear when enlarging, an average over the
 * covered area when shrinking, so that nothing flickers), separable, edges repeated. */
#pragma once

#include "agent/data/image/picture.h"

/* *ret_picture is initialised here and the caller's to release. width, height: 1..MEDIA_SIDE_MAX.
 */
void scale_picture(const struct picture *picture, int width, int height,
                   struct picture *ret_picture);
