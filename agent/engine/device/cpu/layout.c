// SPDX-License-Identifier: Apache-2.0
// Decides which values are blocked: those whose maker can write blocks and whose readers can all
// read blocks. The fast global pools and concatenations support only blocks: if one has a row-major
// operand, it loses its kernel. This repeats until nothing changes.
#include "agent/engine/device/cpu/layout.h"

#include "agent/engine/device/cpu/chain/chain.h"
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/device/cpu/onednn/onednn.h"
#include "agent/engine/ops/table.h"

// For a step that oneDNN takes: the channels must fill whole blocks.
static bool is_whole(const struct vector_ops *ops, const struct schedule_slot *slot) {
    return slot->shape.rank == 4 && slot->shape.dims[1] % ops->block == 0;
}

static bool writes_blocks(const struct vector_ops *ops, const struct schedule *schedule,
                          const struct step *step, int output) {
    if (step->kernel == &fast_conv) {
        const struct conv_step *conv = step->state;
        return conv->shape.channels_out > THIN_OUTPUTS_MAX || conv->normed;
    }
    if (step->kernel == &fast_norm_gradient) {
        return output == 0 || output == 3;
    }
    if (step->kernel == &onednn_planned) {
        return step->node->op->id != OP_CONV_GRADIENT_WEIGHTS &&
               is_whole(ops, &schedule->slots[step->outputs[output]]);
    }
    if (step->kernel == &fast_chain) {
        return chain_takes_blocks(step);
    }
    return output == 0 && (step->kernel == &fast_combine || step->kernel == &fast_concat ||
                           step->kernel == &fast_pool || step->kernel == &fast_norm ||
                           step->kernel == &fast_resize || step->kernel == &fast_pool_gradient);
}

static bool reads_blocks(const struct vector_ops *ops, const struct schedule *schedule,
                         const struct step *step, int input) {
    if (step->kernel == &onednn_planned) {
        bool is_activation =
            input == 0 || (input == 2 && step->node->op->id == OP_CONV_GRADIENT_WEIGHTS);
        return is_activation && is_whole(ops, &schedule->slots[step->inputs[input]]);
    }
    if (step->kernel == &fast_chain) {
        return chain_takes_blocks(step);
    }
    if (step->kernel == &fast_sum) {
        return ((const struct sum_step *)step->state)->of_planes;
    }
    return step->kernel == &fast_conv || step->kernel == &fast_combine ||
           step->kernel == &fast_concat || step->kernel == &fast_pool ||
           step->kernel == &fast_resize || step->kernel == &fast_global_pool ||
           step->kernel == &fast_norm || step->kernel == &fast_norm_gradient ||
           step->kernel == &fast_pool_gradient || step->kernel == &fast_depthwise_gradient;
}

// Only convolutions and additions can read a value whose normalisation is pending.
static bool reads_pending(const struct step *step, int input) {
    return (step->kernel == &fast_conv && input == 0) || step->kernel == &fast_combine;
}

static void mark_outputs(const struct vector_ops *ops, struct schedule *schedule,
                         const struct step *step) {
    for (int k = 0; step->node && step->kernel && k < step->output_count; k++) {
        struct schedule_slot *slot =
            step->outputs[k] < 0 ? NULL : &schedule->slots[step->outputs[k]];
        if (slot && slot->place == PLACE_ARENA && !slot->viewed && !slot->is_output &&
            writes_blocks(ops, schedule, step, k)) {
            const struct conv_step *conv = step->kernel == &fast_conv ? step->state : NULL;
            slot->layout = LAYOUT_BLOCKED;
            if (conv && conv->normed) {
                slot->layout |= LAYOUT_AFFINE | (conv->relu_after_norm ? LAYOUT_RELU : 0);
            }
        }
    }
}

static void mark(const struct vector_ops *ops, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->slot_count; i++) {
        schedule->slots[i].layout = 0;
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        mark_outputs(ops, schedule, &schedule->steps[i]);
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        for (int k = 0; step->node && k < step->input_count; k++) {
            struct schedule_slot *slot =
                step->inputs[k] < 0 ? NULL : &schedule->slots[step->inputs[k]];
            if (slot && slot->layout && !reads_blocks(ops, schedule, step, k)) {
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
        bool lacks = step->kernel == &fast_global_pool && !schedule->slots[step->inputs[0]].layout;
        if (step->kernel == &fast_concat) {
            lacks =
                !schedule->slots[step->outputs[0]].layout || !step_concat_fits(ops, schedule, step);
        }
        if (step->kernel == &fast_pool_gradient) {
            lacks = !schedule->slots[step->inputs[0]].layout ||
                    !schedule->slots[step->inputs[2]].layout ||
                    !schedule->slots[step->outputs[0]].layout;
        }
        /* Each thread would have a blocked copy of all planes. */
        lacks = lacks || (step->kernel == &fast_pool && !schedule->slots[step->inputs[0]].layout &&
                          schedule->slots[step->inputs[0]].shape.rank == 5);
        if (step->kernel == &fast_chain && chain_takes_blocks(step) &&
            !chain_blocks_fit(schedule, step, ops->block)) {
            chain_refuse_blocks(step);
            changed = true;
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

void layout_choose(const struct vector_ops *ops, struct schedule *schedule) {
    do {
        mark(ops, schedule);
    } while (demote(ops, schedule));
    for (size_t i = 0; i < schedule->slot_count; i++) {
        struct schedule_slot *slot = &schedule->slots[i];
        if (slot->layout) {
            slot->size_bytes = step_layout_bytes(ops, &slot->shape, slot->layout);
        }
    }
}
