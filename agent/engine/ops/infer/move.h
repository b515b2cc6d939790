/* move.h: operators that move elements: parameters that kernels share with the shape rules. */
#pragma once

#include "agent/engine/graph/node.h"

/* Slice of all opsets: output element i of a dimension is input element start + i * step. */
struct slice {
    int64_t start[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX], size[TENSOR_RANK_MAX];
};
NODISCARD int slice_params(const struct node *node, const struct fact *const *inputs,
                           struct slice *ret_slice, struct error *err);

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };
struct pad {
    enum pad_mode mode;
    int64_t begin[TENSOR_RANK_MAX], end[TENSOR_RANK_MAX]; /* negative: elements are removed */
    float value; /* from the attribute (opset 2); later opsets use input 2 */
};
/* For Pad, and for CenterCropPad, which pads or crops both sides; an odd one is at the end. */
NODISCARD int pad_params(const struct node *node, const struct fact *const *inputs,
                         struct pad *ret_pad, struct error *err);

/* The order of the input's dimensions in the output. */
NODISCARD int move_transpose_order(const struct node *node, int rank,
                                   int ret_order[TENSOR_RANK_MAX], struct error *err);

NODISCARD int infer_concat(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_split(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
NODISCARD int infer_slice(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
NODISCARD int infer_center_crop_pad(const struct node *node, const struct fact *const *inputs,
                                    struct fact *outputs, struct error *err);
NODISCARD int infer_pad(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);
NODISCARD int infer_transpose(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
NODISCARD int infer_gather(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_expand(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_tile(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_depth_to_space(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
NODISCARD int infer_space_to_depth(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
