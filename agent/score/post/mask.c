// SPDX-License-Identifier: Apache-2.0
/* Mask: what each pixel is, as a grey PNG of the item's own size whose values are the numbers of
 * classes: of [n, c, h, w] or [n, h, w, c] the class with the highest score, of one channel 255
 * where it reaches the threshold, of whole numbers these. Or the picture, coloured by class. A
 * pixel takes the nearest value, so that no class appears between two others. What a crop has cut
 * off is 0. */
#include "agent/score/post/paint.h"
#include "agent/score/post/post_kind.h"

#include <math.h>
#include <stdlib.h>

#define FIELD "scorer.onnx.postprocess."
#define THRESHOLD 0.5

enum { CLASSES_MAX = 256, FOUND = 255 };

struct post_state {
    double threshold;
    bool draws;
};

static int mask_open(const json_t *spec, struct post_state **ret_state, struct error *err UNUSED) {
    const json_t *threshold = tree_get(spec, FIELD "threshold");
    struct post_state *state = x_calloc(1, sizeof *state);
    *state = (struct post_state){
        .threshold = json_is_number(threshold) ? json_number_value(threshold) : THRESHOLD,
        .draws = tree_bool(spec, FIELD "draw", false)};
    *ret_state = state;
    return 0;
}

static void mask_free(struct post_state *state) {
    free(state);
}

static bool mask_draws(const struct post_state *state) {
    return state->draws;
}

/* Where the values of an output are; steps are in elements. */
struct grid {
    int64_t channels, height, width;
    int64_t channel_step, pixel_step;
};

/* Whether [n, a, b, c] has its channels first. Where both axes can be channels, pictures are
 * square, or channels are much fewer than pixels; else they are first, as exporters write them. */
static bool is_planar(const int64_t *dims) {
    if (dims[1] > CLASSES_MAX || dims[3] > CLASSES_MAX) {
        return dims[1] < dims[3];
    }
    if (dims[1] != dims[3] && (dims[1] == dims[2] || dims[2] == dims[3])) {
        return dims[2] == dims[3];
    }
    return dims[3] * 2 > dims[1];
}

/* False: it has another shape, or the axes of channels and of columns are as long. */
static bool find_grid(const struct tensor *output, int64_t items, struct grid *ret) {
    const int64_t *dims = output->shape.dims;
    int rank = output->shape.rank;
    if ((rank != 3 && rank != 4) || dims[0] != items) {
        return false;
    }
    if (rank == 3) {
        *ret = (struct grid){1, dims[1], dims[2], 0, 1};
    } else if (is_planar(dims)) {
        *ret = (struct grid){dims[1], dims[2], dims[3], dims[2] * dims[3], 1};
    } else {
        *ret = (struct grid){dims[3], dims[1], dims[2], 1, dims[3]};
    }
    return (rank == 3 || dims[1] != dims[3]) && ret->channels >= 1 && ret->height >= 1 &&
           ret->width >= 1 && ret->height <= MEDIA_SIDE_MAX && ret->width <= MEDIA_SIDE_MAX;
}

static bool mask_fits(const struct post_state *state UNUSED, const struct tensor *output,
                      int64_t items) {
    struct grid grid;
    bool is_float = output->type == TENSOR_FLOAT32 || output->type == TENSOR_FLOAT16;
    bool is_whole = output->type == TENSOR_INT64 || output->type == TENSOR_INT32 ||
                    output->type == TENSOR_UINT8 || output->type == TENSOR_BOOL;
    return find_grid(output, items, &grid) &&
           ((is_float && grid.channels <= CLASSES_MAX) || (is_whole && grid.channels == 1));
}

static int refuse_value(double value, struct error *err) {
    return error_set(err, ERROR_FAILED,
                     "the network's output has %g, a class of 0 to 255 is expected", value);
}

static double number_at(const struct tensor *output, int64_t at) {
    return output->type == TENSOR_FLOAT32 ? (double)((const float *)output->data)[at]
                                          : tensor_number(output, at);
}

