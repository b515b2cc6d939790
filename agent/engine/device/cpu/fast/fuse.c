// SPDX-License-Identifier: Apache-2.0
// Which nodes are fused into one step. Convolutions are fused with the nodes before them (padding,
// doubling) and after them (batch and instance normalisation, residual, relu), additions with a
// relu.
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "agent/engine/device/cpu/fast/fuse.h"
#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/infer/norm.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/infer/resize.h"
#include "agent/engine/ops/infer/window.h"
#include "agent/engine/ops/table.h"

// The elements of a node's input if it is a lasting float32 constant; NULL if absent or computed.
static const float *constant_of(const struct schedule *schedule, const struct node *node,
                                int index) {
    int slot = index < node->input_count ? node->inputs[index] : -1;
    if (slot < 0 || schedule->slots[slot].type != TENSOR_FLOAT32 ||
        !schedule->slots[slot].is_lasting) {
        return NULL;
    }
    return schedule->slots[slot].constant;
}

/* ---- before the convolution ------------------------------------------------------------------ */

// The step that makes the convolution's input, if it has this operator and nothing else reads the
// input.
static struct step *maker_for(struct schedule *schedule, const struct step *conv, int id) {
    struct step *maker = schedule_producer(schedule, conv->inputs[0]);
    return step_is_op(maker, id) && fuse_is_activation(schedule, maker->inputs[0]) &&
                   schedule_only_user(schedule, conv->inputs[0]) == conv
               ? maker
               : NULL;
}

static void drop_maker(struct schedule *schedule, struct step *conv, struct step *maker) {
    schedule->slots[conv->inputs[0]].place = PLACE_NONE;
    conv->inputs[0] = maker->inputs[0];
    *maker = (struct step){0};
}

// Reads a Pad of height and width alone. False: it pads other dimensions, too much, or with another
// number than 0.
static bool read_pad(const struct schedule *schedule, const struct step *step,
                     struct pad *ret_pad) {
    struct node_facts facts;
    struct error err = {0};
    if (pad_params(step->node, schedule_facts(schedule, step->node, &facts), ret_pad, &err) < 0) {
        return false;
    }
    bool whole = !ret_pad->begin[0] && !ret_pad->end[0] && !ret_pad->begin[1] && !ret_pad->end[1];
    for (int i = 2; i < 4; i++) {
        whole = whole && ret_pad->begin[i] >= 0 && ret_pad->end[i] >= 0 &&
                ret_pad->begin[i] <= FUSE_WINDOW_MAX && ret_pad->end[i] <= FUSE_WINDOW_MAX;
    }
    bool has_value = step->node->input_count > 2 && step->node->inputs[2] >= 0;
    const float *value = has_value ? constant_of(schedule, step->node, 2) : &ret_pad->value;
    return whole && (ret_pad->mode != PAD_CONSTANT || (value && *value == 0));
}

static void take_pad(struct schedule *schedule, struct step *conv, struct conv_shape *shape) {
    struct step *maker = maker_for(schedule, conv, OP_PAD);
    struct pad pad;
    if (!maker || shape->pad_top || shape->pad_left || shape->pad_bottom || shape->pad_right ||
        !read_pad(schedule, maker, &pad)) {
        return;
    }
    shape->border = pad.mode == PAD_REFLECT ? BORDER_REFLECT
                    : pad.mode == PAD_EDGE  ? BORDER_EDGE
                                            : BORDER_ZERO;
    shape->pad_top = (int)pad.begin[2];
    shape->pad_left = (int)pad.begin[3];
    shape->pad_bottom = (int)pad.end[2];
    shape->pad_right = (int)pad.end[3];
    shape->in_h -= shape->pad_top + shape->pad_bottom;
    shape->in_w -= shape->pad_left + shape->pad_right;
    drop_maker(schedule, conv, maker);
}

