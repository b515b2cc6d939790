// SPDX-License-Identifier: Apache-2.0
// Which nodes of a training graph are fused into one step: a normalisation with the addition and
// relu after it; its gradient with the relu's gradient, and the sum of two gradients, before it; a
// product with the sum of its planes. Gradients of pools and depthwise convolutions get kernels.
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>

static bool is_op(const struct step *step, int id) {
    return step && step->node && !step->kernel && step->node->op->id == id;
}

static void make_norm(struct schedule *schedule, struct step *step) {
    if (!fuse_is_activation(schedule, step->inputs[0])) {
        return;
    }
    struct norm_step *state = x_calloc(1, sizeof *state);
    step->state = state;
    step->release = free;
    step->kernel = &fast_norm;
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    int other = is_op(user, OP_ADD) ? fuse_other_operand(schedule, user, step->outputs[0]) : -1;
    if (other >= 0) {
        step = schedule_absorb_output(schedule, step, user);
        schedule_add_input(schedule, step, other);
        state->adds = true;
        user = schedule_only_user(schedule, step->outputs[0]);
    }
    if (is_op(user, OP_RELU)) {
        schedule_absorb_output(schedule, step, user);
        state->relu = true;
    }
}

static bool is_relu_gradient(const struct step *step) {
    return is_op(step, OP_UNARY_GRADIENT) && op_forward_node(step->node).op->id == OP_RELU;
}

// Fuses a sum of two gradients into `step` if no other step reads it.
static void take_sum(struct schedule *schedule, struct step *step,
                     struct norm_gradient_step *state) {
    int sum = step->inputs[0];
    struct step *maker = schedule_producer(schedule, sum);
    if (!is_op(maker, OP_ADD) || schedule_only_user(schedule, sum) != step ||
        fuse_other_operand(schedule, maker, maker->inputs[0]) < 0 ||
        schedule->slots[maker->inputs[0]].place == PLACE_CONSTANT) {
        return;
    }
    step->inputs[0] = maker->inputs[0];
    state->other = schedule_add_input(schedule, step, maker->inputs[1]);
    schedule->slots[sum].place = PLACE_NONE;
    *maker = (struct step){0};
}

// Fuses the relu's gradient before `step`, which must be the first reader of its result.
static void take_relu(struct schedule *schedule, struct step *step,
                      struct norm_gradient_step *state) {
    int dy = step->inputs[0], x = step->inputs[1];
    struct step *maker = schedule_producer(schedule, dy);
    const struct schedule_slot *slot = &schedule->slots[dy];
    if (!is_relu_gradient(maker) || slot->place != PLACE_ARENA || slot->viewed || slot->is_output ||
        schedule_first_user(schedule, dy) != step) {
        return;
    }
    bool is_alone = schedule_only_user(schedule, dy) == step;
    int y = maker->inputs[1];
    step->inputs[0] = maker->inputs[0];
    *maker = (struct step){0};
    const struct step *forward = schedule_producer(schedule, y);
    const struct norm_step *norm = forward && forward->kernel == &fast_norm ? forward->state : NULL;
    if (norm && norm->relu && !norm->adds && forward->inputs[0] == x) {
        state->shift = schedule_add_input(schedule, step, forward->inputs[2]);
    } else {
        state->y = schedule_add_input(schedule, step, y);
    }
    if (is_alone) {
        schedule->slots[dy].place = PLACE_NONE;
    } else {
        schedule_add_output(schedule, step, dy);
    }
    take_sum(schedule, step, state);
}

// Only for NormTraining, which no file can name: op_forward_node then returns no operator.
static void make_norm_gradient(struct schedule *schedule, struct step *step) {
    bool is_whole = step->input_count == 5 && step->output_count == 3;
    for (int i = 0; is_whole && i < 3; i++) {
        is_whole = step->outputs[i] >= 0 && step->inputs[i] >= 0;
    }
    if (!is_whole || op_forward_node(step->node).op ||
        !fuse_is_activation(schedule, step->inputs[0]) ||
        !fuse_is_activation(schedule, step->inputs[1])) {
        return;
    }
    struct norm_gradient_step *state = x_calloc(1, sizeof *state);
    *state = (struct norm_gradient_step){.other = -1, .y = -1, .shift = -1};
    step->state = state;
    step->release = free;
    step->kernel = &fast_norm_gradient;
    take_relu(schedule, step, state);
}

// (dy, shape of x, x), for maximum pools. The kernel supports only blocked values: see layout.c.
static void make_pool_gradient(struct schedule *schedule, struct step *step) {
    struct node forward = op_forward_node(step->node);
    struct pool_step pool = {.out_layout = 0};
    struct error err = {0};
    if (!forward.op || forward.op->id != OP_MAX_POOL || step->input_count < 3 ||
        !fuse_is_activation(schedule, step->inputs[0]) ||
        !fuse_is_activation(schedule, step->inputs[2])) {
        return;
    }
    const struct fact fact = {TENSOR_FLOAT32, schedule->slots[step->inputs[2]].shape, NULL};
    const struct fact *inputs[] = {&fact};
    forward.input_count = 1;
    if (window_of_pool(&forward, inputs, &pool.window, &err) < 0 ||
        !fuse_window_fits(&pool.window) || pool.window.dilation[1] != 1 ||
        pool.window.dilation[2] != 1) {
        return;
    }
    step->state = x_calloc(1, sizeof pool);
    *(struct pool_step *)step->state = pool;
    step->release = free;
    step->kernel = &fast_pool_gradient;
}

