// SPDX-License-Identifier: Apache-2.0
/* GridSample and its gradients, RoiAlign and MaxUnpool. */
#include "agent/engine/ops/infer/sample.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/window.h"

#include <math.h>
#include <string.h>

/* ---- GridSample ------------------------------------------------------------------------------ */

struct grid_work {
    struct grid_sample params;
    const struct shape *x;
    const float *pixels, *grid, *dy; /* of x; dy only for gradients */
    float *out;
    int64_t places; /* in the grid of an image */
};

static float to_pixels(float place, int64_t size, bool aligns) {
    return aligns ? (place + 1) / 2 * (float)(size - 1) : ((place + 1) * (float)size - 1) / 2;
}

/* Reflects the position at the centres (aligned) or edges of the outer pixels until it is between
 * them. Multiplies *slope by the derivative. */
static float reflect(float at, int64_t size, bool aligns, float *slope) {
    float least = aligns ? 0 : -0.5f, span = aligns ? (float)(size - 1) : (float)size;
    if (span <= 0) {
        *slope = 0;
        return 0;
    }
    bool is_below = at < least;
    at = fabsf(at - least);
    float rest = fmodf(at, span);
    bool is_even = fmodf(floorf(at / span), 2) == 0;
    *slope = is_below == is_even ? -*slope : *slope;
    return is_even ? rest + least : span - rest + least;
}

/* Moves the position into the image; for zeros, find_taps does the work. NaN becomes the first
 * pixel. Multiplies *slope by the derivative, which at the outer pixels is that beyond them: 0. */
static float clamp_to_image(const struct grid_sample *params, float at, int64_t size,
                            float *slope) {
    if (params->border == SAMPLE_ZEROS) {
        return at;
    }
    at = params->border == SAMPLE_REFLECTION ? reflect(at, size, params->aligns, slope) : at;
    *slope = at > 0 && at < (float)(size - 1) ? *slope : 0;
    return fminf(fmaxf(at, 0), (float)(size - 1));
}

enum { TAPS_MAX = 4, CHANNELS_AT_ONCE = 8 };

/* The pixels along one axis of which a sample is made, and their shares. */
struct taps {
    int count;
    int64_t at[TAPS_MAX]; /* -1: outside, where pixels are 0 */
    float weights[TAPS_MAX];
    float slopes[TAPS_MAX]; /* derivatives of the weights by the coordinate in the grid */
};

/* Weights of Keys' kernel, a = -0.75, for pixels at -1, 0, 1 and 2, and their derivatives by t. */
static void fill_cubic(float t, struct taps *taps) {
    const float a = -0.75f;
    taps->count = 4;
    for (int i = 0; i < 4; i++) {
        float far = t + 1 - (float)i, d = fabsf(far), sign = far < 0 ? -1 : 1;
        bool is_near = i == 1 || i == 2;
        taps->weights[i] = is_near ? ((a + 2) * d - (a + 3)) * d * d + 1
                                   : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
        taps->slopes[i] = sign * (is_near ? (3 * (a + 2) * d - 2 * (a + 3)) * d
                                          : (3 * a * d - 10 * a) * d + 8 * a);
    }
}

/* place: a coordinate of the grid. A cubic sample applies the padding mode to each of its pixels,
 * the others to the position. */
static struct taps find_taps(const struct grid_sample *params, float place, int64_t size) {
    struct taps taps = {.count = 1, .weights = {1}};
    bool is_cubic = params->mode == SAMPLE_CUBIC;
    float at = to_pixels(place, size, params->aligns), unused = 1;
    float slope = (float)(params->aligns ? size - 1 : size) / 2;
    at = is_cubic ? at : clamp_to_image(params, at, size, &slope);
    float first = params->mode == SAMPLE_NEAREST ? nearbyintf(at) : floorf(at), t = at - first;
    if (is_cubic) {
        fill_cubic(t, &taps);
        first--;
    } else if (params->mode == SAMPLE_LINEAR) {
        taps = (struct taps){.count = 2, .weights = {1 - t, t}, .slopes = {-1, 1}};
    }
    for (int i = 0; i < taps.count; i++) {
        float to = first + (float)i;
        to = is_cubic ? nearbyintf(clamp_to_image(params, to, size, &unused)) : to;
        taps.at[i] = to >= 0 && to < (float)size ? (int64_t)to : -1;
        taps.slopes[i] *= slope;
    }
    return taps;
}

/* One place of the grid of an image. */
struct grid_place {
    struct taps rows, columns;
};

static struct grid_place find_place(const struct grid_work *work, int64_t index) {
    const int64_t *dims = work->x->dims;
    return (struct grid_place){.rows = find_taps(&work->params, work->grid[2 * index + 1], dims[2]),
                               .columns = find_taps(&work->params, work->grid[2 * index], dims[3])};
}

/* The sum of a place's pixels, each times its row's and its column's number. */
static float blend(const float *pixels, int64_t width, const struct grid_place *place,
                   const float *rows, const float *columns) {
    float sum = 0;
    for (int i = 0; i < place->rows.count; i++) {
        for (int k = 0; k < place->columns.count; k++) {
            int64_t row = place->rows.at[i], column = place->columns.at[k];
            float pixel = row < 0 || column < 0 ? 0 : pixels[row * width + column];
            sum += rows[i] * columns[k] * pixel;
        }
    }
    return sum;
}

