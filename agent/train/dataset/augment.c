// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/augment.h"

#include "agent/data/image/scale.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/order.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { CROP_TRIES = 10 };
enum draw {
    DRAW_FLIP,
    DRAW_PAD_X,
    DRAW_PAD_Y,
    DRAW_CROP, /* four for each of CROP_TRIES; the next draw's number is DRAW_CROP + 4 * CROP_TRIES
                */
};

static const double area_least = 0.08, ratio_most = 4.0 / 3;

/* ---- the fields ----------------------------------------------------------------------------- */

static int read_numbers(const json_t *normalize, const char *name, int64_t channels, double *values,
                        struct error *err) {
    const json_t *list = json_object_get(normalize, name);
    size_t count = json_array_size(list);
    if (count != 1 && count != (size_t)channels) {
        return error_set(err, ERROR_INVALID,
                         "normalize.%s: a list of 1 or %lld numbers (channels) is expected", name,
                         (long long)channels);
    }
    for (size_t i = 0; i < (size_t)channels; i++) {
        json_t *item = json_array_get(list, count == 1 ? 0 : i);
        json_t *object = json_pack("{s:O}", name, item);
        int result = fields_number(object, name, &values[i], err);
        json_decref(object);
        if (result < 0) {
            return error_context(err, "normalize");
        }
    }
    return 0;
}

static int read_normalize(const json_t *normalize, struct augment *augment, struct error *err) {
    double mean[AUGMENT_CHANNELS_MAX] = {0}, deviation[AUGMENT_CHANNELS_MAX];
    double unit = augment->type == TENSOR_UINT8 ? 1.0 / 255 : 1;
    for (int i = 0; i < AUGMENT_CHANNELS_MAX; i++) {
        deviation[i] = 1;
    }
    if (normalize && augment->channels > AUGMENT_CHANNELS_MAX) {
        return error_set(err, ERROR_INVALID,
                         "normalize: samples have %lld channels, at most %d are supported",
                         (long long)augment->channels, AUGMENT_CHANNELS_MAX);
    }
    if (normalize &&
        (read_numbers(normalize, "mean", augment->channels, mean, err) < 0 ||
         read_numbers(normalize, "deviation", augment->channels, deviation, err) < 0)) {
        return -1;
    }
    for (int i = 0; i < AUGMENT_CHANNELS_MAX; i++) {
        augment->factor[i] = (float)(unit / deviation[i]);
        augment->offset[i] = (float)(-mean[i] / deviation[i]);
    }
    return 0;
}

/* Its labels are those of its pixels. */
static bool has_pixels(const struct dataset *dataset) {
    const struct shape *places = &dataset->places, *shape = &dataset->shape;
    return places->rank == 2 && shape->rank == 3 && places->dims[0] == shape->dims[1] &&
           places->dims[1] == shape->dims[2];
}

static int check(const struct augment *augment, const struct dataset *dataset, struct error *err) {
    bool moves = augment->crop || augment->size || augment->pad || augment->flip;
    if (moves && dataset_input_extras(dataset)) {
        return error_set(err, ERROR_INVALID,
                         "augment: needs samples with one input, these have %zu",
                         1 + dataset_input_extras(dataset));
    }
    for (size_t i = 0; moves && i < dataset->extra_count; i++) {
        if (dataset->extras[i].shape.rank > (dataset->extras[i].type == TENSOR_FLOAT32)) {
            return error_set(
                err, ERROR_INVALID,
                "augment cannot move the labels of output \"%.64s\", which have dimensions; "
                "take out crop, size, pad and flip",
                dataset->extras[i].name);
        }
    }
    bool is_picture = dataset->shape.rank == 3;
    int64_t channels = is_picture ? dataset->shape.dims[0] : 0;
    if (augment->crop == AUGMENT_CROP_RANDOM_RESIZED && augment->size == 0) {
        return error_set(err, ERROR_INVALID,
                         "augment.size is missing: crop RandomResized needs it");
    }
    if (augment->size && (dataset->type != TENSOR_UINT8 || (channels != 1 && channels != 3))) {
        return error_set(
            err, ERROR_INVALID,
            "augment.size: the samples are not pictures with 1 or 3 channels of bytes");
    }
    if ((augment->pad || augment->flip) && !is_picture) {
        return error_set(
            err, ERROR_INVALID,
            "augment: pad and flip need pictures [c, h, w], which the samples are not");
    }
    if (augment->moves_places && !has_pixels(dataset)) {
        return error_set(err, ERROR_INVALID,
                         "augment: crop, size, pad and flip would have to move the labels with the "
                         "pixels, and these are not one for each pixel [h, w]");
    }
    for (int i = 0; i < augment->shape.rank; i++) {
        if (augment->shape.dims[i] < 0) {
            return error_set(err, ERROR_INVALID,
                             "augment.size: pictures in a folder have many sizes; one is needed");
        }
    }
    return 0;
}

