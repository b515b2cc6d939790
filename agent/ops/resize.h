/* resize.h: Upsample (up to opset 9) and Resize (10, 11, 13). */
#pragma once

#include "agent/graph/graph.h"

enum resize_coordinates {
    RESIZE_HALF_PIXEL,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL,
};
enum resize_nearest {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL,
    RESIZE_SIMPLE, /* Upsample, Resize-10: down when enlarging, up when shrinking */
};

struct resize {
    bool is_linear; /* else nearest */
    enum resize_coordinates coordinates;
    enum resize_nearest nearest;
    struct shape output;
    float scales[TENSOR_RANK_MAX];
};
NODISCARD int resize_params(const struct node *node, const struct fact *const *inputs,
                            struct resize *ret_resize, struct error *err);
/* Where pixel `out` of dimension `axis` lies in the input, in the input's pixels. */
float resize_source(const struct resize *resize, const struct shape *x, int axis, int64_t out);
/* The input pixel that `nearest` takes for a source position, clamped to the input. */
int64_t resize_nearest_pixel(const struct resize *resize, float source, float scale, int64_t size);
NODISCARD int infer_resize(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
