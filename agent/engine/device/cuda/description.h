/* description.h: a convolution as cuDNN describes it, forwards and backwards. */
#pragma once

#include "agent/engine/device/cuda/gpu.h"

struct description {
    struct gpu *gpu;
    struct kernels_window window;
    bool is_last;                   /* all three: channels last, in the device's type */
    bool is_padded;                 /* x comes with its pads, which differ by side */
    int64_t x_channels, y_channels; /* with padding, where it is channels last */
    /* NULL until described. The filter is [y_channels, x_channels / groups, h, w]. */
    cudnnTensorDescriptor_t x, y, channel;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
};

/* Numbers that cuDNN counts in ints, of two dimensions. */
bool description_fits(const struct kernels_window *window);
/* From all before the descriptors, to these. A cudnnStatus_t; what was made is released by
 * description_release, after a failure, too. */
int description_make(struct description *description);
void description_release(struct description *description);
/* Weights that are computed, [m, c, h, w], may be the filter as they are channels last: no groups,
 * and filters that fill lanes. */
bool description_keeps_weights(const struct operand *weights, const struct kernels_window *window);
