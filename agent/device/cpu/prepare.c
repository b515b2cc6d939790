// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/prepare.h"

#include "agent/device/cpu/fast/steps.h"
#include "agent/device/cpu/layout.h"
#include "agent/device/cpu/onednn/onednn.h"
#include "agent/device/cpu/reference.h"

int cpu_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    struct cpu_device *cpu = (struct cpu_device *)device;
    fuse_training(schedule);
    fuse_steps(schedule);
    onednn_plan(cpu->onednn, cpu->vectors->block, schedule);
    layout_choose(cpu->vectors, schedule);
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (!step->node) {
            continue;
        }
        if (step->kernel == &fast_conv) {
            conv_step_prepare(cpu, schedule, step);
        } else if (step->kernel == &fast_combine) {
            combine_step_prepare(schedule, step);
        } else if (step->kernel == &fast_max_pool) {
            pool_step_prepare(cpu, schedule, step);
        } else if (step->kernel == &fast_norm) {
            norm_step_prepare(schedule, step);
        } else if (step->kernel == &fast_norm_gradient) {
            norm_gradient_step_prepare(schedule, step);
        } else if (step->kernel == &onednn_planned) {
            step->kernel = NULL;
            onednn_step_try(cpu->onednn, schedule, step);
            if (!step->kernel) { /* our plain loops know nothing of blocks */
                return error_set(err, ERROR_EXHAUSTED, "oneDNN: no memory for %s \"%.64s\"",
                                 step->node->op->name, step->node->name);
            }
        } else if (!step->kernel) {
            gemm_step_try(cpu, schedule, step);
        }
        if (step->node && !step->kernel) {
            unary_step_try(schedule, step);
        }
        if (step->node && !step->kernel) {
            onednn_step_try(cpu->onednn, schedule, step);
        }
    }
    return device_fill_kernels(device, reference_kernels, schedule, err);
}
