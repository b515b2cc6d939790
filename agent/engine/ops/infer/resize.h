/* resize.h: Upsample (up to opset 9) and Resize (10, 11, 13, 18, 19). */
#pragma once

#include "agent/engine/graph/node.h"

enum resize_coordinates {
    RESIZE_HALF_PIXEL,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL,
    RESIZE_TF_CROP, /* a region of the input; positions outside the input get a fixed value */
};
enum resize_nearest {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL,
    RESIZE_SIMPLE, /* Upsample, Resize-10: rounds down when enlarging, up when shrinking */
};

struct resize {
    bool is_linear; /* or is_cubic; otherwise nearest */
    bool is_cubic, excludes_outside;
    float cubic_a, extrapolation;
    float roi_start[TENSOR_RANK_MAX], roi_end[TENSOR_RANK_MAX]; /* RESIZE_TF_CROP: 0 to 1 */
    enum resize_coordinates coordinates;
    enum resize_nearest nearest;
    struct shape output;
    float scales[TENSOR_RANK_MAX];
};
struct resize_pixel {
    int64_t at;
    float weight;
};

NODISCARD int resize_params(const struct node *node, const struct fact *const *inputs,
                            struct resize *ret_resize, struct error *err);
/* The position in the input, in pixels, of output pixel `out` of dimension `axis`. */
float resize_source(const struct resize *resize, const struct shape *x, int axis, int64_t out);
/* RESIZE_TF_CROP: whether the position is outside the input. */
bool resize_is_outside(const struct resize *resize, float source, int64_t size);
/* Cubic: the weights of the four pixels around `source`; the second one is the last pixel not after
 * it. Their sum is 1; with excludes_outside, pixels outside the input have weight 0. */
void resize_cubic_weights(const struct resize *resize, float source, int64_t size,
                          float ret_weights[static 4]);
/* The input pixel that `nearest` chooses for a source position, clamped to the input. */
int64_t resize_nearest_pixel(const struct resize *resize, float source, float scale, int64_t size);
/* The pixels, in a dimension of `size`, that an output pixel at `source` of dimension `axis` is
 * made from, and their weights: 1, 2 (linear) or 4 (cubic), which is returned. */
int resize_pixels(const struct resize *resize, float source, int axis, int64_t size,
                  struct resize_pixel ret_pixels[static 4]);
NODISCARD int infer_resize(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
