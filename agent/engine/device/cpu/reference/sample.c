// SPDX-License-Identifier: Apache-2.0
/* GridSample, RoiAlign and MaxUnpool. */
#include "agent/engine/ops/infer/sample.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/window.h"

#include <math.h>
#include <string.h>

struct image {
    const float *pixels; /* of one channel */
    int64_t height, width;
};

/* ---- GridSample ------------------------------------------------------------------------------ */

struct grid_work {
    struct grid_sample params;
    const struct tensor *x;
    const float *grid;
    float *y;
    int64_t places; /* in the grid of a image */
};

static float to_pixels(float place, int64_t size, bool aligns) {
    return aligns ? (place + 1) / 2 * (float)(size - 1) : ((place + 1) * (float)size - 1) / 2;
}

/* Reflects the position at the centres (aligned) or edges of the outer pixels until it is between
 * them. */
static float reflect(float at, int64_t size, bool aligns) {
    float least = aligns ? 0 : -0.5f, span = aligns ? (float)(size - 1) : (float)size;
    if (span <= 0) {
        return 0;
    }
    at = fabsf(at - least);
    float rest = fmodf(at, span);
    return fmodf(floorf(at / span), 2) == 0 ? rest + least : span - rest + least;
}

/* Moves the position into the image; for zeros, pixel_at does the work. NaN becomes the first
 * pixel. */
static float clamp_to_image(const struct grid_sample *params, float at, int64_t size) {
    if (params->border == SAMPLE_ZEROS) {
        return at;
    }
    at = params->border == SAMPLE_REFLECTION ? reflect(at, size, params->aligns) : at;
    return fminf(fmaxf(at, 0), (float)(size - 1));
}

static float pixel_at(const struct image *image, float row, float column) {
    bool is_inside =
        row >= 0 && row < (float)image->height && column >= 0 && column < (float)image->width;
    return is_inside ? image->pixels[(int64_t)row * image->width + (int64_t)column] : 0;
}

static float linear_at(const struct image *image, float row, float column) {
    float top = floorf(row), left = floorf(column), down = row - top, right = column - left;
    return (1 - down) *
               ((1 - right) * pixel_at(image, top, left) + right * pixel_at(image, top, left + 1)) +
           down * ((1 - right) * pixel_at(image, top + 1, left) +
                   right * pixel_at(image, top + 1, left + 1));
}

