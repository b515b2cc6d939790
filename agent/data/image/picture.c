// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void picture_init(struct picture *picture, int width, int height) {
    assert(width > 0 && height > 0);
    picture->width = width;
    picture->height = height;
    picture->pixels = x_malloc(3 * (size_t)width * (size_t)height);
    picture->is_grey = false;
}

void picture_release(struct picture *picture) {
    free(picture->pixels);
    *picture = (struct picture){0};
}

void picture_copy(const struct picture *picture, struct picture *ret_copy) {
    picture_init(ret_copy, picture->width, picture->height);
    memcpy(ret_copy->pixels, picture->pixels, 3 * (size_t)picture->width * (size_t)picture->height);
}

int picture_check_size(int64_t width, int64_t height, struct error *err) {
    if (width < 1 || height < 1 || width > MEDIA_SIDE_MAX || height > MEDIA_SIDE_MAX ||
        width * height > MEDIA_PIXELS_MAX) {
        return error_set(err, ERROR_INVALID,
                         "is %lldx%lld pixels, at most %dx%d and %d pixels in all can be read",
                         (long long)width, (long long)height, MEDIA_SIDE_MAX, MEDIA_SIDE_MAX,
                         MEDIA_PIXELS_MAX);
    }
    return 0;
}

void picture_pad(const struct picture *picture, int width, int height, struct picture *ret_padded) {
    assert(width >= picture->width && height >= picture->height);
    picture_init(ret_padded, width, height);
    size_t from = 3 * (size_t)picture->width, to = 3 * (size_t)width;
    for (int y = 0; y < height; y++) {
        uint8_t *row = ret_padded->pixels + (size_t)y * to;
        memcpy(row, picture->pixels + (size_t)MIN(y, picture->height - 1) * from, from);
        for (size_t x = from; x < to; x += 3) {
            memcpy(row + x, row + from - 3, 3);
        }
    }
}

void picture_orient(struct picture *picture, int orientation) {
    if (orientation < 2 || orientation > 8) {
        return;
    }
    /* 5..8 swap the axes; the tables say which of the source's axes are reversed. */
    static const bool flip_x[] = {[2] = 1, [3] = 1, [7] = 1, [8] = 1};
    static const bool flip_y[] = {[3] = 1, [4] = 1, [6] = 1, [7] = 1, [8] = 0};
    bool is_turned = orientation >= 5;
    int width = picture->width, height = picture->height;
    struct picture upright;
    picture_init(&upright, is_turned ? height : width, is_turned ? width : height);
    uint8_t *to = upright.pixels;
    for (int y = 0; y < upright.height; y++) {
        for (int x = 0; x < upright.width; x++, to += 3) {
            int from_x = is_turned ? y : x, from_y = is_turned ? x : y;
            from_x = flip_x[orientation] ? width - 1 - from_x : from_x;
            from_y = flip_y[orientation] ? height - 1 - from_y : from_y;
            memcpy(to, picture->pixels + 3 * ((size_t)from_y * (size_t)width + (size_t)from_x), 3);
        }
    }
    picture_release(picture);
    *picture = upright;
}
