/* description.h: cuDNN's descriptors of a convolution, for the forward and backward direction. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/device/cuda/task.h"

struct description {
    struct gpu *gpu;
    struct kernels_window window;
    bool is_channels_last;          /* x, y and filter are channels last, in the device's type */
    bool is_padded;                 /* x already contains its pads, because they differ by side */
    int64_t x_channels, y_channels; /* rounded up if channels last */
    /* NULL before description_make. The filter is [y_channels, x_channels / groups, h, w]. */
    cudnnTensorDescriptor_t x, y, channel;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
};

/* Whether the window has two dimensions and sizes that fit into cuDNN's ints. */
bool description_fits(const struct kernels_window *window);
/* Makes the descriptors from the fields before them. Returns a cudnnStatus_t. Call
 * description_release after a failure, too. */
int description_make(struct description *description);
void description_release(struct description *description);
/* Whether computed weights, [m, c, h, w], can be the filter without conversion if they are channels
 * last: no groups, and channels that fill all lanes. */
bool description_keeps_weights(const struct task_operand *weights,
                               const struct kernels_window *window);
