// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/paint.h"

enum { WIDTH_PART = 200, WIDTH_MIN = 2 };

struct paint_colour paint_class_colour(int64_t class) {
    static const struct paint_colour colours[] = {
        {230, 25, 75},  {60, 180, 75},  {0, 130, 200},  {245, 130, 48}, {145, 30, 180},
        {70, 240, 240}, {240, 50, 230}, {210, 245, 60}, {0, 128, 128},  {170, 110, 40},
        {128, 0, 0},    {128, 128, 0},  {0, 0, 128},    {255, 225, 25}, {250, 190, 190},
    };
    return colours[(uint64_t) class % ARRAY_LEN(colours)];
}

static void fill(struct picture *picture, int left, int top, int right, int bottom,
                 struct paint_colour colour) {
    for (int y = MAX(top, 0); y < MIN(bottom, picture->height); y++) {
        for (int x = MAX(left, 0); x < MIN(right, picture->width); x++) {
            uint8_t *pixel = picture->pixels + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
            pixel[0] = colour.red;
            pixel[1] = colour.green;
            pixel[2] = colour.blue;
        }
    }
}

void paint_frame(struct picture *picture, int left, int top, int right, int bottom,
                 struct paint_colour colour) {
    int width = MAX(MAX(picture->width, picture->height) / WIDTH_PART, WIDTH_MIN);
    fill(picture, left, top, right, MIN(top + width, bottom), colour);
    fill(picture, left, MAX(bottom - width, top), right, bottom, colour);
    fill(picture, left, top, MIN(left + width, right), bottom, colour);
    fill(picture, MAX(right - width, left), top, right, bottom, colour);
}