/* Computes all channels at the places first..last - 1, counted over all images. */
static void grid_body(void *context, int64_t first, int64_t last) {
    const struct grid_work *work = context;
    const int64_t *dims = work->x->dims;
    for (int64_t index = first; index < last; index++) {
        const struct grid_place place = find_place(work, index);
        for (int64_t k = 0; k < dims[1]; k++) {
            int64_t channel = index / work->places * dims[1] + k;
            work->out[channel * work->places + index % work->places] =
                blend(work->pixels + channel * dims[2] * dims[3], dims[3], &place,
                      place.rows.weights, place.columns.weights);
        }
    }
}

static struct grid_work grid_work_of(const struct call *call, int x, int grid) {
    const int64_t *dims = call->inputs[grid]->shape.dims;
    return (struct grid_work){.params = grid_sample_params(call->node),
                              .x = &call->inputs[x]->shape,
                              .pixels = call->inputs[x]->data,
                              .grid = call->inputs[grid]->data,
                              .out = call->outputs[0]->data,
                              .places = dims[1] * dims[2]};
}

static int grid_sample_run(const struct call *call, struct error *err UNUSED) {
    struct grid_work work = grid_work_of(call, 0, 1);
    threads_run(cpu_threads(call), work.x->dims[0] * work.places, 256, grid_body, &work);
    return 0;
}
const struct kernel reference_grid_sample = {"reference grid_sample", grid_sample_run};

/* ---- its gradients --------------------------------------------------------------------------- */

/* Adds dy to the pixels of which a sample was made. */
static void give_back(float *pixels, int64_t width, const struct grid_place *place, float dy) {
    for (int i = 0; i < place->rows.count; i++) {
        for (int k = 0; k < place->columns.count; k++) {
            int64_t row = place->rows.at[i], column = place->columns.at[k];
            if (row >= 0 && column >= 0) {
                pixels[row * width + column] +=
                    place->rows.weights[i] * place->columns.weights[k] * dy;
            }
        }
    }
}

/* Groups of channels first..last - 1, counted over all images; the result is zero before. */
static void pixels_body(void *context, int64_t first, int64_t last) {
    const struct grid_work *work = context;
    const int64_t *dims = work->x->dims;
    int64_t groups = (dims[1] + CHANNELS_AT_ONCE - 1) / CHANNELS_AT_ONCE;
    for (int64_t unit = first; unit < last; unit++) {
        int64_t n = unit / groups, from = unit % groups * CHANNELS_AT_ONCE;
        int64_t end = n * dims[1] + MIN(from + CHANNELS_AT_ONCE, dims[1]);
        for (int64_t i = 0; i < work->places; i++) {
            const struct grid_place place = find_place(work, n * work->places + i);
            for (int64_t channel = n * dims[1] + from; channel < end; channel++) {
                give_back(work->out + channel * dims[2] * dims[3], dims[3], &place,
                          work->dy[channel * work->places + i]);
            }
        }
    }
}

/* The coordinates of the places first..last - 1, counted over all images. */
static void coordinates_body(void *context, int64_t first, int64_t last) {
    const struct grid_work *work = context;
    const int64_t *dims = work->x->dims;
    for (int64_t index = first; index < last; index++) {
        const struct grid_place place = find_place(work, index);
        float across = 0, down = 0;
        for (int64_t k = 0; k < dims[1]; k++) {
            int64_t channel = index / work->places * dims[1] + k;
            const float *pixels = work->pixels + channel * dims[2] * dims[3];
            float dy = work->dy[channel * work->places + index % work->places];
            across += dy * blend(pixels, dims[3], &place, place.rows.weights, place.columns.slopes);
            down += dy * blend(pixels, dims[3], &place, place.rows.slopes, place.columns.weights);
        }
        work->out[2 * index] = across;
        work->out[2 * index + 1] = down;
    }
}

/* (dy, x, grid) */
static int grid_sample_gradient_run(const struct call *call, struct error *err UNUSED) {
    struct grid_work work = grid_work_of(call, 1, 2);
    const int64_t *dims = work.x->dims;
    work.dy = call->inputs[0]->data;
    if (node_integer(call->node, "side", 0)) {
        threads_run(cpu_threads(call), dims[0] * work.places, 256, coordinates_body, &work);
        return 0;
    }
    memset(work.out, 0, (size_t)shape_count(work.x) * sizeof(float));
    int64_t groups = (dims[1] + CHANNELS_AT_ONCE - 1) / CHANNELS_AT_ONCE;
    threads_run(cpu_threads(call), dims[0] * groups, 1, pixels_body, &work);
    return 0;
}
const struct kernel reference_grid_sample_gradient = {"reference grid_sample_gradient",
                                                      grid_sample_gradient_run};

/* ---- RoiAlign -------------------------------------------------------------------------------- */

struct image {
    const float *pixels; /* of one channel */
    int64_t height, width;
};

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
