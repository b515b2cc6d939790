// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/preprocess.h"

#include "agent/data/image/pixels.h"
#include "agent/data/image/scale.h"

#include <assert.h>
#include <string.h>

#define FIELD "scorer.onnx.preprocess."

static const char *const range_names[] = {"Byte", "Unit", "Signed", "ImageNet"};
static_assert(ARRAY_LEN(range_names) == RANGE_COUNT, "one name per range");

int preprocess_range_find(const char *name) {
    for (int i = 0; i < RANGE_COUNT; i++) {
        if (strcmp(name, range_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* is_optional: a missing one is 0. */
static int read_side(const json_t *spec, const char *path, bool is_optional, int *ret_side,
                     struct error *err) {
    bool is_absent = is_optional && !tree_get(spec, path);
    int64_t side = is_absent ? 0 : tree_integer(spec, path, -1);
    if (side < !is_absent || side > MEDIA_SIDE_MAX) {
        return error_set(err, ERROR_INVALID, "spec.%s is not an integer of 1 to %d", path,
                         MEDIA_SIDE_MAX);
    }
    *ret_side = (int)side;
    return 0;
}

int preprocess_read(const json_t *spec, struct preprocess *ret_preprocess, struct error *err) {
    struct preprocess preprocess = {0};
    const char *color = tree_text(spec, FIELD "color", "");
    const char *range_name = tree_text(spec, FIELD "range", "");
    int range = preprocess_range_find(range_name);
    if (read_side(spec, FIELD "width", true, &preprocess.width, err) < 0 ||
        read_side(spec, FIELD "height", true, &preprocess.height, err) < 0 ||
        read_side(spec, FIELD "multipleOf", false, &preprocess.multiple_of, err) < 0) {
        return -1;
    }
    if (strcmp(color, "RGB") != 0 && strcmp(color, "BGR") != 0) {
        return error_set(err, ERROR_INVALID, "spec." FIELD "color is '%.40s', expected RGB or BGR",
                         color);
    }
    if (range < 0) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "range is '%.40s', expected Byte, Unit, Signed or ImageNet",
                         range_name);
    }
    preprocess.is_bgr = *color == 'B';
    preprocess.range = (enum preprocess_range)range;
    *ret_preprocess = preprocess;
    return 0;
}

/* side * wanted_other / other, rounded, at least 1. */
static int64_t in_proportion(int side, int wanted_other, int other) {
    return MAX(((int64_t)side * wanted_other * 2 + other) / (2 * (int64_t)other), 1);
}

static int64_t round_up(int64_t value, int multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

int preprocess_measure(const struct preprocess *preprocess, int width, int height,
                       struct preprocess_size *ret_size, struct error *err) {
    int64_t to_width = preprocess->width    ? preprocess->width
                       : preprocess->height ? in_proportion(width, preprocess->height, height)
                                            : width;
    int64_t to_height = preprocess->height  ? preprocess->height
                        : preprocess->width ? in_proportion(height, preprocess->width, width)
                                            : height;
    int64_t padded_width = round_up(to_width, preprocess->multiple_of);
    int64_t padded_height = round_up(to_height, preprocess->multiple_of);
    if (padded_width > MEDIA_SIDE_MAX || padded_height > MEDIA_SIDE_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.preprocess makes %lldx%lld of a picture of %dx%d, at "
                         "most %d pixels a side are supported",
                         (long long)padded_width, (long long)padded_height, width, height,
                         MEDIA_SIDE_MAX);
    }
    *ret_size = (struct preprocess_size){(int)to_width, (int)to_height, (int)padded_width,
                                         (int)padded_height};
    return 0;
}

/* Factors of value * scale + shift for a byte of one channel (0 red, 1 green, 2 blue). */
static void channel_scale(enum preprocess_range range, int channel, float *ret_scale,
                          float *ret_shift) {
    static const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
    switch (range) {
    case RANGE_UNIT:
        *ret_scale = 1 / 255.0f;
        *ret_shift = 0;
        break;
    case RANGE_SIGNED:
        *ret_scale = 2 / 255.0f;
        *ret_shift = -1;
        break;
    case RANGE_IMAGENET:
        *ret_scale = 1 / 255.0f / deviation[channel];
        *ret_shift = -mean[channel] / deviation[channel];
        break;
    default:
        *ret_scale = 1;
        *ret_shift = 0;
    }
}

/* Rows and columns beyond the picture repeat its edge. */
static void fill_planes(const struct picture *picture, const struct preprocess *preprocess,
                        const struct preprocess_size *size, float *tensor) {
    float scale[3], shift[3];
    for (int channel = 0; channel < 3; channel++) {
        channel_scale(preprocess->range, channel, &scale[channel], &shift[channel]);
    }
    size_t stride = (size_t)size->padded_width, plane = stride * (size_t)size->padded_height;
    for (int y = 0; y < size->padded_height; y++) {
        size_t from_y = (size_t)MIN(y, picture->height - 1);
        float *to = tensor + (size_t)y * stride;
        float *rows[3] = {to, to + plane, to + 2 * plane};
        if (preprocess->is_bgr) {
            rows[0] = to + 2 * plane;
            rows[2] = to;
        }
        pixels_to_planes(picture->pixels + from_y * 3 * (size_t)picture->width, picture->width,
                         scale, shift, rows);
        for (int channel = 0; channel < 3; channel++) {
            for (int x = picture->width; x < size->padded_width; x++) {
                rows[channel][x] = rows[channel][picture->width - 1];
            }
        }
    }
}

void preprocess_fill(const struct preprocess *preprocess, const struct picture *picture,
                     const struct preprocess_size *size, float *tensor) {
    struct picture scaled = {0};
    if (picture->width != size->width || picture->height != size->height) {
        scale_picture(picture, size->width, size->height, &scaled);
        picture = &scaled;
    }
    fill_planes(picture, preprocess, size, tensor);
    picture_release(&scaled);
}

void preprocess_fill_bytes(const struct picture *picture, const struct preprocess_size *size,
                           uint8_t *bytes) {
    struct picture scaled = {0};
    if (picture->width != size->width || picture->height != size->height) {
        scale_picture(picture, size->width, size->height, &scaled);
        picture = &scaled;
    }
    size_t row_bytes = 3 * (size_t)picture->width, stride = 3 * (size_t)size->padded_width;
    for (int y = 0; y < size->padded_height; y++) {
        uint8_t *to = bytes + (size_t)y * stride;
        memcpy(to, picture->pixels + (size_t)MIN(y, picture->height - 1) * row_bytes, row_bytes);
        for (size_t at = row_bytes; at < stride; at++) {
            to[at] = to[at - 3];
        }
    }
    picture_release(&scaled);
}

struct pixel_conversion preprocess_bytes(const struct preprocess *preprocess) {
    struct pixel_conversion bytes = {.is_bgr = preprocess->is_bgr};
    for (int plane = 0; plane < 3; plane++) {
        int channel = preprocess->is_bgr ? 2 - plane : plane;
        channel_scale(preprocess->range, channel, &bytes.scale[plane], &bytes.shift[plane]);
    }
    return bytes;
}