enum { TAPS_MAX = 128 };

// (dy, shape of w, x) -> dw [, dbias], for one kernel per channel.
static void make_depthwise_gradient(struct schedule *schedule, struct step *step) {
    struct node forward = op_forward_node(step->node);
    struct error err = {0};
    if (forward.op->id != OP_CONV || !fuse_is_activation(schedule, step->inputs[0]) ||
        !fuse_is_activation(schedule, step->inputs[2])) {
        return;
    }
    const struct shape *dy = &schedule->slots[step->inputs[0]].shape;
    const struct shape *x = &schedule->slots[step->inputs[2]].shape;
    const struct fact facts[] = {{TENSOR_FLOAT32, *x, NULL},
                                 {TENSOR_FLOAT32, schedule->slots[step->outputs[0]].shape, NULL}};
    const struct fact *inputs[] = {&facts[0], &facts[1]};
    struct depthwise_gradient_step state = {.slices = 1};
    forward.input_count = 2;
    if (window_of_conv(&forward, inputs, &state.window, &err) < 0 ||
        !fuse_window_fits(&state.window)) {
        error_clear(&err);
        return;
    }
    const struct window *window = &state.window;
    if (window->groups != x->dims[1] || dy->dims[1] != x->dims[1] || window->groups == 1 ||
        window->kernel[1] * window->kernel[2] > TAPS_MAX) {
        return;
    }
    step->state = x_calloc(1, sizeof state);
    *(struct depthwise_gradient_step *)step->state = state;
    step->release = free;
    step->kernel = &fast_depthwise_gradient;
}

enum { RUN_SHORT = 16 }; // shorter runs are left to the plain kernel

// The dimensions of x as kept, summed, kept and summed ones; neighbours of one kind count as one.
// False: they alternate more often.
static bool divide_dims(const struct shape *x, const struct shape *y, int64_t dims[static 4]) {
    int at = 0, shift = x->rank - y->rank;
    for (int i = 0; i < 4; i++) {
        dims[i] = 1;
    }
    for (int i = 0; i < x->rank; i++) {
        bool is_summed = i < shift || y->dims[i - shift] != x->dims[i];
        at += x->dims[i] != 1 && (at % 2 == 1) != is_summed;
        if (at == 4) {
            return false;
        }
        dims[at] *= x->dims[i];
    }
    if (dims[2] == 1 && dims[3] == 1) { // runs of adjacent numbers
        dims[3] = dims[1];
        dims[1] = 1;
    }
    return true;
}

// The product of two activations that nothing but the sum reads.
static void take_product(struct schedule *schedule, struct step *step, struct sum_step *state) {
    int product = step->inputs[0];
    struct step *maker = schedule_producer(schedule, product);
    if (!is_op(maker, OP_MUL) || schedule_only_user(schedule, product) != step ||
        fuse_other_operand(schedule, maker, maker->inputs[0]) < 0 ||
        schedule->slots[maker->inputs[0]].place == PLACE_CONSTANT) {
        return;
    }
    step->inputs[0] = maker->inputs[0];
    state->factor = schedule_add_input(schedule, step, maker->inputs[1]);
    schedule->slots[product].place = PLACE_NONE;
    *maker = (struct step){0};
}

static void make_sum(struct schedule *schedule, struct step *step) {
    const struct schedule_slot *x = &schedule->slots[step->inputs[0]];
    const struct shape *y = &schedule->slots[step->outputs[0]].shape;
    struct sum_step sum = {.factor = -1};
    int64_t count = x->type == TENSOR_FLOAT32 ? shape_count(&x->shape) : 0;
    if (count <= 0 || count >= (int64_t)1 << 30 || !divide_dims(&x->shape, y, sum.dims) ||
        (sum.dims[3] > 1 && sum.dims[3] < RUN_SHORT)) {
        return;
    }
    int channel = y->rank - 3; // y may lack the samples' dimension
    sum.of_planes = fuse_is_activation(schedule, step->inputs[0]) && channel >= 0 &&
                    y->dims[channel] == x->shape.dims[1] && y->dims[channel + 1] == 1 &&
                    y->dims[channel + 2] == 1;
    if (sum.of_planes) {
        sum.keeps_samples = shape_count(y) == x->shape.dims[0] * x->shape.dims[1];
        take_product(schedule, step, &sum);
    }
    step->state = x_calloc(1, sizeof sum);
    *(struct sum_step *)step->state = sum;
    step->release = free;
    step->kernel = &fast_sum;
}

void fuse_training(struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (is_op(step, OP_NORM_TRAINING)) {
            make_norm(schedule, step);
        } else if (is_op(step, OP_NORM_GRADIENT)) {
            make_norm_gradient(schedule, step);
        } else if (is_op(step, OP_POOL_GRADIENT)) {
            make_pool_gradient(schedule, step);
        } else if (is_op(step, OP_CONV_GRADIENT_WEIGHTS)) {
            make_depthwise_gradient(schedule, step);
        } else if (is_op(step, OP_SUM_TO)) {
            make_sum(schedule, step);
        }
    }
}
