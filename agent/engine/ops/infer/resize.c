// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/resize.h"

#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <string.h>

static const int64_t size_max = (int64_t)1 << 31;

/* The index of text in names; the attribute's rule has checked the text. */
static int text_index(const char *text, const char *const *names, int count) {
    int i = 0;
    while (i < count - 1 && strcmp(text, names[i]) != 0) {
        i++;
    }
    return i;
}

static void read_modes(const struct node *node, struct resize *resize) {
    static const char *const coordinates[] = {"half_pixel",           "pytorch_half_pixel",
                                              "align_corners",        "asymmetric",
                                              "tf_half_pixel_for_nn", "tf_crop_and_resize"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    resize->is_linear = strcmp(node_text(node, "mode", "nearest"), "nearest") != 0;
    resize->is_cubic = strcmp(node_text(node, "mode", "nearest"), "cubic") == 0;
    resize->cubic_a = node_number(node, "cubic_coeff_a", -0.75f);
    resize->excludes_outside = node_integer(node, "exclude_outside", 0);
    resize->extrapolation = node_number(node, "extrapolation_value", 0);
    if (node->opset < 11) {
        resize->coordinates = RESIZE_ASYMMETRIC;
        resize->nearest = RESIZE_SIMPLE;
        return;
    }
    resize->coordinates = (enum resize_coordinates)text_index(
        node_text(node, "coordinate_transformation_mode", "half_pixel"), coordinates,
        ARRAY_LEN(coordinates));
    resize->nearest = (enum resize_nearest)text_index(
        node_text(node, "nearest_mode", "round_prefer_floor"), nearest, ARRAY_LEN(nearest));
}

/* Reads the scales, from the attribute or input; *ret_count is 0 if there are none. */
static int read_scales(const struct node *node, const struct fact *const *inputs,
                       const float **ret_scales, int64_t *ret_count, struct error *err) {
    const struct attribute *attribute = node_attribute(node, "scales");
    const struct fact *fact = param_input(node, inputs, node->opset < 11 ? 1 : 2);
    *ret_count = 0;
    if (attribute) {
        *ret_scales = attribute->numbers;
        *ret_count = (int64_t)attribute->count;
    } else if (fact && shape_count(&fact->shape) > 0) {
        if (fact->type != TENSOR_FLOAT32 || fact->shape.rank != 1) {
            return error_set(err, ERROR_INVALID, "scales: a list of float32 is expected");
        }
        if (!fact->known) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "scales are computed during the run, a constant is expected");
        }
        *ret_scales = fact->known;
        *ret_count = fact->shape.dims[0];
    }
    return 0;
}

/* Implementations differ in these modes if a scale does not give an integer size: some use the size
 * before rounding down, others the size after it. */
static bool is_ambiguous(const struct resize *resize, int axis, float exact_size) {
    return exact_size != floorf(exact_size) &&
           (resize->coordinates == RESIZE_ALIGN_CORNERS ||
            (resize->coordinates == RESIZE_PYTORCH_HALF_PIXEL && resize->output.dims[axis] < 2));
}

static int from_scales(const float *scales, int64_t count, const struct param_list *axes,
                       const struct shape *x, struct resize *resize, struct error *err) {
    if (count != axes->count) {
        return error_set(err, ERROR_INVALID, "%lld scales for %d dimensions", (long long)count,
                         axes->count);
    }
    for (int n = 0; n < axes->count; n++) {
        int i = (int)axes->values[n];
        float scale = scales[n], size = floorf((float)x->dims[i] * scale);
        if (!(scale > 0) || !(size >= 0) || size > (float)size_max) {
            return error_set(err, ERROR_INVALID, "a scale of %g for %lld pixels", (double)scale,
                             (long long)x->dims[i]);
        }
        resize->scales[i] = scale;
        resize->output.dims[i] = (int64_t)size;
        if (is_ambiguous(resize, i, (float)x->dims[i] * scale)) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "a scale of %g for %lld pixels gives no whole size, which attribute "
                             "\"coordinate_transformation_mode\" needs",
                             (double)scale, (long long)x->dims[i]);
        }
    }
    return 0;
}