/* The class of one pixel; -1: an invalid value. */
static int find_class(const struct post_state *state, const struct tensor *output,
                      const struct grid *grid, int64_t at, struct error *err) {
    double best = number_at(output, at);
    int class = 0;
    if (output->type != TENSOR_FLOAT32 && output->type != TENSOR_FLOAT16) {
        return best >= 0 && best < CLASSES_MAX ? (int)best : refuse_value(best, err);
    }
    for (int64_t c = 1; c < grid->channels; c++) {
        double value = number_at(output, at + c * grid->channel_step);
        if (value > best || isnan(value)) {
            best = value;
            class = (int)c;
        }
    }
    if (isnan(best)) {
        return refuse_value(best, err);
    }
    return grid->channels > 1 ? class : best >= state->threshold ? FOUND : 0;
}

static int find_classes(const struct post_state *state, const struct tensor *output,
                        const struct grid *grid, int64_t index, uint8_t *ret_classes,
                        struct error *err) {
    int64_t pixels = grid->height * grid->width;
    for (int64_t p = 0; p < pixels; p++) {
        int class = find_class(state, output, grid,
                               index * pixels * grid->channels + p * grid->pixel_step, err);
        if (class < 0) {
            return -1;
        }
        ret_classes[p] = (uint8_t) class;
    }
    return 0;
}

/* The row or column of the output for one of the picture's; -1: it was cut off. */
static int64_t find_place(int64_t at, int from, int inner, int own, int input, int64_t size) {
    double place = (double)from + ((double)at + 0.5) * (double)inner / (double)MAX(own, 1);
    int64_t found = (int64_t)floor(place * (double)size / (double)MAX(input, 1));
    return place < 0 || place >= (double)input ? -1 : MIN(MAX(found, 0), size - 1);
}

/* Grey, of the picture's own size. */
static void enlarge(const uint8_t *classes, const struct grid *grid, const struct post_place *place,
                    struct picture *ret_picture) {
    int width = place->picture_width, height = place->picture_height;
    int64_t *columns = x_calloc((size_t)width, sizeof *columns);
    picture_init(ret_picture, width, height);
    ret_picture->is_grey = true;
    for (int x = 0; x < width; x++) {
        columns[x] =
            find_place(x, place->left, place->width, width, place->input_width, grid->width);
    }
    uint8_t *pixel = ret_picture->pixels;
    for (int y = 0; y < height; y++) {
        int64_t row =
            find_place(y, place->top, place->height, height, place->input_height, grid->height);
        for (int x = 0; x < width; x++, pixel += 3) {
            uint8_t class = row < 0 || columns[x] < 0 ? 0 : classes[row * grid->width + columns[x]];
            pixel[0] = pixel[1] = pixel[2] = class;
        }
    }
    free(columns);
}

/* Half of the picture, half of the class's colour, except for class 0. */
static void colour(const struct picture *own, struct picture *mask) {
    size_t count = (size_t)own->width * (size_t)own->height;
    for (size_t i = 0; i < count; i++) {
        uint8_t *pixel = mask->pixels + 3 * i, class = pixel[0];
        const uint8_t *from = own->pixels + 3 * i;
        const struct paint_colour paint = paint_class_colour(class);
        pixel[0] = class ? (uint8_t)((from[0] + paint.red) / 2) : from[0];
        pixel[1] = class ? (uint8_t)((from[1] + paint.green) / 2) : from[1];
        pixel[2] = class ? (uint8_t)((from[2] + paint.blue) / 2) : from[2];
    }
    mask->is_grey = false;
}

static int mask_result(const struct post_state *state, const struct post_outputs *outputs,
                       int64_t index, const struct post_item *item, struct post_result *ret_result,
                       struct error *err) {
    struct grid grid = {0};
    (void)find_grid(outputs->tensors[0], outputs->items, &grid);
    uint8_t *classes = x_malloc((size_t)(grid.height * grid.width));
    int result = find_classes(state, outputs->tensors[0], &grid, index, classes, err);
    if (result == 0) {
        enlarge(classes, &grid, &item->place, &ret_result->picture);
        if (state->draws) {
            colour(item->picture, &ret_result->picture);
        }
    }
    free(classes);
    return result < 0 ? error_context(err, "output \"%.64s\"", outputs->names[0]) : 0;
}

const struct post_kind post_mask = {
    .name = "Mask",
    .needs =
        "float [n, c, h, w] or [n, h, w, c] with c up to 256, or float or whole numbers [n, h, w]",
    .wants_pictures = true,
    .open = mask_open,
    .free = mask_free,
    .draws = mask_draws,
    .fits = mask_fits,
    .result = mask_result,
};