int augment_read(const json_t *object, const json_t *normalize, const struct dataset *dataset,
                 struct augment *ret_augment, struct error *err) {
    static const char *const crops[] = {"None", "Random", "RandomResized", NULL};
    static_assert(ARRAY_LEN(crops) == AUGMENT_CROP_COUNT + 1, "one name per crop");
    struct augment augment = {
        .shape = dataset->shape, .type = dataset->type, .result = TENSOR_FLOAT32};
    int64_t size = 0, pad = 0;
    int crop = AUGMENT_CROP_NONE;
    if (json_object_get(object, "size") &&
        fields_integer(object, "size", (int64_t[]){1, AUGMENT_SIZE_MAX}, &size, err) < 0) {
        return error_context(err, "augment");
    }
    if (object && (fields_choice(object, "crop", crops, &crop, err) < 0 ||
                   fields_integer(object, "pad", (int64_t[]){0, AUGMENT_SIZE_MAX}, &pad, err) < 0 ||
                   fields_flag(object, "flip", &augment.flip, err) < 0)) {
        return error_context(err, "augment");
    }
    augment.crop = (enum augment_crop)crop;
    augment.size = (int)size;
    augment.pad = (int)pad;
    augment.channels = augment.shape.rank == 3 ? augment.shape.dims[0] : 1;
    if (size && augment.shape.rank == 3) {
        augment.shape.dims[1] = augment.shape.dims[2] = size;
    }
    augment.places = dataset->places;
    augment.ignored = dataset->ignored;
    /* Labels of one axis are not those of pixels: letters of a line. */
    augment.moves_places =
        dataset->places.rank > 1 && (augment.crop || size || pad || augment.flip);
    if (augment.moves_places && size) {
        augment.places.dims[0] = augment.places.dims[1] = size;
    }
    if (normalize && dataset_input_extras(dataset)) {
        return error_set(err, ERROR_INVALID,
                         "normalize: needs samples with one input, these have %zu",
                         1 + dataset_input_extras(dataset));
    }
    for (size_t i = 0; i < dataset->extra_count; i++) {
        const struct dataset_tensor *extra = &dataset->extras[i];
        augment.extra_results[i] = extra->is_target ? extra->type : TENSOR_FLOAT32;
    }
    if (check(&augment, dataset, err) < 0 || read_normalize(normalize, &augment, err) < 0) {
        return -1;
    }
    *ret_augment = augment;
    return 0;
}

/* ---- cutting -------------------------------------------------------------------------------- */

struct region {
    int64_t x, y, width, height; /* pixels */
};

static struct region middle(int64_t width, int64_t height, int64_t cut_width, int64_t cut_height) {
    return (struct region){(width - cut_width) / 2, (height - cut_height) / 2, cut_width,
                           cut_height};
}

static double draw_unit(const struct augment_draw *draw, uint32_t number) {
    return philox_unit(philox_bits(draw->seed, draw->epoch, draw->sample, number));
}

static int64_t draw_below(const struct augment_draw *draw, uint32_t number, int64_t count) {
    return philox_below(philox_bits(draw->seed, draw->epoch, draw->sample, number), count);
}