static int from_sizes(const struct fact *fact, const struct param_list *axes, const struct shape *x,
                      struct resize *resize, struct error *err) {
    int64_t sizes[TENSOR_RANK_MAX];
    int count;
    if (param_integers(fact, "the size", sizes, TENSOR_RANK_MAX, &count, err) < 0) {
        return -1;
    }
    if (count != axes->count) {
        return error_set(err, ERROR_INVALID, "there are %d sizes, expected %d, one for each axis",
                         count, axes->count);
    }
    for (int n = 0; n < count; n++) {
        int i = (int)axes->values[n];
        if (sizes[n] < 1 || sizes[n] > size_max || x->dims[i] < 1) {
            return error_set(err, ERROR_INVALID,
                             "the size is %lld for %lld pixels, expected 1 or more of both",
                             (long long)sizes[n], (long long)x->dims[i]);
        }
        resize->output.dims[i] = sizes[n];
        resize->scales[i] = (float)sizes[n] / (float)x->dims[i];
    }
    return 0;
}

/* Reads all starts, then all ends. */
static int read_roi(const struct node *node, const struct fact *const *inputs,
                    const struct param_list *axes, struct resize *resize, struct error *err) {
    const struct fact *roi = param_input(node, inputs, 1);
    if (resize->coordinates != RESIZE_TF_CROP) {
        return 0;
    }
    if (!roi || roi->type != TENSOR_FLOAT32 || shape_count(&roi->shape) != 2 * axes->count) {
        return error_set(err, ERROR_INVALID, "input 1 (roi): %d float32 numbers are expected",
                         2 * axes->count);
    }
    if (!roi->known) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "input 1 (roi) is computed during the run; a constant is expected");
    }
    for (int n = 0; n < axes->count; n++) {
        resize->roi_start[axes->values[n]] = ((const float *)roi->known)[n];
        resize->roi_end[axes->values[n]] = ((const float *)roi->known)[axes->count + n];
    }
    return 0;
}

/* The dimensions that the attribute axes names (from opset 18 on), else all. Other dimensions are
 * not resized. */
static int read_axes(const struct node *node, const struct fact *const *inputs,
                     const struct shape *x, struct param_list *axes, struct resize *resize,
                     struct error *err) {
    bool is_axis[TENSOR_RANK_MAX];
    if (param_read_list(node, inputs, "axes", -1, axes, err) < 0) {
        return -1;
    }
    for (int i = 0; i < x->rank; i++) {
        resize->output.dims[i] = x->dims[i];
        resize->scales[i] = 1;
        resize->roi_end[i] = 1;
        if (axes->count < 0) {
            axes->values[i] = i;
        }
    }
    axes->count = axes->count < 0 ? x->rank : axes->count;
    return axes->count <= x->rank &&
                   param_axes(axes->values, axes->count, x->rank, is_axis, err) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "axes: %d are listed, the input has %d dimensions, and each may be "
                           "listed once",
                           axes->count, x->rank);
}

int resize_params(const struct node *node, const struct fact *const *inputs,
                  struct resize *ret_resize, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    const struct fact *sizes = node->opset < 11 ? NULL : param_input(node, inputs, 3);
    struct resize resize = {.output = {.rank = x->rank}};
    struct param_list axes;
    const float *scales;
    int64_t count;
    read_modes(node, &resize);
    if (read_axes(node, inputs, x, &axes, &resize, err) < 0 ||
        read_roi(node, inputs, &axes, &resize, err) < 0 ||
        read_scales(node, inputs, &scales, &count, err) < 0) {
        return -1;
    }
    if (!count && !sizes) {
        return error_set(err, ERROR_INVALID, "neither scales nor sizes are given");
    }
    int result = count ? from_scales(scales, count, &axes, x, &resize, err)
                       : from_sizes(sizes, &axes, x, &resize, err);
    if (result < 0) {
        return -1;
    }
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 0 && resize.output.dims[i] != 0) {
            return error_set(err, ERROR_INVALID, "an input without pixels cannot be resized");
        }
    }
    *ret_resize = resize;
    return 0;
}

