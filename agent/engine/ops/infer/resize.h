/* resize.h: Upsample (up to opset 9) and Resize (10, 11, 13, 18, 19). */
#pragma once

#include "agent/engine/graph.h"

enum resize_coordinates {
    RESIZE_HALF_PIXEL,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL,
    RESIZE_TF_CROP, /* a part of the input, of which what is outside has a number of its own */
};
enum resize_nearest {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL,
    RESIZE_SIMPLE, /* Upsample, Resize-10: down when enlarging, up when shrinking */
};

struct resize {
    bool is_linear; /* or cubic; else nearest */
    bool is_cubic, excludes_outside;
    float cubic_a, extrapolation;
    float roi_start[TENSOR_RANK_MAX], roi_end[TENSOR_RANK_MAX]; /* RESIZE_TF_CROP: 0 to 1 */
    enum resize_coordinates coordinates;
    enum resize_nearest nearest;
    struct shape output;
    float scales[TENSOR_RANK_MAX];
};
NODISCARD int resize_params(const struct node *node, const struct fact *const *inputs,
                            struct resize *ret_resize, struct error *err);
/* Where pixel `out` of dimension `axis` is in the input, in the input's pixels. */
float resize_source(const struct resize *resize, const struct shape *x, int axis, int64_t out);
/* RESIZE_TF_CROP: no pixel of the input is there. */
bool resize_is_outside(const struct resize *resize, float source, int64_t size);
/* Cubic: of the four pixels around, from the one before the last that is not behind `source`. They
 * add up to 1; those outside have none where excludes_outside. */
void resize_cubic_weights(const struct resize *resize, float source, int64_t size,
                          float ret_weights[static 4]);
/* The input pixel that `nearest` takes for a source position, clamped to the input. */
int64_t resize_nearest_pixel(const struct resize *resize, float source, float scale, int64_t size);
NODISCARD int infer_resize(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