// Zeros around the input of an average pool that has no padding of its own: they count.
static void take_pool_pad(struct schedule *schedule, struct step *step, struct pool_step *pool) {
    struct window *window = &pool->window;
    struct step *maker = maker_for(schedule, step, OP_PAD);
    struct pad pad;
    bool has_own =
        window->pad_begin[1] || window->pad_begin[2] || window->pad_end[1] || window->pad_end[2];
    if (!pool->is_average || !maker || has_own || !read_pad(schedule, maker, &pad) ||
        pad.mode != PAD_CONSTANT) {
        return;
    }
    for (int i = 1; i < WINDOW_RANK; i++) {
        window->pad_begin[i] = pad.begin[i + 1];
        window->pad_end[i] = pad.end[i + 1];
        window->in[i] -= pad.begin[i + 1] + pad.end[i + 1];
    }
    pool->counts_pads = true;
    drop_maker(schedule, step, maker);
}

// Whether the resize repeats every pixel of the source twice.
static bool doubles(const struct schedule *schedule, const struct step *step) {
    struct node_facts facts;
    struct resize resize;
    struct error err = {0};
    if (resize_params(step->node, schedule_facts(schedule, step->node, &facts), &resize, &err) <
            0 ||
        resize.is_linear) {
        return false;
    }
    const struct shape *x = &schedule->slots[step->inputs[0]].shape;
    bool same = resize.output.dims[0] == x->dims[0] && resize.output.dims[1] == x->dims[1];
    for (int axis = 2; axis < 4 && same; axis++) {
        same = resize.output.dims[axis] == 2 * x->dims[axis];
        for (int64_t i = 0; i < resize.output.dims[axis] && same; i++) {
            float source = resize_source(&resize, x, axis, i);
            same =
                resize_nearest_pixel(&resize, source, resize.scales[axis], x->dims[axis]) == i / 2;
        }
    }
    return same;
}

static void take_doubling(struct schedule *schedule, struct step *conv, struct conv_shape *shape) {
    struct step *maker = maker_for(schedule, conv, OP_RESIZE);
    maker = maker ? maker : maker_for(schedule, conv, OP_UPSAMPLE);
    if (maker && doubles(schedule, maker)) {
        shape->doubled = true;
        shape->in_h /= 2;
        shape->in_w /= 2;
        drop_maker(schedule, conv, maker);
    }
}

/* ---- behind the convolution ------------------------------------------------------------------ */

bool fuse_batch_norm(const struct schedule *schedule, const struct step *step, size_t channels,
                     float **ret_scale, float **ret_shift) {
    const float *constants[4];
    for (int i = 0; i < 4; i++) {
        constants[i] = constant_of(schedule, step->node, i + 1);
        if (!constants[i]) {
            return false;
        }
    }
    if (step->output_count > 1 && step->outputs[1] >= 0) {
        return false;
    }
    *ret_scale = x_calloc(channels, sizeof **ret_scale);
    *ret_shift = x_calloc(channels, sizeof **ret_shift);
    norm_batch_affine(step->node, constants, channels, *ret_scale, *ret_shift);
    return true;
}

static bool take_batch_norm(const struct schedule *schedule, struct conv_step *conv,
                            const struct step *user) {
    float *scale, *shift;
    if (!fuse_batch_norm(schedule, user, (size_t)conv->shape.channels_out, &scale, &shift)) {
        return false;
    }
    conv->source.scale = scale;
    conv->source.shift = shift;
    conv->norm_key = constant_of(schedule, user->node, 1);
    return true;
}

static bool take_instance_norm(const struct schedule *schedule, struct conv_step *conv,
                               const struct step *user) {
    conv->gamma = constant_of(schedule, user->node, 1);
    conv->beta = constant_of(schedule, user->node, 2);
    conv->epsilon = node_number(user->node, "epsilon", 1e-5F);
    conv->normed = conv->gamma && conv->beta;
    return conv->normed;
}

bool fuse_bounds(const struct schedule *schedule, const struct step *step, float *ret_low,
                 float *ret_high) {
    const struct node *node = step->node;
    if (node->op->id == OP_RELU) {
        *ret_low = 0;
        *ret_high = INFINITY;
        return true;
    }
    float bounds[2] = {node_number(node, "min", -INFINITY), node_number(node, "max", INFINITY)};
    for (int i = 0; i < 2; i++) {
        if (i + 1 < node->input_count && node->inputs[i + 1] >= 0) {
            const float *value = constant_of(schedule, node, i + 1);
            if (!value) {
                return false;
            }
            bounds[i] = *value;
        }
    }
    *ret_low = bounds[0];
    *ret_high = bounds[1];
    return true;
}

