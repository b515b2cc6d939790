// SPDX-License-Identifier: Apache-2.0
// Which shapes and windows the fast kernels take, and a convolution's shape as they compute it.
#include "agent/engine/device/cpu/fast/fuse.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/table.h"

// Larger values are left to the plain kernels, because the fast ones count in ints.
// Each thread has room for some rows of blocks, so rows of more than WIDTH_MAX pixels (long
// signals) would take much of the memory.
enum {
    BATCH_MAX = 1 << 16,
    CHANNELS_MAX = 1 << 16,
    SIDE_MAX = 1 << 24,
    WIDTH_MAX = 1 << 16,
};

bool fuse_is_activation(const struct schedule *schedule, int slot) {
    return schedule->slots[slot].shape.rank == 4 && fuse_is_volume(schedule, slot);
}

bool fuse_is_volume(const struct schedule *schedule, int slot) {
    const struct schedule_slot *s = &schedule->slots[slot];
    const int64_t *dims = s->shape.dims;
    int rank = s->shape.rank;
    bool fits = s->type == TENSOR_FLOAT32 && (rank == 4 || rank == 5);
    int64_t count = fits ? shape_count(&s->shape) : 0;
    return count > 0 && count < (int64_t)1 << 30 && dims[0] <= BATCH_MAX &&
           dims[1] <= CHANNELS_MAX && dims[2] * (rank == 5 ? dims[3] : 1) <= SIDE_MAX &&
           dims[rank - 1] <= WIDTH_MAX;
}

bool fuse_window_is_modest(const struct window *window) {
    bool modest = window->rank >= 2;
    for (int i = WINDOW_RANK - window->rank; i < WINDOW_RANK && modest; i++) {
        modest = window->kernel[i] <= FUSE_WINDOW_MAX && window->stride[i] <= FUSE_WINDOW_MAX / 8 &&
                 window->dilation[i] * (window->kernel[i] - 1) < FUSE_WINDOW_MAX &&
                 window->dilation[i] <= FUSE_WINDOW_MAX && window->pad_begin[i] >= 0 &&
                 window->pad_begin[i] <= FUSE_WINDOW_MAX && window->pad_end[i] >= 0 &&
                 window->pad_end[i] <= FUSE_WINDOW_MAX;
    }
    return modest;
}

bool fuse_window_fits(const struct window *window) {
    return window->rank == 2 && fuse_window_is_modest(window);
}

// The stride of a transposed convolution. A single pixel may have any stride: the kernel's size
// gives each phase one element.
static int up_of(const struct window *window, int dim) {
    bool single = window->in[dim] == 1 && window->pad_begin[dim] == 0 &&
                  window->out[dim] == window->kernel[dim];
    return (int)(single ? window->kernel[dim] : window->stride[dim]);
}

// The third dimension. False: the shape is not supported with one.
static bool add_depth(const struct window *window, struct conv_shape *shape) {
    const struct conv_depth depth = {
        .in = (int)window->in[0],
        .out = (int)window->out[0],
        .kernel = (int)window->kernel[0],
        .stride = (int)window->stride[0],
        .dilation = (int)window->dilation[0],
        .pad = (int)window->pad_begin[0],
        .channels = shape->channels_in,
    };
    bool is_point = window->kernel[0] * window->kernel[1] * window->kernel[2] == 1;
    for (int i = 0; i < WINDOW_RANK && is_point; i++) {
        is_point = window->stride[i] == 1 && window->pad_begin[i] == 0 && window->pad_end[i] == 0;
    }
    if (is_point) { // the planes are rows of one image
        shape->in_h *= depth.in;
        shape->out_h *= depth.in;
    } else {
        shape->depth = depth;
    }
    int64_t channels = (int64_t)depth.kernel * shape->channels_in;
    return shape->groups <= 1 && !shape->depthwise && !shape->transposed &&
           channels <= CHANNELS_MAX && (int64_t)shape->n * depth.out <= BATCH_MAX;
}

bool fuse_conv_shape(const struct vector_ops *ops, const struct schedule *schedule,
                     const struct step *step, struct conv_shape *ret_shape) {
    struct node_facts facts;
    struct window window;
    struct error err = {0};
    const struct node *node = step->node;
    bool transposed = node->op->id == OP_CONV_TRANSPOSE;
    const struct fact *const *inputs = schedule_facts(schedule, node, &facts);
    if ((transposed ? window_of_conv_transpose(node, inputs, &window, &err)
                    : window_of_conv(node, inputs, &window, &err)) < 0 ||
        !fuse_window_is_modest(&window)) {
        error_clear(&err);
        return false;
    }
    const struct shape *x = &schedule->slots[node->inputs[0]].shape;
    const struct shape *w = &schedule->slots[node->inputs[1]].shape;
    bool depthwise =
        window.groups > 1 && window.groups == x->dims[1] && w->dims[0] == x->dims[1] && !transposed;
    struct conv_shape shape = {
        .n = (int)x->dims[0],
        .channels_in = (int)x->dims[1],
        .channels_out = (int)(transposed ? w->dims[1] * window.groups : w->dims[0]),
        .depthwise = depthwise,
        .groups = depthwise ? 1 : (int)window.groups,
        .is_whole = node_integer(node, PARAM_IS_WHOLE, 0) == PARAM_EXACT,
        .in_h = (int)window.in[1],
        .in_w = (int)window.in[2],
        .kernel_h = (int)window.kernel[1],
        .kernel_w = (int)window.kernel[2],
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = (int)window.dilation[1],
        .dilation_w = (int)window.dilation[2],
        .out_h = (int)window.out[1],
        .out_w = (int)window.out[2],
        .transposed = transposed,
    };
    if (transposed) {
        shape.up_h = up_of(&window, 1);
        shape.up_w = up_of(&window, 2);
        shape.crop_top = (int)window.pad_begin[1];
        shape.crop_left = (int)window.pad_begin[2];
    } else {
        shape.stride_h = (int)window.stride[1];
        shape.stride_w = (int)window.stride[2];
        shape.pad_top = (int)window.pad_begin[1];
        shape.pad_left = (int)window.pad_begin[2];
        shape.pad_bottom = (int)window.pad_end[1];
        shape.pad_right = (int)window.pad_end[2];
    }
    bool fits = window.rank == 2 || add_depth(&window, &shape);
    int out_h = shape.out_h, out_w = shape.out_w;
    *ret_shape = shape;
    bool is_grouped =
        !transposed && (conv_groups_fit(ops, &shape) || conv_groups_share(ops, &shape));
    return fits && (shape.groups <= 1 || is_grouped) && conv_shape_finish(&shape) &&
           shape.out_h == out_h && shape.out_w == out_w;
}
