// SPDX-License-Identifier: Apache-2.0
// Which values lie in blocks. A value does when its maker can write and every reader can read
// blocks. Pools and concatenations know nothing else: one that meets a row-major value loses its
// kernel, until nothing changes any more.
#include "agent/device/cpu/fast/steps.h"

static bool writes_blocks(const struct step *step) {
    if (step->kernel == &fast_conv) {
        const struct conv_step *conv = step->state;
        return conv->shape.channels_out > THIN_OUTPUTS_MAX || conv->normed;
    }
    return step->kernel == &fast_combine || step->kernel == &fast_concat ||
           step->kernel == &fast_max_pool;
}

static bool reads_blocks(const struct step *step) {
    return step->kernel == &fast_conv || step->kernel == &fast_combine ||
           step->kernel == &fast_concat || step->kernel == &fast_max_pool ||
           step->kernel == &fast_global_pool;
}

// Only what a convolution or an addition reads may keep its normalisation pending.
static bool reads_pending(const struct step *step, int input) {
    return (step->kernel == &fast_conv && input == 0) || step->kernel == &fast_combine;
}

static void mark(struct schedule *schedule) {
    for (size_t i = 0; i < schedule->slot_count; i++) {
        schedule->slots[i].layout = 0;
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        if (!step->node || !step->kernel || !writes_blocks(step)) {
            continue;
        }
        struct slot *slot = &schedule->slots[step->outputs[0]];
        bool free_to = slot->place == PLACE_ARENA && !slot->viewed && !slot->is_output;
        const struct conv_step *conv = step->kernel == &fast_conv ? step->state : NULL;
        slot->layout = free_to ? LAYOUT_BLOCKED : 0;
        if (free_to && conv && conv->normed) {
            slot->layout |= LAYOUT_AFFINE | (conv->relu_after_norm ? LAYOUT_RELU : 0);
        }
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        for (int k = 0; step->node && k < step->input_count; k++) {
            struct slot *slot = step->inputs[k] < 0 ? NULL : &schedule->slots[step->inputs[k]];
            if (slot && !reads_blocks(step)) {
                slot->layout = 0;
            } else if (slot && slot->layout && !reads_pending(step, k)) {
                slot->layout = LAYOUT_BLOCKED;
            }
        }
    }
}

static bool demote(const struct vector_ops *ops, struct schedule *schedule) {
    bool changed = false;
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        bool pools = step->kernel == &fast_max_pool || step->kernel == &fast_global_pool;
        bool lacks = pools && !schedule->slots[step->inputs[0]].layout;
        if (step->kernel == &fast_concat) {
            lacks = !schedule->slots[step->outputs[0]].layout || !concat_fits(ops, schedule, step);
        }
        if (step->node && lacks) {
            if (step->release) {
                step->release(step->state);
            }
            step->kernel = NULL;
            step->state = NULL;
            step->release = NULL;
            changed = true;
        }
    }
    return changed;
}

void choose_layouts(const struct vector_ops *ops, struct schedule *schedule) {
    do {
        mark(schedule);
    } while (demote(ops, schedule));
    for (size_t i = 0; i < schedule->slot_count; i++) {
        struct slot *slot = &schedule->slots[i];
        if (slot->layout) {
            slot->size_bytes = layout_bytes(ops, &slot->shape, slot->layout);
        }
    }
}