static bool take_bounds(const struct schedule *schedule, struct conv_step *conv,
                        const struct step *user) {
    float low, high;
    if (!fuse_bounds(schedule, user, &low, &high)) {
        return false;
    }
    if (conv->normed) {
        conv->relu_after_norm = low == 0 && isinf(high);
        return conv->relu_after_norm;
    }
    conv->low = low;
    conv->high = high;
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

// Makes the state for a convolution that these kernels support, with nothing fused yet; else NULL.
static struct conv_step *conv_step_new(const struct vector_ops *ops,
                                       const struct schedule *schedule, const struct step *step) {
    struct conv_shape shape;
    const float *weights = constant_of(schedule, step->node, 1);
    bool has_bias = step->node->input_count > 2 && step->node->inputs[2] >= 0;
    const float *bias = constant_of(schedule, step->node, 2);
    if (!weights || has_bias != (bias != NULL) || !fuse_is_volume(schedule, step->inputs[0]) ||
        !fuse_is_volume(schedule, step->outputs[0]) ||
        !fuse_conv_shape(ops, schedule, step, &shape)) {
        return NULL;
    }
    struct conv_step *conv = x_calloc(1, sizeof *conv);
    *conv = (struct conv_step){
        .node = step->node,
        .shape = shape,
        .source = {.weights = weights, .bias = bias, .transposed = shape.transposed},
        .low = -INFINITY,
        .high = INFINITY,
        .add = -1,
        .gate = -1};
    return conv;
}

// Fuses a depthwise convolution with the 1x1 convolution before it. The value between the two,
// which is the largest in networks with such pairs, is never stored completely.
static struct conv_step *take_depthwise(const struct vector_ops *ops,
                                        const struct schedule *schedule, struct conv_step *first,
                                        const struct step *user) {
    const struct conv_shape *s = &first->shape;
    bool fits = !first->first && !s->depthwise && s->groups <= 1 && !s->transposed &&
                s->kernel_h == 1 && s->kernel_w == 1 && s->stride_h == 1 && s->stride_w == 1 &&
                !s->doubled && !s->pad_top && !s->pad_left && !s->pad_bottom && !s->pad_right &&
                !first->normed && first->add < 0;
    struct conv_step *conv = fits ? conv_step_new(ops, schedule, user) : NULL;
    if (conv && !(conv->shape.depthwise && conv_shape_finish(&conv->shape))) {
        step_conv_free(conv);
        conv = NULL;
    }
    return conv;
}

static struct step *absorb_users(const struct vector_ops *ops, struct schedule *schedule,
                                 struct step *step) {
    struct conv_step *conv = step->state;
    bool finished = false;
    while (!finished) {
        struct step *user = schedule_only_user(schedule, step->outputs[0]);
        bool plain = !conv->normed && conv->add < 0 && isinf(conv->low) && isinf(conv->high);
        struct conv_step *second = NULL;
        int other = -1;
        finished = true;
        if (step_is_op(user, OP_BATCH_NORMALIZATION) && plain && !conv->source.scale) {
            finished = !take_batch_norm(schedule, conv, user);
        } else if (step_is_op(user, OP_INSTANCE_NORMALIZATION) && plain &&
                   !conv->shape.depth.kernel) {
            finished = !take_instance_norm(schedule, conv, user);
        } else if ((step_is_op(user, OP_RELU) || step_is_op(user, OP_CLIP)) &&
                   (isinf(conv->low) && isinf(conv->high)) && !conv->relu_after_norm) {
            finished = !take_bounds(schedule, conv, user);
        } else if (step_is_op(user, OP_CONV) &&
                   (second = take_depthwise(ops, schedule, conv, user))) {
            second->first = conv;
            step->state = conv = second;
            finished = false;
        } else if (step_is_op(user, OP_ADD) && plain &&
                   conv->shape.channels_out > THIN_OUTPUTS_MAX) {
            other = fuse_other_operand(schedule, user, step->outputs[0]);
            finished = other < 0;
        }
        if (!finished) {
            step = schedule_absorb(schedule, step, user);
            conv->add = other >= 0 ? schedule_add_input(schedule, step, other) : conv->add;
        }
    }
    return step;
}

// Fuses SiLU or HardSwish of a 1x1 convolution's result and the depthwise convolution that reads
// that; returns their step. NULL: there is no such activation, no such convolution follows it, or
// others read one of the two values; nothing is fused then.
static struct step *take_activated(const struct vector_ops *ops, struct schedule *schedule,
                                   struct step *step) {
    struct conv_step *conv = step->state;
    struct fuse_activation found;
    if (!fuse_find_activation(ops, schedule, step->outputs[0], &found)) {
        return NULL;
    }
    struct step *user = schedule_only_user(schedule, found.last->outputs[0]);
    struct conv_step *second =
        step_is_op(user, OP_CONV) ? take_depthwise(ops, schedule, conv, user) : NULL;
    if (!second) {
        return NULL;
    }
    if (found.gate) {
        schedule->slots[found.gate->outputs[0]].place = PLACE_NONE;
        *found.gate = (struct step){0};
    }
    conv->activate = found.run;
    second->first = conv;
    step->state = second;
    step = schedule_absorb(schedule, step, found.last);
    return schedule_absorb(schedule, step, user);
}

static void make_conv(const struct vector_ops *ops, struct schedule *schedule, struct step *step) {
    struct conv_step *conv = conv_step_new(ops, schedule, step);
    if (!conv) {
        return;
    }
    if (!conv->shape.transposed && fuse_is_activation(schedule, step->inputs[0])) {
        take_pad(schedule, step, &conv->shape);
        take_doubling(schedule, step, &conv->shape);
    }
    bool fits = conv_shape_finish(&conv->shape); // shape inference has accepted the same padding
    assert(fits);
    (void)fits;
    step->state = conv;
    step->release = step_conv_free;
    step->kernel = &fast_conv;
    step = take_activated(ops, schedule, absorb_users(ops, schedule, step));
    if (step) {
        absorb_users(ops, schedule, step);
    }
}

// Whether the step that makes the slot will be part of a chain (../chain): then it is better that
// its reader is, too.
static bool is_made_by_chain(const struct schedule *schedule, int slot) {
    const struct step *maker = schedule_producer(schedule, slot);
    switch (maker && !maker->kernel ? maker->node->op->id : -1) {
    case OP_BATCH_NORMALIZATION:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_SIGMOID:
    case OP_HARD_SIGMOID:
    case OP_HARD_SWISH:
    case OP_TANH:
        return true;
    default:
        return false;
    }
}

// Additions of two activations of the same shape, and relus that are not fused.
static void make_combine(struct schedule *schedule, struct step *step) {
    struct combine_step combine = {.low = -INFINITY, .high = INFINITY};
    bool adds = combine.adds = step->node->op->id == OP_ADD;
    if (!fuse_is_volume(schedule, step->inputs[0]) || !fuse_is_volume(schedule, step->outputs[0]) ||
        (adds && fuse_other_operand(schedule, step, step->inputs[0]) < 0) ||
        (!adds && !fuse_bounds(schedule, step, &combine.low, &combine.high)) ||
        is_made_by_chain(schedule, step->inputs[0]) ||
        (adds && is_made_by_chain(schedule, step->inputs[1]))) {
        return;
    }
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    if (adds && (step_is_op(user, OP_RELU) || step_is_op(user, OP_CLIP)) &&
        fuse_bounds(schedule, user, &combine.low, &combine.high)) {
        step = schedule_absorb(schedule, step, user);
    }
    step->state = x_calloc(1, sizeof combine);
    *(struct combine_step *)step->state = combine;
    step->release = free;
    step->kernel = &fast_combine;
}

// Whether the reduction is the mean of each plane, as exporters write a global pool.
static bool means_planes(const struct schedule *schedule, const struct step *step) {
    struct node_facts facts;
    struct reduce reduce;
    struct error err = {0};
    if (!fuse_is_volume(schedule, step->inputs[0]) ||
        reduce_params(step->node, schedule_facts(schedule, step->node, &facts), &reduce, &err) <
            0) {
        return false;
    }
    bool means = !reduce.is_reduced[0] && !reduce.is_reduced[1];
    for (int i = 2; i < schedule->slots[step->inputs[0]].shape.rank; i++) {
        means = means && reduce.is_reduced[i];
    }
    return means;
}

static void make_pool(struct schedule *schedule, struct step *step) {
    struct node_facts facts;
    struct pool_step pool = {.out_layout = 0};
    struct error err = {0};
    if (!fuse_is_volume(schedule, step->inputs[0]) || !fuse_is_volume(schedule, step->outputs[0])) {
        return;
    }
    if (step->node->op->id == OP_GLOBAL_AVERAGE_POOL) {
        step->kernel = &fast_global_pool;
        return;
    }
    bool has_indices = step->output_count > 1 && step->outputs[1] >= 0;
    const struct window *window = &pool.window;
    if (has_indices ||
        window_of_pool(step->node, schedule_facts(schedule, step->node, &facts), &pool.window,
                       &err) < 0 ||
        !fuse_window_is_modest(window) ||
        window->dilation[0] * window->dilation[1] * window->dilation[2] != 1 ||
        window->kernel[0] * window->kernel[1] > FUSE_WINDOW_MAX) {
        return;
    }
    pool.is_average = step->node->op->id == OP_AVERAGE_POOL;
    pool.counts_pads = node_integer(step->node, "count_include_pad", 0);
    take_pool_pad(schedule, step, &pool);
    step->state = x_calloc(1, sizeof pool);
    *(struct pool_step *)step->state = pool;
    step->release = free;
    step->kernel = &fast_pool;
}

// Concatenations of channels; whether blocks can be copied is decided when the layouts are known.
static void make_concat(struct schedule *schedule, struct step *step) {
    bool fits = fuse_is_volume(schedule, step->outputs[0]);
    for (int i = 0; i < step->input_count; i++) {
        fits = fits && step->inputs[i] >= 0 && fuse_is_volume(schedule, step->inputs[i]);
    }
    int64_t axis = node_integer(step->node, "axis", 1);
    if (fits && (axis == 1 || axis == 1 - schedule->slots[step->outputs[0]].shape.rank)) {
        step->kernel = &fast_concat;
    }
}

// Those that no convolution takes.
static void make_resize(struct schedule *schedule, struct step *step) {
    struct node_facts facts;
    struct resize resize;
    struct error err = {0};
    if (!fuse_is_activation(schedule, step->inputs[0]) ||
        !fuse_is_activation(schedule, step->outputs[0]) ||
        resize_params(step->node, schedule_facts(schedule, step->node, &facts), &resize, &err) <
            0) {
        error_clear(&err);
        return;
    }
    step->state = step_resize_new(&resize, &schedule->slots[step->inputs[0]].shape);
    step->release = step->state ? step_resize_free : NULL;
    step->kernel = step->state ? &fast_resize : NULL;
}

void fuse_steps(const struct vector_ops *ops, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (!step->node || step->kernel) {
            continue;
        }
        switch (step->node->op->id) {
        case OP_CONV:
        case OP_CONV_TRANSPOSE:
            make_conv(ops, schedule, step);
            break;
        case OP_ADD:
        case OP_RELU:
        case OP_CLIP:
            make_combine(schedule, step);
            break;
        case OP_CONCAT:
            make_concat(schedule, step);
            break;
        case OP_REDUCE_MEAN:
            step->kernel = means_planes(schedule, step) ? &fast_global_pool : NULL;
            break;
        case OP_AVERAGE_POOL:
        case OP_MAX_POOL:
        case OP_GLOBAL_AVERAGE_POOL:
            make_pool(schedule, step);
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (step_is_op(step, OP_RESIZE) || step_is_op(step, OP_UPSAMPLE)) {
            make_resize(schedule, step);
        }
    }
}
