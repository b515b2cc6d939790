/* paint.h: draws results on pictures. Pure. */
#pragma once

#include "agent/data/image/picture.h"

struct paint_colour {
    uint8_t red, green, blue;
};

/* A colour for a class: neighbours differ clearly. */
struct paint_colour paint_class_colour(int64_t class);
/* The outline of a box, from left and top up to but without right and bottom, in pixels; about
 * 1/200 of the picture's longer side wide. What is outside of the picture is left out. */
void paint_frame(struct picture *picture, int left, int top, int right, int bottom,
                 struct paint_colour colour);
