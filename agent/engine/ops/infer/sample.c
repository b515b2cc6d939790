// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/sample.h"

#include "agent/engine/ops/infer/params.h"

#include <string.h>

struct grid_sample grid_sample_params(const struct node *node) {
    const char *mode = node_text(node, "mode", "bilinear");
    const char *border = node_text(node, "padding_mode", "zeros");
    return (struct grid_sample){.mode = strstr(mode, "cubic")          ? SAMPLE_CUBIC
                                        : strcmp(mode, "nearest") == 0 ? SAMPLE_NEAREST
                                                                       : SAMPLE_LINEAR,
                                .border = strcmp(border, "border") == 0       ? SAMPLE_EDGE
                                          : strcmp(border, "reflection") == 0 ? SAMPLE_REFLECTION
                                                                              : SAMPLE_ZEROS,
                                .aligns = node_integer(node, "align_corners", 0)};
}

struct roi_align roi_align_params(const struct node *node) {
    const char *mode = node_text(node, "coordinate_transformation_mode",
                                 node->opset < 16 ? "output_half_pixel" : "half_pixel");
    bool is_half = strcmp(mode, "half_pixel") == 0;
    return (struct roi_align){.height = node_integer(node, "output_height", 1),
                              .width = node_integer(node, "output_width", 1),
                              .samples = node_integer(node, "sampling_ratio", 0),
                              .scale = node_number(node, "spatial_scale", 1),
                              .offset = is_half ? 0.5f : 0,
                              .is_whole = !is_half};
}

static int has_no_pixels(const struct shape *x, struct error *err) {
    return x->dims[2] > 0 && x->dims[3] > 0
               ? 0
               : error_set(err, ERROR_INVALID, "an image without pixels");
}

int infer_grid_sample(const struct node *node UNUSED, const struct fact *const *inputs,
                      struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape, *grid = &inputs[1]->shape;
    if (inputs[0]->shape.rank == 5) {
        return error_set(err, ERROR_UNSUPPORTED, "volumes are not supported");
    }
    if (param_rank(inputs[0], 0, 4, 4, err) < 0 || param_rank(inputs[1], 1, 4, 4, err) < 0 ||
        has_no_pixels(x, err) < 0) {
        return -1;
    }
    if (grid->dims[0] != x->dims[0] || grid->dims[3] != 2) {
        char text[128];
        shape_format(grid, text);
        return error_set(err, ERROR_INVALID,
                         "input 1 is %s, %lld by height by width by 2 is expected", text,
                         (long long)x->dims[0]);
    }
    outputs[0].shape = (struct shape){4, {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]}};
    return 0;
}

int infer_roi_align(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    const struct shape *x = &inputs[0]->shape, *regions = &inputs[1]->shape;
    struct roi_align roi = roi_align_params(node);
    if (param_rank(inputs[0], 0, 4, 4, err) < 0 || param_rank(inputs[1], 1, 2, 2, err) < 0 ||
        param_rank(inputs[2], 2, 1, 1, err) < 0 || has_no_pixels(x, err) < 0) {
        return -1;
    }
    if (regions->dims[1] != 4 || inputs[2]->shape.dims[0] != regions->dims[0]) {
        return error_set(err, ERROR_INVALID,
                         "regions of 4 numbers, and one image's index for each, are expected");
    }
    if (roi.height < 1 || roi.width < 1 || roi.height > x->dims[2] * ROI_SAMPLES_MAX ||
        roi.width > x->dims[3] * ROI_SAMPLES_MAX || roi.samples < 0 ||
        roi.samples > ROI_SAMPLES_MAX) {
        return error_set(
            err, ERROR_UNSUPPORTED,
            "an output of %lld x %lld with sampling_ratio %lld is not supported, at most "
            "%d samples for each pixel of the input, and a ratio from 0 to %d are",
            (long long)roi.height, (long long)roi.width, (long long)roi.samples, ROI_SAMPLES_MAX,
            ROI_SAMPLES_MAX);
    }
    outputs[0].shape = (struct shape){4, {regions->dims[0], x->dims[1], roi.height, roi.width}};
    return 0;
}
