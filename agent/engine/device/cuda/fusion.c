// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/fusion.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/infer/resize.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct fused nothing = {.add = -1, .low = -INFINITY, .high = INFINITY, .repeat = 1};

struct fused fusion_of(const struct step *step) {
    return step->state ? *(const struct fused *)step->state : nothing;
}

static struct fused *begin(struct step *step) {
    if (!step->state) {
        step->state = x_calloc(1, sizeof nothing);
        *(struct fused *)step->state = nothing;
        step->release = free;
    }
    return step->state;
}

static bool is_op(const struct step *step, int id) {
    return step && step->node && !step->state && step->node->op->id == id;
}

/* False if the values are computed in the run. */
static bool clip_bounds_of(const struct schedule *schedule, const struct node *node,
                           float bounds[static 2]) {
    bounds[0] = node_number(node, "min", -INFINITY);
    bounds[1] = node_number(node, "max", INFINITY);
    for (int i = 0; i < 2; i++) {
        if (i + 1 < node->input_count && node->inputs[i + 1] >= 0) {
            const float *value = preparation_weights(schedule, node, i + 1);
            if (!value) {
                return false;
            }
            bounds[i] = *value;
        }
    }
    return true;
}

/* The bounds of a Relu or a float32 Clip; false if they are computed in the run, or infinite. */
static bool bounds_of(const struct schedule *schedule, const struct step *step, float *ret_low,
                      float *ret_high) {
    float bounds[2] = {0, INFINITY};
    if (step->node->op->id == OP_CLIP && !clip_bounds_of(schedule, step->node, bounds)) {
        return false;
    }
    *ret_low = bounds[0];
    *ret_high = bounds[1];
    return bounds[0] <= bounds[1];
}

static bool is_bound(const struct step *user) {
    return is_op(user, OP_RELU) || is_op(user, OP_CLIP);
}

/* The addition's other operand, if it has the same shape and a step makes it; else -1. */
static int other_of(const struct schedule *schedule, const struct step *add, int slot) {
    int other = add->inputs[0] == slot ? add->inputs[1] : add->inputs[0];
    return other >= 0 && other != slot && schedule->slots[other].place != PLACE_CONSTANT &&
                   shape_equal(&schedule->slots[slot].shape, &schedule->slots[other].shape)
               ? other
               : -1;
}

static struct step *take_bounds(struct schedule *schedule, struct step *step, struct step *user) {
    float low, high;
    if (!bounds_of(schedule, user, &low, &high)) {
        return NULL;
    }
    struct fused *fused = begin(step);
    fused->low = low;
    fused->high = high;
    fused->has_bounds = true;
    return schedule_absorb(schedule, step, user);
}

static struct step *take_add(struct schedule *schedule, struct step *step, struct step *user) {
    int other = other_of(schedule, user, step->outputs[0]);
    if (other < 0) {
        return NULL;
    }
    struct fused *fused = begin(step);
    fused->adds_last = fused->has_bounds;
    step = schedule_absorb(schedule, step, user);
    ((struct fused *)step->state)->add = schedule_add_input(schedule, step, other);
    return step;
}

static bool norm_is_constant(const struct schedule *schedule, const struct step *user) {
    for (int i = 1; i < 5; i++) {
        if (!preparation_weights(schedule, user->node, i)) {
            return false;
        }
    }
    return user->output_count < 2 || user->outputs[1] < 0;
}

/* Conv, then in this order: BatchNormalization, Add, Relu or Clip. */
static void fuse_conv(struct gpu *gpu, struct schedule *schedule, struct step *step) {
    const struct node *node = step->node;
    bool is_packed =
        preparation_weights(schedule, node, 1) &&
        (node->input_count < 3 || node->inputs[2] < 0 || preparation_weights(schedule, node, 2));
    for (struct step *next = step; next;) {
        step = next;
        struct fused fused = fusion_of(step);
        struct step *user = schedule_only_user(schedule, step->outputs[0]);
        next = NULL;
        if (is_op(user, OP_BATCH_NORMALIZATION) && is_packed && !fused.norm && fused.add < 0 &&
            !fused.has_bounds && norm_is_constant(schedule, user)) {
            begin(step)->norm = user->node;
            next = schedule_absorb(schedule, step, user);
        } else if (is_op(user, OP_ADD) && fused.add < 0 && !fused.has_bounds) {
            next = take_add(schedule, step, user);
        } else if (is_bound(user) && !fused.has_bounds) {
            next = take_bounds(schedule, step, user);
        } else if (is_op(user, OP_INSTANCE_NORMALIZATION) && is_packed && fused.add < 0 &&
                   !fused.has_bounds && gpu->type != KERNELS_FLOAT32) {
            begin(step)->drops_bias = true;
        }
    }
}

static void fuse_bounds(struct schedule *schedule, struct step *step) {
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    if (is_bound(user) && schedule->slots[step->outputs[0]].type == TENSOR_FLOAT32) {
        (void)take_bounds(schedule, step, user);
    }
}

/* How often a resize repeats each pixel in both directions (nearest neighbours); 0: another
 * resize. */