/* Weights of Keys' kernel, a = -0.75, for pixels at -1, 0, 1 and 2. */
static void cubic_weights(float t, float weights[static 4]) {
    const float a = -0.75f;
    for (int i = 0; i < 4; i++) {
        float d = fabsf(t + 1 - (float)i);
        weights[i] = i == 1 || i == 2 ? ((a + 2) * d - (a + 3)) * d * d + 1
                                      : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

/* The padding mode is applied to each of the sixteen pixels. */
static float cubic_at(const struct grid_sample *params, const struct image *image, float row,
                      float column) {
    float top = floorf(row), left = floorf(column), down[4], right[4], sum = 0;
    cubic_weights(row - top, down);
    cubic_weights(column - left, right);
    for (int i = 0; i < 4; i++) {
        float r = clamp_to_image(params, top - 1 + (float)i, image->height);
        for (int k = 0; k < 4; k++) {
            float c = clamp_to_image(params, left - 1 + (float)k, image->width);
            sum += down[i] * right[k] * pixel_at(image, nearbyintf(r), nearbyintf(c));
        }
    }
    return sum;
}

/* Computes all channels at the places first..last - 1, counted over all images. */
static void grid_body(void *context, int64_t first, int64_t last) {
    const struct grid_work *work = context;
    const int64_t *dims = work->x->shape.dims;
    int64_t c = dims[1], pixels = dims[2] * dims[3];
    for (int64_t index = first; index < last; index++) {
        int64_t n = index / work->places, place = index % work->places;
        float column = to_pixels(work->grid[2 * index], dims[3], work->params.aligns);
        float row = to_pixels(work->grid[2 * index + 1], dims[2], work->params.aligns);
        float settled_row = clamp_to_image(&work->params, row, dims[2]);
        float settled_column = clamp_to_image(&work->params, column, dims[3]);
        for (int64_t k = 0; k < c; k++) {
            const struct image image = {(const float *)work->x->data + (n * c + k) * pixels,
                                        dims[2], dims[3]};
            float *to = &work->y[(n * c + k) * work->places + place];
            *to = work->params.mode == SAMPLE_CUBIC ? cubic_at(&work->params, &image, row, column)
                  : work->params.mode == SAMPLE_LINEAR
                      ? linear_at(&image, settled_row, settled_column)
                      : pixel_at(&image, nearbyintf(settled_row), nearbyintf(settled_column));
        }
    }
}

static int grid_sample_run(const struct call *call, struct error *err UNUSED) {
    const int64_t *grid = call->inputs[1]->shape.dims;
    struct grid_work work = {.params = grid_sample_params(call->node),
                             .x = call->inputs[0],
                             .grid = call->inputs[1]->data,
                             .y = call->outputs[0]->data,
                             .places = grid[1] * grid[2]};
    threads_run(cpu_threads(call), grid[0] * work.places, 256, grid_body, &work);
    return 0;
}
const struct kernel reference_grid_sample = {"reference grid_sample", grid_sample_run};

/* ---- RoiAlign -------------------------------------------------------------------------------- */

/* A place up to one pixel outside gets the value of the outer pixel; places farther outside are
 * 0. */
static float roi_pixel(const struct image *image, float row, float column) {
    if (!(row >= -1 && row <= (float)image->height && column >= -1 &&
          column <= (float)image->width)) {
        return 0;
    }
    row = fminf(fmaxf(row, 0), (float)(image->height - 1));
    column = fminf(fmaxf(column, 0), (float)(image->width - 1));
    return linear_at(image, row, column);
}

struct region {
    float top, left, bin_height, bin_width;
    int64_t rows, columns; /* samples of a bin */
};

static int read_region(const struct roi_align *roi, const float *numbers, const int64_t *dims,
                       struct region *ret_region, struct error *err) {
    float left = numbers[0] * roi->scale - roi->offset, top = numbers[1] * roi->scale - roi->offset;
    float width = numbers[2] * roi->scale - roi->offset - left;
    float height = numbers[3] * roi->scale - roi->offset - top;
    if (roi->is_whole) {
        width = fmaxf(width, 1);
        height = fmaxf(height, 1);
    }
    if (!(fabsf(width) <= ROI_IMAGES_MAX * (float)dims[3] &&
          fabsf(height) <= ROI_IMAGES_MAX * (float)dims[2])) {
        return error_set(err, ERROR_INVALID,
                         "a region of %g by %g is too large for an image of %lld by %lld",
                         (double)width, (double)height, (long long)dims[3], (long long)dims[2]);
    }
    struct region region = {
        top,          left,        height / (float)roi->height, width / (float)roi->width,
        roi->samples, roi->samples};
    if (!roi->samples) {
        region.rows = (int64_t)ceilf(region.bin_height);
        region.columns = (int64_t)ceilf(region.bin_width);
    }
    *ret_region = region;
    return 0;
}

static float bin_mean(const struct region *region, const struct image *image, int64_t row,
                      int64_t column) {
    float sum = 0;
    for (int64_t i = 0; i < region->rows; i++) {
        float y = region->top +
                  region->bin_height * ((float)row + ((float)i + 0.5f) / (float)region->rows);
        for (int64_t k = 0; k < region->columns; k++) {
            float x =
                region->left +
                region->bin_width * ((float)column + ((float)k + 0.5f) / (float)region->columns);
            sum += roi_pixel(image, y, x);
        }
    }
    return sum / (float)MAX(region->rows * region->columns, 1);
}

static int roi_align_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *regions = call->inputs[1];
    const int64_t *dims = x->shape.dims;
    struct roi_align roi = roi_align_params(call->node);
    float *y = call->outputs[0]->data;
    for (int64_t r = 0; r < regions->shape.dims[0]; r++) {
        int64_t n = (int64_t)tensor_whole(call->inputs[2], r);
        struct region region = {0};
        if (n < 0 || n >= dims[0]) {
            return error_set(err, ERROR_INVALID,
                             "a region of image %lld, but there are %lld images", (long long)n,
                             (long long)dims[0]);
        }
        if (read_region(&roi, (const float *)regions->data + 4 * r, dims, &region, err) < 0) {
            return -1;
        }
        for (int64_t c = 0; c < dims[1]; c++) {
            const struct image image = {
                (const float *)x->data + (n * dims[1] + c) * dims[2] * dims[3], dims[2], dims[3]};
            for (int64_t i = 0; i < roi.height * roi.width; i++) {
                *y++ = bin_mean(&region, &image, i / roi.width, i % roi.width);
            }
        }
    }
    return 0;
}
const struct kernel reference_roi_align = {"reference roi_align", roi_align_run};

/* ---- MaxUnpool ------------------------------------------------------------------------------- */

/* The index of the same place in a tensor that is at least as large. */
static int64_t place_in(const struct shape *from, const struct shape *to, int64_t index) {
    int64_t strides[TENSOR_RANK_MAX], place = 0;
    walk_plain_strides(to, strides);
    for (int i = from->rank - 1; i >= 0; i--) {
        place += index % from->dims[i] * strides[i];
        index /= from->dims[i];
    }
    return place;
}

static int max_unpool_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t *indices = call->inputs[1]->data;
    size_t size = tensor_type_size(x->type);
    struct shape usual;
    if (window_unpool_shape(call->node, &x->shape, &usual, err) < 0) {
        return -1;
    }
    int64_t count = shape_count(&x->shape), room = shape_count(&usual);
    memset(y->data, 0, (size_t)shape_count(&y->shape) * size);
    for (int64_t i = 0; i < count; i++) {
        if (indices[i] < 0 || indices[i] >= room) {
            return error_set(err, ERROR_INVALID, "index %lld is out of range for %lld elements",
                             (long long)indices[i], (long long)room);
        }
        size_t to = (size_t)place_in(&usual, &y->shape, indices[i]);
        memcpy((char *)y->data + to * size, (const char *)x->data + (size_t)i * size, size);
    }
    return 0;
}
const struct kernel reference_max_unpool = {"reference max_unpool", max_unpool_run};
