// SPDX-License-Identifier: Apache-2.0
/* The item's picture, or frame of a video. */
#include "agent/score/feed/feed.h"

#include "agent/score/feed/picture_rows.h"

#include <stdlib.h>
#include <string.h>

struct feed {
    struct preprocess preprocess;
    struct picture_form form;
    bool has_bytes;
    const struct picture *picture; /* the taken item's */
    struct preprocess_size size;
};

bool feed_is_bare_picture(const struct feed_input *input) {
    const struct shape *shape = &input->shape;
    return shape->rank == 3 && (shape->dims[0] == 3 || shape->dims[0] == 1 || shape->dims[2] == 3 ||
                                shape->dims[2] == 1);
}

void feed_add_items(struct shape *shape) {
    if (shape->rank < TENSOR_RANK_MAX) {
        memmove(shape->dims + 1, shape->dims, (size_t)shape->rank++ * sizeof *shape->dims);
        shape->dims[0] = 1;
    }
}

/* Whether the shape can be [n, c, h, w] (axis 1) or [n, h, w, c] (axis 3). */
static bool has_channels(const struct shape *shape, int axis) {
    int64_t channels = shape->rank == 4 ? shape->dims[axis] : 0;
    return channels == 3 || channels == 1;
}

/* Layout Auto: by the axis that has 1 or 3 channels, the first of both. A network that says neither
 * takes [n, 3, h, w]. */
static bool find_form(const struct preprocess *preprocess, const struct feed_input *input,
                      struct picture_form *ret_form) {
    const struct shape *shape = &input->shape;
    bool is_known = input->type == TENSOR_FLOAT32 || input->type == TENSOR_FLOAT16 ||
                    input->type == TENSOR_UINT8;
    if (!is_known || input->strings || shape->rank != 4) {
        return false;
    }
    bool is_nhwc =
        preprocess->layout == LAYOUT_NHWC ||
        (preprocess->layout == LAYOUT_AUTO && !has_channels(shape, 1) && has_channels(shape, 3));
    int axis = is_nhwc ? 3 : 1;
    *ret_form = (struct picture_form){
        .type = input->type, .is_nhwc = is_nhwc, .channels = shape->dims[axis] == 1 ? 1 : 3};
    return shape->dims[axis] < 0 || has_channels(shape, axis);
}

/* The sides that the network fixes are the default; of a line reader it may be only the height. */
static int fix_size(const struct feed_options *options, struct feed *feed, struct error *err) {
    const struct feed_input *input = options->inputs;
    struct preprocess *preprocess = &feed->preprocess;
    int first = feed->form.is_nhwc ? 1 : 2;
    int64_t height = input->shape.dims[first], width = input->shape.dims[first + 1];
    char text[128];
    shape_format(&input->shape, text);
    if (height > MEDIA_SIDE_MAX || width > MEDIA_SIDE_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.path: the network's input %.64s is %s, at most %d "
                         "pixels a side are supported",
                         input->name, text, MEDIA_SIDE_MAX);
    }
    if (!preprocess->width && !preprocess->height) {
        preprocess->height = (int)MAX(height, 0);
        preprocess->width = (int)MAX(width, 0);
    }
    bool is_known = preprocess->width && preprocess->height;
    struct preprocess_size size = {0};
    if (preprocess_measure(preprocess, 1, 1, &size, err) < 0) {
        return -1;
    }
    if ((height > 0 && (!preprocess->height || size.padded_height != height)) ||
        (width > 0 && (!preprocess->width || size.padded_width != width))) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.preprocess: the network's input %.64s is %s, so width "
                         "and height must make that size",
                         input->name, text);
    }
    return preprocess->fit == FIT_STRETCH || is_known
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.scorer.onnx.preprocess.fit: Pad and Crop need width and height");
}

static int picture_open(const struct feed_options *options, struct feed **ret_feed,
                        struct error *err) {
    struct feed own = {.has_bytes = options->has_bytes};
    const struct feed_input *input = options->inputs;
    char text[128];
    shape_format(&input->shape, text);
    if (preprocess_read(options->spec, &own.preprocess, err) < 0) {
        return -1;
    }
    if (!find_form(&own.preprocess, input, &own.form)) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.path: the network's input %.64s is %s %s, for pictures "
                         "float32, float16 or uint8 [n, 3, h, w], [n, 1, h, w], [n, h, w, 3] or "
                         "[n, h, w, 1] is expected, of one picture without n",
                         input->name, input->strings ? "strings" : tensor_type_name(input->type),
                         text);
    }
    if (fix_size(options, &own, err) < 0) {
        return -1;
    }
    *ret_feed = x_calloc(1, sizeof **ret_feed);
    **ret_feed = own;
    return 0;
}

static int picture_take(struct feed *feed, const struct feed_item *item, struct error *err) {
    feed->picture = &item->item->picture;
    return preprocess_measure(&feed->preprocess, feed->picture->width, feed->picture->height,
                              &feed->size, err);
}

static int picture_measure_input(const struct feed *feed, size_t index UNUSED,
                                 struct tensor *ret_values, bool *ret_is_shared,
                                 struct error *err UNUSED) {
    int64_t height = feed->size.padded_height, width = feed->size.padded_width;
    int64_t channels = feed->form.channels;
    bool is_nhwc = feed->form.is_nhwc || feed->has_bytes;
    *ret_is_shared = false;
    ret_values->type = feed->has_bytes ? TENSOR_UINT8 : feed->form.type;
    ret_values->shape = is_nhwc ? (struct shape){4, {1, height, width, channels}}
                                : (struct shape){4, {1, channels, height, width}};
    return 0;
}

static void picture_fill(const struct feed *feed, size_t index UNUSED,
                         const struct shape *shape UNUSED, void *values) {
    if (feed->has_bytes) {
        picture_rows_fill_bytes(&feed->preprocess, feed->picture, &feed->size, values);
    } else {
        picture_rows_fill(&feed->preprocess, feed->picture, &feed->size, &feed->form, values);
    }
}

static const struct preprocess_size *picture_size(const struct feed *feed) {
    return &feed->size;
}

static void picture_free(struct feed *feed) {
    free(feed);
}

const struct feed_kind feed_picture = {
    .name = "picture",
    .open = picture_open,
    .take = picture_take,
    .measure = picture_measure_input,
    .fill = picture_fill,
    .size = picture_size,
    .free = picture_free,
};