static struct region random_region(const struct augment_draw *draw, int64_t width, int64_t height) {
    for (uint32_t attempt = 0, at = DRAW_CROP; attempt < CROP_TRIES; attempt++, at += 4) {
        double area =
            (double)(width * height) * (area_least + (1 - area_least) * draw_unit(draw, at));
        double ratio = exp((2 * draw_unit(draw, at + 1) - 1) * log(ratio_most));
        int64_t w = llround(sqrt(area * ratio)), h = llround(sqrt(area / ratio));
        if (w >= 1 && h >= 1 && w <= width && h <= height) {
            return (struct region){draw_below(draw, at + 2, width - w + 1),
                                   draw_below(draw, at + 3, height - h + 1), w, h};
        }
    }
    /* The picture is so long that no try fits: takes as much of its centre as the aspect ratios
     * allow. */
    int64_t w = MIN(width, llround((double)height * ratio_most));
    int64_t h = MIN(height, llround((double)width * ratio_most));
    return middle(width, height, MAX(w, 1), MAX(h, 1));
}

static struct region choose_region(const struct augment *augment, const struct augment_draw *draw,
                                   int64_t width, int64_t height) {
    int64_t side = MIN(width, height);
    if (augment->crop == AUGMENT_CROP_RANDOM_RESIZED && draw->is_training) {
        return random_region(draw, width, height);
    }
    if (augment->crop == AUGMENT_CROP_RANDOM_RESIZED) {
        side = MAX(side * 7 / 8, 1);
    }
    return middle(width, height, side, side);
}

/* The memory layout of a picture, in elements. */
struct view {
    const void *data;
    enum tensor_type type;
    int64_t height, width, channel_step, row_step, step;
};

static struct view view_of(const struct sample *sample, enum tensor_type type) {
    const int64_t *dims = sample->shape.dims;
    struct view view = {.data = sample->data, .type = type, .height = dims[1], .width = dims[2]};
    view.channel_step = sample->is_interleaved ? 1 : dims[1] * dims[2];
    view.row_step = sample->is_interleaved ? dims[0] * dims[2] : dims[2];
    view.step = sample->is_interleaved ? dims[0] : 1;
    return view;
}

/* Grey is copied to three channels, because the scaler needs three. */
static void cut_picture(const struct view *view, int64_t channels, struct region region,
                        struct picture *ret_picture) {
    picture_init(ret_picture, (int)region.width, (int)region.height);
    uint8_t *to = ret_picture->pixels;
    for (int64_t y = 0; y < region.height; y++) {
        const uint8_t *from =
            (const uint8_t *)view->data + (region.y + y) * view->row_step + region.x * view->step;
        for (int64_t x = 0; x < region.width; x++, from += view->step, to += 3) {
            for (int64_t c = 0; c < 3; c++) {
                to[c] = from[(channels == 3 ? c : 0) * view->channel_step];
            }
        }
    }
}

/* ---- the result ----------------------------------------------------------------------------- */

struct shift {
    bool is_flipped;
    int64_t x, y; /* of the crop, relative to the picture */
};

static struct shift choose_shift(const struct augment *augment, const struct augment_draw *draw) {
    struct shift shift = {0};
    if (draw->is_training && augment->flip) {
        shift.is_flipped = philox_bits(draw->seed, draw->epoch, draw->sample, DRAW_FLIP) >> 63;
    }
    if (draw->is_training && augment->pad) {
        shift.x = draw_below(draw, DRAW_PAD_X, 2 * augment->pad + 1) - augment->pad;
        shift.y = draw_below(draw, DRAW_PAD_Y, 2 * augment->pad + 1) - augment->pad;
    }
    return shift;
}

static float element(const struct view *view, int64_t at) {
    return view->type == TENSOR_UINT8 ? (float)((const uint8_t *)view->data)[at]
                                      : ((const float *)view->data)[at];
}

static void fill_channel(const struct augment *augment, const struct view *view, int64_t channel,
                         struct shift shift, float *result) {
    float factor = augment->factor[channel % AUGMENT_CHANNELS_MAX];
    float offset = augment->offset[channel % AUGMENT_CHANNELS_MAX];
    for (int64_t y = 0; y < view->height; y++) {
        int64_t from_y = y + shift.y;
        bool has_row = from_y >= 0 && from_y < view->height;
        int64_t row = channel * view->channel_step + from_y * view->row_step;
        for (int64_t x = 0; x < view->width; x++) {
            int64_t from_x = (shift.is_flipped ? view->width - 1 - x : x) + shift.x;
            bool is_inside = has_row && from_x >= 0 && from_x < view->width;
            *result++ =
                (is_inside ? element(view, row + from_x * view->step) : 0) * factor + offset;
        }
    }
}

