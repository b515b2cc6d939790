// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/preprocess.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.preprocess."

static const char *const range_names[] = {"Byte", "Unit", "Signed", "ImageNet"};
static_assert(ARRAY_LEN(range_names) == RANGE_COUNT, "one name per range");

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

/* The index of the field's text among the names; without the field 0. */
static int read_name(const json_t *spec, const char *path, const char *const *names, size_t count,
                     int *ret_index, struct error *err) {
    const char *text = tree_text(spec, path, names[0]);
    char list[96] = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_index = (int)i;
            return 0;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0           ? ""
                 : i + 1 == count ? " or "
                                  : ", ",
                 names[i]);
    }
    return error_set(err, ERROR_INVALID, "spec.%s is '%.40s', expected %s", path, text, list);
}

/* A number, or a text that is one. Anything else: NaN. */
static double read_number(const json_t *value) {
    const char *text = json_string_value(value);
    char *end = NULL;
    double number = text ? strtod(text, &end) : json_number_value(value);
    bool is_number = text ? end != text && !*end : json_is_number(value);
    return is_number ? number : (double)NAN;
}

/* A number for each channel, or one for all of them. */
static int read_channels(const json_t *spec, const char *path, float all, float values[static 3],
                         struct error *err) {
    const json_t *list = tree_get(spec, path);
    size_t count = json_array_size(list);
    if (list && count != 1 && count != 3) {
        return error_set(err, ERROR_INVALID, "spec.%s: one number or three are expected", path);
    }
    for (size_t channel = 0; channel < 3; channel++) {
        values[channel] =
            list ? (float)read_number(json_array_get(list, count == 1 ? 0 : channel)) : all;
    }
    return 0;
}

static int read_means(const json_t *spec, struct preprocess *preprocess, struct error *err) {
    preprocess->has_mean = tree_get(spec, FIELD "mean") || tree_get(spec, FIELD "std");
    if (read_channels(spec, FIELD "mean", 0, preprocess->mean, err) < 0 ||
        read_channels(spec, FIELD "std", 1, preprocess->deviation, err) < 0) {
        return -1;
    }
    for (int channel = 0; channel < 3; channel++) {
        if (!(fabsf(preprocess->mean[channel]) < INFINITY) ||
            !(preprocess->deviation[channel] > 0) || isinf(preprocess->deviation[channel])) {
            return error_set(err, ERROR_INVALID,
                             "spec." FIELD "mean, std: numbers are expected, std above 0");
        }
    }
    return preprocess->has_mean && preprocess->range == RANGE_IMAGENET
               ? error_set(err, ERROR_INVALID,
                           "spec." FIELD "range: ImageNet has a mean and a std of its own; with "
                           "mean or std one of Byte, Unit and Signed is expected")
               : 0;
}

