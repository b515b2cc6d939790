// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/anchors.h"

#include <math.h>
#include <stdlib.h>

#define FIELD "scorer.onnx.postprocess."

static const char *const offset_names[] = {"Exponential", "Linear", "Distances"};
_Static_assert(ARRAY_LEN(offset_names) == ANCHORS_OFFSETS_COUNT, "a name for each");

/* Its numbers are pixels already, whatever the anchor: a shape of one pixel leaves them so. */
static const float pixel[] = {1, 1, 1, 1, 1, 1};
static const struct anchor_level blaze_face[] = {{0, 16, 0.5f, 2, pixel, pixel},
                                                 {0, 8, 0.5f, 6, pixel, pixel}};
const struct anchors anchors_of_blaze_face = {
    blaze_face, ARRAY_LEN(blaze_face), ANCHORS_LINEAR, {1, 1}, false, NULL};

/* Numbers are in strides, so an anchor is as large as its cell. */
static const float strides[] = {8, 16, 32};
static const struct anchor_level cells[] = {{8, 0, 0, 1, &strides[0], &strides[0]},
                                            {16, 0, 0, 1, &strides[1], &strides[1]},
                                            {32, 0, 0, 1, &strides[2], &strides[2]}};
const struct anchors anchors_of_grid = {cells, ARRAY_LEN(cells), ANCHORS_EXPONENTIAL, {1, 1}, false,
                                        NULL};
const struct anchors anchors_of_yunet = {cells, ARRAY_LEN(cells), ANCHORS_EXPONENTIAL, {1, 1}, true,
                                         NULL};

/* ---- the spec ------------------------------------------------------------------------------- */

static size_t count_numbers(const json_t *list) {
    size_t count = 0, at;
    const json_t *level;
    json_array_foreach(list, at, level) {
        count += json_array_size(json_object_get(level, "widths")) +
                 json_array_size(json_object_get(level, "heights"));
    }
    return count;
}

/* Copies a list of numbers to *numbers, and moves it behind them. */
static const float *take_numbers(const json_t *list, float **numbers) {
    const float *begin = *numbers;
    for (size_t i = 0; i < json_array_size(list); i++) {
        *(*numbers)++ = (float)json_number_value(json_array_get(list, i));
    }
    return begin;
}

static struct anchor_level read_level(const json_t *value, float **numbers) {
    const json_t *widths = json_object_get(value, "widths");
    const json_t *heights = json_object_get(value, "heights");
    const json_t *center = json_object_get(value, "center");
    struct anchor_level level = {
        .stride = (int)tree_integer(value, "stride", 1),
        .center = center ? (float)json_number_value(center) : 0.5f,
        .count = json_array_size(widths),
    };
    level.widths = take_numbers(widths, numbers);
    level.heights = heights ? take_numbers(heights, numbers) : level.widths;
    return level;
}

int anchors_read(const json_t *spec, struct anchors *ret_anchors, struct error *err) {
    const json_t *list = tree_get(spec, FIELD "anchors"), *level;
    const json_t *variances = tree_get(spec, FIELD "variances");
    size_t at, count = json_array_size(list);
    *ret_anchors = (struct anchors){.variances = {1, 1}};
    json_array_foreach(list, at, level) {
        size_t widths = json_array_size(json_object_get(level, "widths"));
        const json_t *heights = json_object_get(level, "heights");
        if (heights && json_array_size(heights) != widths) {
            return error_set(err, ERROR_INVALID,
                             "spec." FIELD "anchors[%zu].heights: %zu heights for %zu widths; as "
                             "many are expected, in the same order",
                             at, json_array_size(heights), widths);
        }
    }
    if (count == 0) {
        return 0;
    }
    struct anchor_level *levels = x_calloc(count, sizeof *levels);
    float *numbers = x_calloc(count_numbers(list), sizeof *numbers);
    ret_anchors->numbers = numbers;
    json_array_foreach(list, at, level) {
        levels[at] = read_level(level, &numbers);
    }
    ret_anchors->levels = levels;
    ret_anchors->count = count;
    ret_anchors->offsets = (enum anchor_offsets)tree_choice(spec, FIELD "offsets", offset_names,
                                                            ANCHORS_OFFSETS_COUNT);
    for (size_t i = 0; i < json_array_size(variances) && i < 2; i++) {
        ret_anchors->variances[i] = (float)json_number_value(json_array_get(variances, i));
    }
    return 0;
}

void anchors_release(struct anchors *anchors) {
    if (anchors->numbers) {
        free((void *)(uintptr_t)anchors->levels);
        free(anchors->numbers);
    }
    *anchors = (struct anchors){0};
}

/* ---- the grid ------------------------------------------------------------------------------- */

struct anchor_grid anchors_grid(const struct anchor_level *level, int width, int height) {
    int stride = level->stride;
    return stride == 0 ? (struct anchor_grid){level->cells, level->cells}
                       : (struct anchor_grid){((int64_t)height + stride - 1) / stride,
                                              ((int64_t)width + stride - 1) / stride};
}

int64_t anchors_count(const struct anchors *anchors, int width, int height) {
    int64_t count = 0;
    for (size_t i = 0; i < anchors->count; i++) {
        struct anchor_grid grid = anchors_grid(&anchors->levels[i], width, height);
        count += grid.rows * grid.columns * (int64_t)anchors->levels[i].count;
    }
    return count;
}

static struct anchor *place_level(const struct anchor_level *level, int width, int height,
                                  struct anchor *next) {
    struct anchor_grid grid = anchors_grid(level, width, height);
    float right = (float)level->stride, down = right;
    if (level->stride == 0) {
        right = (float)width / (float)level->cells;
        down = (float)height / (float)level->cells;
    }
    for (int64_t cell = 0; cell < grid.rows * grid.columns; cell++) {
        int64_t row = cell / grid.columns, column = cell % grid.columns;
        float x = ((float)column + level->center) * right;
        float y = ((float)row + level->center) * down;
        for (size_t shape = 0; shape < level->count; shape++) {
            *next++ = (struct anchor){x, y, level->widths[shape], level->heights[shape]};
        }
    }
    return next;
}

void anchors_place(const struct anchors *anchors, int width, int height, struct anchor *ret_list) {
    for (size_t i = 0; i < anchors->count; i++) {
        ret_list = place_level(&anchors->levels[i], width, height, ret_list);
    }
}

/* ---- a box ---------------------------------------------------------------------------------- */

struct box anchor_box(const struct anchors *anchors, const struct anchor *anchor,
                      const float values[static 4]) {
    const float *variances = anchors->variances;
    float x = values[0] * variances[0] * anchor->width;
    float y = values[1] * variances[0] * anchor->height;
    if (anchors->offsets == ANCHORS_DISTANCES) {
        return (struct box){.left = anchor->x - x,
                            .top = anchor->y - y,
                            .right = anchor->x + values[2] * variances[0] * anchor->width,
                            .bottom = anchor->y + values[3] * variances[0] * anchor->height};
    }
    bool is_linear = anchors->offsets == ANCHORS_LINEAR;
    float wide = values[2] * variances[1], high = values[3] * variances[1];
    float width = anchor->width * (is_linear ? wide : expf(wide));
    float height = anchor->height * (is_linear ? high : expf(high));
    return (struct box){.left = anchor->x + x - width / 2,
                        .top = anchor->y + y - height / 2,
                        .right = anchor->x + x + width / 2,
                        .bottom = anchor->y + y + height / 2};
}
