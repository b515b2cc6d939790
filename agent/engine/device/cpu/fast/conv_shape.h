/* conv_shape.h: the sizes of a convolution, and how groups and transposed convolutions are computed
 * as plain ones. */
#pragma once

#include "agent/engine/device/cpu/vector/vector.h"

/* The third dimension of a convolution. Each plane of the output is an image of its own, and its
 * input has the channels of all planes that the kernel covers (conv_shape_unfold); in memory the
 * planes of a channel, or of a block of channels, are adjacent. */
struct conv_depth {
    int in, out, kernel; /* planes; kernel 0: there are two dimensions */
    int stride, dilation, pad;
    int channels; /* of the input in memory */
    int step;     /* from the channels of a plane to those of the next one; 0: not unfolded yet */
};

struct conv_shape {
    int n, channels_in, channels_out;
    bool depthwise; /* channels_in is channels_out, weights are [out, 1, kh, kw] */
    int groups; /* 0 and 1: one. Else they fit or share blocks (below), and the weights are [out, in
                   / groups, kh, kw] */
    int in_h, in_w; /* the source in memory */
    bool is_whole;  /* whole numbers: no algorithm that rounds */
    bool doubled;   /* each pixel is read as 2x2 equal ones (nearest-neighbour upsampling by 2) */
    int pad_top, pad_left, pad_bottom, pad_right;
    enum border border;
    int kernel_h, kernel_w, stride_h, stride_w;
    int dilation_h, dilation_w;           /* 0 means 1 */
    int extent_h, extent_w, out_h, out_w; /* extent: of the dilated kernel; conv_shape_finish */
    /* A transposed convolution, with weights [in, out, kh, kw] and strides up_h, up_w. Its outputs
     * are up_h * up_w convolutions of stride 1, the phases: phase i, j makes the outputs
     * (y up_h + i, x up_w + j) of the grid's pixels (y, x). They read one window, each with its own
     * part of the kernel; pads and extents are the window's (conv_shape_finish). */
    bool transposed;
    int up_h, up_w;          /* else 0 */
    int crop_top, crop_left; /* pads of the node: outputs that are left out */
    /* Not with groups, depthwise or transposed; the border is zeros. Until it is unfolded, n and
     * channels_in are the tensor's. */
    struct conv_depth depth;
};

/* Whether a group's channels, in and out, fill whole blocks: with zeros for those of other groups
 * an infinite value would spoil these. */
bool conv_groups_fit(const struct vector_ops *ops, const struct conv_shape *shape);
/* Whether a block is several whole groups, with as many outputs as inputs: it is computed as a
 * depthwise convolution whose lanes also read those of their group. */
bool conv_groups_share(const struct vector_ops *ops, const struct conv_shape *shape);
/* The input channels that an output reads. */
static inline int conv_group_reads(const struct conv_shape *shape) {
    return shape->depthwise ? 1 : shape->channels_in / MAX(shape->groups, 1);
}
/* The shape whose images are the planes of the output; one of two dimensions as it is. planar: the
 * input's channels are read one by one, not in blocks. */
struct conv_shape conv_shape_unfold(const struct vector_ops *ops, const struct conv_shape *shape,
                                    bool planar);
/* Computes extent and out; false if the kernel or a reflection does not fit the activation. Of a
 * transposed convolution: computes pads and extents from the other fields, out included; false if
 * these kernels do not support it. */
bool conv_shape_finish(struct conv_shape *shape);
/* The outputs of one phase. */
static inline int conv_grid_h(const struct conv_shape *shape) {
    return shape->out_h / MAX(shape->up_h, 1);
}
static inline int conv_grid_w(const struct conv_shape *shape) {
    return shape->out_w / MAX(shape->up_w, 1);
}
static inline int conv_phase_count(const struct conv_shape *shape) {
    return MAX(shape->up_h, 1) * MAX(shape->up_w, 1);
}
/* What a phase reads along a dimension: pixel first + k of the window, for k < count (times the
 * dilation), with element `element` + k * step of the kernel. A convolution that is not transposed
 * has one phase. */
struct conv_taps {
    int first, count, element, step;
};
struct conv_taps conv_taps_h(const struct conv_shape *shape, int phase);
struct conv_taps conv_taps_w(const struct conv_shape *shape, int phase);