int preprocess_read(const json_t *spec, struct preprocess *ret_preprocess, struct error *err) {
    static const char *const colors[] = {"RGB", "BGR"};
    static const char *const fits[] = {"Stretch", "Pad", "Crop"};
    static const char *const layouts[] = {"Auto", "NCHW", "NHWC"};
    struct preprocess preprocess = {0};
    int color = 0, range = 0, fit = 0, layout = 0;
    int64_t pad = tree_integer(spec, FIELD "padValue", 0);
    if (read_side(spec, FIELD "width", true, &preprocess.width, err) < 0 ||
        read_side(spec, FIELD "height", true, &preprocess.height, err) < 0 ||
        read_side(spec, FIELD "multipleOf", false, &preprocess.multiple_of, err) < 0 ||
        read_name(spec, FIELD "color", colors, ARRAY_LEN(colors), &color, err) < 0 ||
        read_name(spec, FIELD "range", range_names, RANGE_COUNT, &range, err) < 0 ||
        read_name(spec, FIELD "fit", fits, FIT_COUNT, &fit, err) < 0 ||
        read_name(spec, FIELD "layout", layouts, LAYOUT_COUNT, &layout, err) < 0) {
        return -1;
    }
    preprocess.is_bgr = color == 1;
    preprocess.range = (enum preprocess_range)range;
    preprocess.fit = (enum preprocess_fit)fit;
    preprocess.layout = (enum preprocess_layout)layout;
    preprocess.pad_value = (uint8_t)MAX(MIN(pad, 255), 0);
    if (read_means(spec, &preprocess, err) < 0) {
        return -1;
    }
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

/* Pad and Crop: the picture's own size, in proportion within or around width and height. */
static void fit_size(const struct preprocess *preprocess, int width, int height, int64_t *ret_width,
                     int64_t *ret_height) {
    bool is_wider = (int64_t)width * preprocess->height > (int64_t)height * preprocess->width;
    if (is_wider == (preprocess->fit == FIT_PAD)) {
        *ret_width = preprocess->width;
        *ret_height = in_proportion(height, preprocess->width, width);
    } else {
        *ret_width = in_proportion(width, preprocess->height, height);
        *ret_height = preprocess->height;
    }
}

int preprocess_measure(const struct preprocess *preprocess, int width, int height,
                       struct preprocess_size *ret_size, struct error *err) {
    bool is_fitted = preprocess->fit != FIT_STRETCH;
    int64_t to_width = preprocess->width    ? preprocess->width
                       : preprocess->height ? in_proportion(width, preprocess->height, height)
                                            : width;
    int64_t to_height = preprocess->height  ? preprocess->height
                        : preprocess->width ? in_proportion(height, preprocess->width, width)
                                            : height;
    int64_t padded_width = round_up(to_width, preprocess->multiple_of);
    int64_t padded_height = round_up(to_height, preprocess->multiple_of);
    if (is_fitted) {
        fit_size(preprocess, width, height, &to_width, &to_height);
    }
    if (MAX(padded_width, to_width) > MEDIA_SIDE_MAX ||
        MAX(padded_height, to_height) > MEDIA_SIDE_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.preprocess makes %lldx%lld of a picture of %dx%d, at "
                         "most %d pixels a side are supported",
                         (long long)MAX(padded_width, to_width),
                         (long long)MAX(padded_height, to_height), width, height, MEDIA_SIDE_MAX);
    }
    *ret_size = (struct preprocess_size){.width = (int)to_width,
                                         .height = (int)to_height,
                                         .padded_width = (int)padded_width,
                                         .padded_height = (int)padded_height};
    if (is_fitted) { /* an odd pixel goes to the right and below */
        ret_size->left = (int)(padded_width - to_width) / 2;
        ret_size->top = (int)(padded_height - to_height) / 2;
    }
    return 0;
}

void preprocess_scale(const struct preprocess *preprocess, int channel, float *ret_scale,
                      float *ret_shift) {
    static const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
    enum preprocess_range range = preprocess->range;
    float scale = range == RANGE_BYTE ? 1 : range == RANGE_SIGNED ? 2 / 255.0f : 1 / 255.0f;
    float shift = range == RANGE_SIGNED ? -1 : 0;
    bool is_normed = preprocess->has_mean || range == RANGE_IMAGENET;
    const float *means = preprocess->has_mean ? preprocess->mean : mean;
    const float *deviations = preprocess->has_mean ? preprocess->deviation : deviation;
    *ret_scale = is_normed ? scale / deviations[channel] : scale;
    *ret_shift = is_normed ? (shift - means[channel]) / deviations[channel] : shift;
}

struct pixel_conversion preprocess_bytes(const struct preprocess *preprocess) {
    struct pixel_conversion bytes = {.is_bgr = preprocess->is_bgr};
    for (int plane = 0; plane < 3; plane++) {
        int channel = preprocess->is_bgr ? 2 - plane : plane;
        preprocess_scale(preprocess, channel, &bytes.scale[plane], &bytes.shift[plane]);
    }
    return bytes;
}