static void copy_integers(const struct tensor *from, struct tensor *to) {
    int64_t count = shape_count(&from->shape);
    for (int64_t i = 0; i < count; i++) {
        tensor_put_whole(to, i, tensor_whole(from, i));
    }
}

static void fill_integers(const struct augment *augment, const struct sample *sample,
                          void *result) {
    const struct tensor from = {augment->type, augment->shape, sample->data, false};
    struct tensor to = {augment->result, augment->shape, result, false};
    copy_integers(&from, &to);
}

void augment_fill_extra(const struct augment *augment, const struct dataset_tensor *tensor,
                        size_t extra, const struct sample *sample, void *result) {
    const struct tensor from = {tensor->type, tensor->shape, sample->extras[extra], false};
    struct tensor to = {augment->extra_results[extra], tensor->shape, result, false};
    int64_t count = shape_count(&tensor->shape);
    if (to.type != TENSOR_FLOAT32) {
        copy_integers(&from, &to);
        return;
    }
    if (tensor->type == TENSOR_FLOAT32) {
        memcpy(result, from.data, (size_t)count * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        ((float *)result)[i] = (float)((const uint8_t *)from.data)[i] / 255;
    }
}

static bool is_cut(const struct augment *augment, int64_t height, int64_t width) {
    return augment->size && (augment->crop == AUGMENT_CROP_RANDOM_RESIZED ||
                             height != augment->size || width != augment->size);
}

void augment_fill(const struct augment *augment, const struct sample *sample,
                  const struct augment_draw *draw, void *result) {
    if (augment->result != TENSOR_FLOAT32) {
        fill_integers(augment, sample, result);
        return;
    }
    if (sample->shape.rank != 3) {
        struct view flat = {.data = sample->data, .type = augment->type, .height = 1, .step = 1};
        flat.width = shape_count(&sample->shape);
        fill_channel(augment, &flat, 0, (struct shift){0}, result);
        return;
    }
    AUTO(picture_release) struct picture scaled = {0};
    struct view view = view_of(sample, augment->type);
    if (is_cut(augment, view.height, view.width)) {
        AUTO(picture_release) struct picture cut = {0};
        struct region region = choose_region(augment, draw, view.width, view.height);
        cut_picture(&view, augment->channels, region, &cut);
        scale_picture(&cut, augment->size, augment->size, &scaled);
        view = (struct view){scaled.pixels,
                             TENSOR_UINT8,
                             augment->size,
                             augment->size,
                             1,
                             3 * (int64_t)augment->size,
                             3};
    }
    struct shift shift = choose_shift(augment, draw);
    assert(view.height == augment->shape.dims[1] && view.width == augment->shape.dims[2]);
    for (int64_t c = 0; c < augment->channels; c++) {
        fill_channel(augment, &view, c, shift, (float *)result + c * view.height * view.width);
    }
}

void augment_labels(const struct augment *augment, const struct sample *sample,
                    const struct augment_draw *draw, int64_t *result) {
    if (!augment->moves_places) {
        memcpy(result, sample->labels, (size_t)shape_count(&augment->places) * sizeof *result);
        return;
    }
    int64_t from_height = sample->shape.dims[1], from_width = sample->shape.dims[2];
    int64_t height = augment->places.dims[0], width = augment->places.dims[1];
    struct region region = {0, 0, from_width, from_height};
    if (is_cut(augment, from_height, from_width)) {
        region = choose_region(augment, draw, from_width, from_height);
    }
    struct shift shift = choose_shift(augment, draw);
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++) {
            int64_t to_y = y + shift.y, to_x = (shift.is_flipped ? width - 1 - x : x) + shift.x;
            bool is_inside = to_y >= 0 && to_y < height && to_x >= 0 && to_x < width;
            int64_t from_y = region.y + (2 * to_y + 1) * region.height / (2 * height);
            int64_t from_x = region.x + (2 * to_x + 1) * region.width / (2 * width);
            *result++ = is_inside ? sample->labels[from_y * from_width + from_x] : augment->ignored;
        }
    }
}
