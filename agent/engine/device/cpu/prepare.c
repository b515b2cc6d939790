// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/prepare.h"

#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/device/cpu/chain/chain.h"
#include "agent/engine/device/cpu/conv_chain.h"
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/device/cpu/layout.h"
#include "agent/engine/device/cpu/ml/ml.h"
#include "agent/engine/device/cpu/onednn/onednn.h"
#include "agent/engine/device/cpu/product/product.h"
#include "agent/engine/device/cpu/product/strided.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/rnn/rnn.h"
#include "agent/engine/graph/resident.h"

// Whether the step has packed this input, and never reads it in a run.
static bool has_packed(const struct step *step, int input) {
    bool is_recurrent = step->kernel == &fast_recurrent && rnn_step_has_packed(step);
    bool is_product = step->kernel == &fast_conv || step->kernel == &fast_gemm;
    return is_recurrent ? input == 1 || input == 2 : is_product && input == 1;
}

// Whether the step packs these bytes without listing them as an input: the weights of a depthwise
// convolution that is fused with a 1x1 one.
static bool packs_unlisted(const struct step *step, const void *bytes) {
    const struct conv_step *conv = step->kernel == &fast_conv ? step->state : NULL;
    return conv && conv->first && conv->source.weights == bytes;
}

// Drops weights that are packed and that no other step reads or still has to pack.
static void let_go_of_weights(const struct schedule *schedule, const struct step *step, int input) {
    int slot = step->inputs[input];
    const struct schedule_slot *weights = &schedule->slots[slot];
    bool needed = weights->place != PLACE_CONSTANT || weights->viewed || weights->is_output;
    for (size_t i = 0; i < schedule->slot_count && !needed; i++) {
        needed = schedule->slots[i].constant == weights->constant && (int)i != slot;
    }
    for (size_t i = 0; i < schedule->step_count && !needed; i++) {
        const struct step *other = &schedule->steps[i];
        for (int k = 0; other->node && k < other->input_count; k++) {
            needed |= other->inputs[k] == slot && (other != step || k != input);
        }
        needed |= packs_unlisted(other, weights->constant);
    }
    if (!needed) {
        graph_evict(schedule->graph, slot);
    }
}

// Drops what the step has packed at once, so that a model's weights are not all in memory twice.
static void drop_packed(const struct schedule *schedule, const struct step *step) {
    for (int k = 1; k < 3; k++) {
        if (step && step->node && has_packed(step, k)) {
            let_go_of_weights(schedule, step, k);
        }
    }
}

// Holds the constants that kernels read in every run.
static void hold_constants(const struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        for (int k = 0; step->node && k < step->input_count; k++) {
            int slot = step->inputs[k];
            if (slot >= 0 && schedule->slots[slot].place == PLACE_VIEW) {
                slot = schedule->slots[slot].view_of;
            }
            if (slot >= 0 && schedule->slots[slot].place == PLACE_CONSTANT &&
                !has_packed(step, k)) {
                graph_pin(schedule->graph, slot, schedule->slots[slot].constant);
            }
        }
    }
}

// Gives products of matrices and recurrent layers their kernels, before chains are formed.
static void choose_products(struct cpu_device *cpu, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (step->node && !step->kernel) {
            drop_packed(schedule, step_gemm_try(cpu, schedule, step));
        }
        if (step->node && !step->kernel) {
            rnn_step_try(cpu, schedule, step);
            drop_packed(schedule, step);
        }
        if (step->node && !step->kernel) {
            product_try(cpu, schedule, step);
        }
    }
    strided_drop_unread(schedule);
}

// Lets the step's own kernel get ready for its runs; the step may turn out to need none.
static int prepare_kernel(struct cpu_device *cpu, struct schedule *schedule, struct step *step,
                          struct error *err) {
    if (step->kernel == &fast_conv) {
        step_conv_prepare(cpu, schedule, step);
    } else if (step->kernel == &fast_combine) {
        step_combine_prepare(schedule, step);
    } else if (step->kernel == &fast_pool) {
        step_pool_prepare(cpu, schedule, step);
    } else if (step->kernel == &fast_resize) {
        step_resize_prepare(cpu, schedule, step);
    } else if (step->kernel == &fast_norm) {
        step_norm_prepare(schedule, step);
    } else if (step->kernel == &fast_norm_gradient) {
        step_norm_gradient_prepare(schedule, step);
    } else if (step->kernel == &fast_sum) {
        step_sum_prepare(schedule, step);
    } else if (step->kernel == &fast_depthwise_gradient) {
        step_depthwise_prepare(cpu, schedule, step);
    } else if (step->kernel == &fast_chain) {
        chain_prepare(cpu, schedule, step);
    } else if (step->kernel == &onednn_planned) {
        step->kernel = NULL;
        if (onednn_step_try(cpu->onednn, schedule, step, err) < 0) {
            return -1;
        }
        if (!step->kernel) { /* the plain kernels do not support blocks */
            return error_set(err, ERROR_EXHAUSTED, "oneDNN: no memory for %s \"%.64s\"",
                             step->node->op->name, step->node->name);
        }
    }
    return 0;
}

int cpu_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    struct cpu_device *cpu = (struct cpu_device *)device;
    fuse_training(schedule);
    fuse_steps(cpu->vectors, schedule);
    choose_products(cpu, schedule);
    if (onednn_plan(cpu->onednn, cpu->vectors->block, schedule, err) < 0) {
        return -1;
    }
    chain_fuse(schedule, true);
    layout_choose(cpu->vectors, schedule);
    chain_fuse(schedule, false); // steps that lost their kernel, since they only compute blocks
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (!step->node) {
            continue;
        }
        if (cpu_ml_trees_try(step, err) < 0 || prepare_kernel(cpu, schedule, step, err) < 0) {
            return -1;
        }
        if (step->node && !step->kernel && onednn_step_try(cpu->onednn, schedule, step, err) < 0) {
            return -1;
        }
        if (step->node && !step->kernel) {
            axis_step_try(schedule, step);
        }
        drop_packed(schedule, step);
    }
    attention_fuse(cpu, schedule);
    conv_chain_gates(cpu, schedule);
    conv_chain_fuse(cpu, schedule);
    for (size_t i = schedule->step_count; i-- > 0;) {
        if (schedule->steps[i].node && schedule->steps[i].kernel == &fast_concat) {
            step_concat_join(schedule, &schedule->steps[i]);
        }
    }
    hold_constants(schedule);
    return device_fill_kernels(device, reference_kernels, schedule, err);
}