float resize_source(const struct resize *resize, const struct shape *x, int axis, int64_t out) {
    float scale = resize->scales[axis], at = (float)out;
    int64_t out_size = resize->output.dims[axis];
    switch (resize->coordinates) {
    case RESIZE_ALIGN_CORNERS:
        return out_size == 1 ? 0 : at * (float)(x->dims[axis] - 1) / (float)(out_size - 1);
    case RESIZE_TF_CROP: {
        float start = resize->roi_start[axis], end = resize->roi_end[axis];
        float last = (float)(x->dims[axis] - 1);
        return out_size > 1 ? start * last + at * (end - start) * last / (float)(out_size - 1)
                            : 0.5f * (start + end) * last;
    }
    case RESIZE_ASYMMETRIC:
        return at / scale;
    case RESIZE_TF_HALF_PIXEL:
        return (at + 0.5f) / scale;
    case RESIZE_PYTORCH_HALF_PIXEL:
        return out_size > 1 ? (at + 0.5f) / scale - 0.5f : 0;
    default:
        return (at + 0.5f) / scale - 0.5f;
    }
}

bool resize_is_outside(const struct resize *resize, float source, int64_t size) {
    return resize->coordinates == RESIZE_TF_CROP && !(source >= 0 && source <= (float)(size - 1));
}

/* Keys' kernel at distances 1 + t, t, 1 - t, 2 - t. */
void resize_cubic_weights(const struct resize *resize, float source, int64_t size,
                          float ret_weights[static 4]) {
    float a = resize->cubic_a, base = floorf(source), t = source - base, sum = 0;
    for (int i = 0; i < 4; i++) {
        float d = fabsf(t + 1 - (float)i);
        bool is_near = i == 1 || i == 2;
        ret_weights[i] = is_near ? ((a + 2) * d - (a + 3)) * d * d + 1
                                 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
        float at = base - 1 + (float)i;
        if (resize->excludes_outside && (at < 0 || at >= (float)size)) {
            ret_weights[i] = 0;
        }
        sum += ret_weights[i];
    }
    for (int i = 0; i < 4 && resize->excludes_outside; i++) {
        ret_weights[i] /= sum;
    }
}

int64_t resize_nearest_pixel(const struct resize *resize, float source, float scale, int64_t size) {
    float pixel;
    switch (resize->nearest) {
    case RESIZE_ROUND_PREFER_FLOOR:
        pixel = ceilf(source - 0.5f);
        break;
    case RESIZE_ROUND_PREFER_CEIL:
        pixel = floorf(source + 0.5f);
        break;
    case RESIZE_CEIL:
        pixel = ceilf(source);
        break;
    case RESIZE_SIMPLE:
        pixel = scale < 1 ? ceilf(source) : floorf(source);
        break;
    default:
        pixel = floorf(source);
    }
    return pixel < 0 ? 0 : MIN((int64_t)pixel, size - 1);
}

static int64_t clamped(float pixel, int64_t size) {
    return pixel < 0 ? 0 : pixel >= (float)size ? size - 1 : MIN((int64_t)pixel, size - 1);
}

int resize_pixels(const struct resize *resize, float source, int axis, int64_t size,
                  struct resize_pixel ret_pixels[static 4]) {
    if (resize->is_cubic) {
        float weights[4];
        resize_cubic_weights(resize, source, size, weights);
        for (int k = 0; k < 4; k++) {
            ret_pixels[k] =
                (struct resize_pixel){clamped(floorf(source) - 1 + (float)k, size), weights[k]};
        }
        return 4;
    }
    if (resize->is_linear) {
        source = fmaxf(0, fminf(source, (float)(size - 1)));
        int64_t first = clamped(source, size);
        float second = source - (float)first;
        ret_pixels[0] = (struct resize_pixel){first, 1 - second};
        ret_pixels[1] = (struct resize_pixel){MIN(first + 1, size - 1), second};
        return 2;
    }
    int64_t nearest = resize_nearest_pixel(resize, source, resize->scales[axis], size);
    ret_pixels[0] = (struct resize_pixel){nearest, 1};
    return 1;
}

int infer_resize(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    struct resize resize;
    if (resize_params(node, inputs, &resize, err) < 0) {
        return -1;
    }
    outputs[0].shape = resize.output;
    return 0;
}
