/* steps_training.h: the steps of training graphs that have fast kernels, as steps.h has those of
 * all graphs. */
#pragma once

#include "agent/engine/device/cpu/fast/steps.h"

/* A normalisation over the batch, fused with the addition and activation that follow it; the state
 * of its step. Inputs: x, scale, shift[, the other operand of the addition]. */
struct norm_step {
    bool adds;
    enum activation activation;
    float low, high; /* of a clip */
    int in_layout, add_layout, out_layout;
};

/* The gradient of norm_step, with the activation's and the sum of two gradients in front of it.
 * Inputs: dy, x, scale, mean, variance, and those whose indices are below (-1: absent). Outputs:
 * dx, dscale, dshift[, the gradient behind the relu, if other steps read it, too]. */
struct norm_gradient_step {
    /* other: the second gradient of the sum. y: the relu's output, which shows where it passes; or
     * shift: the norm's, from which the activation's input is computed again. */
    int other, y, shift;
    enum activation activation; /* with `shift` */
    float low, high;            /* of a clip */
    int dy_layout, other_layout, x_layout, y_layout, dx_layout;
    int kept_layout; /* of the last output, the gradient behind the relu */
};

/* The gradient of a depthwise convolution by its weights; the state of its step. Inputs: dy, the
 * shape of the weights, x. Outputs: their gradient[, the bias's]. */
struct depthwise_gradient_step {
    struct window window;
    int slices, dy_layout, x_layout; /* slices: of the samples, units of work */
};

/* A SumTo, perhaps fused with the product of two activations whose planes it sums; the state of its
 * step. Inputs: x, the shape of y[, the product's other factor]. */
struct sum_step {
    bool of_planes, keeps_samples; /* a sum for each channel, or each of each sample */
    int64_t dims[4];               /* else: those of x, as kept, summed, kept and summed ones */
    int slices;                    /* of the first summed dimension, if dims[3] is 1 */
    int factor, x_layout, factor_layout; /* factor: index among the inputs; -1: none */
};

extern const struct kernel fast_norm, fast_norm_gradient, fast_pool_gradient, fast_sum,
    fast_depthwise_gradient;

/* fuse_training.c: fuses nodes of training graphs. To be called before fuse_steps. */
void fuse_training(struct schedule *schedule);
/* They complete a step's state, as those of steps.h do. */
void step_norm_prepare(const struct schedule *schedule, struct step *step);
void step_norm_gradient_prepare(const struct schedule *schedule, struct step *step);
void step_sum_prepare(const struct schedule *schedule, struct step *step);
void step_depthwise_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step);