static int repeat_of(const struct schedule *schedule, const struct step *step) {
    struct node_facts facts;
    struct resize resize;
    struct error err = {0};
    const struct shape *x = &schedule->slots[step->inputs[0]].shape;
    if (x->rank != 4 ||
        resize_params(step->node, schedule_facts(schedule, step->node, &facts), &resize, &err) <
            0 ||
        resize.is_linear || resize.is_cubic || resize.coordinates == RESIZE_TF_CROP ||
        shape_count(x) <= 0) {
        return 0;
    }
    int64_t repeat = resize.output.dims[2] / x->dims[2];
    if (repeat < 1 || repeat > 16 || resize.output.dims[0] != x->dims[0] ||
        resize.output.dims[1] != x->dims[1]) {
        return 0;
    }
    for (int axis = 2; axis < 4; axis++) {
        for (int64_t i = 0; i < resize.output.dims[axis]; i++) {
            float source = resize_source(&resize, x, axis, i);
            if (resize.output.dims[axis] != x->dims[axis] * repeat ||
                resize_nearest_pixel(&resize, source, resize.scales[axis], x->dims[axis]) !=
                    i / repeat) {
                return 0;
            }
        }
    }
    return (int)repeat;
}

/* Padding only along height and width, with zeros or with pixels of the activation. */
static bool pad_of(const struct schedule *schedule, const struct step *step, struct fused *fused) {
    struct node_facts facts;
    struct pad pad;
    struct error err = {0};
    const struct node *node = step->node;
    const struct shape *x = &schedule->slots[step->inputs[0]].shape;
    if (x->rank != 4 || schedule->slots[step->inputs[0]].type != TENSOR_FLOAT32 ||
        pad_params(node, schedule_facts(schedule, node, &facts), &pad, &err) < 0 || pad.begin[0] ||
        pad.end[0] || pad.begin[1] || pad.end[1]) {
        return false;
    }
    bool has_value = node->input_count > 2 && node->inputs[2] >= 0;
    const float *value = has_value ? preparation_weights(schedule, node, 2) : &pad.value;
    if (pad.mode == PAD_CONSTANT && (!value || *value != 0)) {
        return false;
    }
    fused->has_pad = true;
    fused->edge = pad.mode == PAD_REFLECT ? KERNELS_REFLECT
                  : pad.mode == PAD_EDGE  ? KERNELS_EDGE
                                          : KERNELS_CONSTANT;
    fused->top = pad.begin[2];
    fused->left = pad.begin[3];
    return true;
}

static bool is_resize(const struct step *step) {
    return is_op(step, OP_RESIZE) || is_op(step, OP_UPSAMPLE);
}

/* Fuses into `step`, an InstanceNormalization, Resize or Pad that already has its `fused`, the
 * following nodes that the kernel `apply` computes in the same pass. */
static void fuse_apply(struct schedule *schedule, struct step *step) {
    bool is_norm = step->node->op->id == OP_INSTANCE_NORMALIZATION;
    for (struct step *next = step; next;) {
        step = next;
        struct fused fused = fusion_of(step);
        struct step *user = schedule_only_user(schedule, step->outputs[0]);
        bool is_moved = fused.has_pad || fused.repeat > 1;
        next = NULL;
        if (is_bound(user) && is_norm && !fused.has_bounds && !is_moved && fused.add < 0) {
            next = take_bounds(schedule, step, user);
        } else if (is_op(user, OP_ADD) && is_norm && !is_moved && fused.add < 0) {
            next = take_add(schedule, step, user);
        } else if (is_resize(user) && fused.add < 0 && !is_moved && repeat_of(schedule, user) > 0) {
            begin(step)->repeat = repeat_of(schedule, user);
            next = schedule_absorb(schedule, step, user);
        } else if (is_op(user, OP_PAD) && fused.add < 0 && !fused.has_pad &&
                   pad_of(schedule, user, &fused)) {
            *begin(step) = fused;
            next = schedule_absorb(schedule, step, user);
        }
    }
}

static void fuse_images(struct schedule *schedule, struct step *step) {
    if (is_resize(step)) {
        int repeat = repeat_of(schedule, step);
        if (repeat > 0) {
            begin(step)->repeat = repeat;
            fuse_apply(schedule, step);
        }
    } else if (is_op(step, OP_PAD)) {
        struct fused fused = nothing;
        if (pad_of(schedule, step, &fused)) {
            *begin(step) = fused;
        }
    } else if (is_op(step, OP_INSTANCE_NORMALIZATION)) {
        const struct shape *x = &schedule->slots[step->inputs[0]].shape;
        if (x->rank == 4 && preparation_weights(schedule, step->node, 1) &&
            preparation_weights(schedule, step->node, 2)) {
            begin(step);
            fuse_apply(schedule, step);
        }
    }
}

void fusion_apply(struct gpu *gpu, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        int slot = step->node ? step->outputs[0] : -1;
        if (slot < 0 || schedule->slots[slot].type != TENSOR_FLOAT32) {
            continue;
        }
        if (is_op(step, OP_CONV)) {
            fuse_conv(gpu, schedule, step);
        } else if (is_op(step, OP_GEMM) || is_op(step, OP_ADD)) {
            fuse_bounds(schedule, step);
        } else if (gpu->type != KERNELS_FLOAT32) {
            fuse_images(schedule, step);
        }
    }
}
