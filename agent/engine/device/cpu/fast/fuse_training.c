// SPDX-License-Identifier: Apache-2.0
// Which nodes of a training graph are fused into one step: a normalisation with the addition and
// activation after it; its gradient with the activation's, and the sum of two gradients, before it;
// a product with the sum of its planes. Gradients of pools and depthwise convolutions get kernels.
#include "agent/engine/device/cpu/fast/fuse.h"
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>

static bool is_gradient_of(const struct step *step, int id) {
    return step_is_op(step, OP_UNARY_GRADIENT) && op_forward_node(step->node).op->id == id;
}

// (dy, x, scale, mean, variance) -> dx, dscale, dshift. Only for NormTraining, which no file can
// name: op_forward_node then returns no operator.
static bool is_norm_gradient(const struct schedule *schedule, const struct step *step) {
    if (!step_is_op(step, OP_NORM_GRADIENT)) {
        return false;
    }
    bool is_whole = step->input_count == 5 && step->output_count == 3;
    for (int i = 0; is_whole && i < 3; i++) {
        is_whole = step->outputs[i] >= 0 && step->inputs[i] >= 0;
    }
    return is_whole && !op_forward_node(step->node).op &&
           fuse_is_activation(schedule, step->inputs[0]) &&
           fuse_is_activation(schedule, step->inputs[1]);
}

// Whether the activation repeats the numbers of a smaller one, which a chain adds without a pass
// over memory.
static bool is_spread(const struct schedule *schedule, int slot) {
    return step_is_op(schedule_producer(schedule, slot), OP_EXPAND);
}

// Fuses the addition or product of two activations that is input 0 of `step`, if no other step
// reads it. Returns the index of the input that is added for the second operand; -1: it is not
// fused.
static int take_operands(struct schedule *schedule, struct step *step, int op) {
    int result = step->inputs[0];
    struct step *maker = schedule_producer(schedule, result);
    if (!step_is_op(maker, op) || schedule_only_user(schedule, result) != step ||
        fuse_other_operand(schedule, maker, maker->inputs[0]) < 0 ||
        schedule->slots[maker->inputs[0]].place == PLACE_CONSTANT ||
        is_spread(schedule, maker->inputs[0]) || is_spread(schedule, maker->inputs[1])) {
        return -1;
    }
    step->inputs[0] = maker->inputs[0];
    int added = schedule_add_input(schedule, step, maker->inputs[1]);
    schedule->slots[result].place = PLACE_NONE;
    *maker = (struct step){0};
    return added;
}

static struct norm_gradient_step *set_norm_gradient(struct step *step) {
    struct norm_gradient_step *state = x_calloc(1, sizeof *state);
    *state = (struct norm_gradient_step){.other = -1, .y = -1, .shift = -1};
    step->state = state;
    step->release = free;
    step->kernel = &fast_norm_gradient;
    return state;
}

/* ---- an activation behind a norm, and both gradients ----------------------------------------- */

// The steps around an activation of v, the norm's result.
struct around {
    enum activation activation;
    struct step *last;    // makes the activation's result, and is kept for the norm
    struct step *gone[5]; // the others; NULL: none
    struct step *norm_gradient;
    int dy; // the gradient of the activation's result
};

// One operator and its gradient, which reads v.
static bool find_unary(struct schedule *schedule, int v, struct around *ret) {
    struct step *users[FUSE_USERS_MAX];
    if (fuse_users(schedule, v, users) != 2) {
        return false;
    }
    struct step *gradient = users[1];
    int id = step_is_op(users[0], OP_CLIP) || step_is_op(users[0], OP_HARD_SWISH)
                 ? users[0]->node->op->id
                 : -1;
    if (id < 0 || !is_gradient_of(gradient, id) || gradient->inputs[0] == v) {
        return false;
    }
    *ret = (struct around){.activation = id == OP_CLIP ? ACTIVATION_CLIP : ACTIVATION_HARD_SWISH,
                           .last = users[0],
                           .gone = {gradient},
                           .norm_gradient = schedule_only_user(schedule, gradient->outputs[0]),
                           .dy = gradient->inputs[0]};
    return true;
}

// s = Sigmoid(v), y = v s; and the gradient of v, which is dy s + the gradient of s by dy v.
static bool find_silu(struct schedule *schedule, int v, struct around *ret) {
    struct step *of_v[FUSE_USERS_MAX], *of_s[FUSE_USERS_MAX];
    if (fuse_users(schedule, v, of_v) != 3 || !step_is_op(of_v[0], OP_SIGMOID)) {
        return false;
    }
    int s = of_v[0]->outputs[0];
    if (fuse_users(schedule, s, of_s) != 3 || of_s[0] != of_v[1] ||
        fuse_factor_beside(schedule, of_v[1], v) != s) {
        return false;
    }
    bool is_second = is_gradient_of(of_s[1], OP_SIGMOID);
    struct step *first = is_second ? of_s[2] : of_s[1], *second = is_second ? of_s[1] : of_s[2];
    struct step *product = of_v[2];
    int dy = fuse_factor_beside(schedule, first, s);
    if (!is_gradient_of(second, OP_SIGMOID) || second->inputs[1] != s || dy < 0 ||
        second->inputs[0] != product->outputs[0] ||
        fuse_factor_beside(schedule, product, v) != dy ||
        schedule_only_user(schedule, product->outputs[0]) != second) {
        return false;
    }
    struct step *sum = schedule_only_user(schedule, first->outputs[0]);
    if (!step_is_op(sum, OP_ADD) || schedule_only_user(schedule, second->outputs[0]) != sum) {
        return false;
    }
    *ret = (struct around){.activation = ACTIVATION_SILU,
                           .last = of_v[1],
                           .gone = {of_v[0], first, product, second, sum},
                           .norm_gradient = schedule_only_user(schedule, sum->outputs[0]),
                           .dy = dy};
    return true;
}

// Fuses an activation other than a relu with the norm before it, and their gradients.
static void take_activation(struct schedule *schedule, struct step *step, struct norm_step *state) {
    struct around around;
    int v = step->outputs[0], x = step->inputs[0], shift = step->inputs[2];
    bool found = find_unary(schedule, v, &around) || find_silu(schedule, v, &around);
    if (!found || !is_norm_gradient(schedule, around.norm_gradient) ||
        around.norm_gradient->inputs[1] != x || around.norm_gradient->inputs[0] == x ||
        (around.activation == ACTIVATION_CLIP &&
         !fuse_bounds(schedule, around.last, &state->low, &state->high))) {
        return;
    }
    struct step *gradient = around.norm_gradient;
    gradient->inputs[0] = around.dy;
    for (size_t i = 0; i < ARRAY_LEN(around.gone) && around.gone[i]; i++) {
        schedule->slots[around.gone[i]->outputs[0]].place = PLACE_NONE;
        *around.gone[i] = (struct step){0};
    }
    struct norm_gradient_step *of_gradient = set_norm_gradient(gradient);
    of_gradient->shift = schedule_add_input(schedule, gradient, shift);
    of_gradient->activation = state->activation = around.activation;
    of_gradient->low = state->low;
    of_gradient->high = state->high;
    of_gradient->other = take_operands(schedule, gradient, OP_ADD);
    schedule_absorb_output(schedule, step, around.last);
}

static void make_norm(struct schedule *schedule, struct step *step) {
    if (!fuse_is_activation(schedule, step->inputs[0])) {
        return;
    }
    struct norm_step *state = x_calloc(1, sizeof *state);
    *state = (struct norm_step){.low = -INFINITY, .high = INFINITY};
    step->state = state;
    step->release = free;
    step->kernel = &fast_norm;
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    int other =
        step_is_op(user, OP_ADD) ? fuse_other_operand(schedule, user, step->outputs[0]) : -1;
    if (other >= 0) {
        step = schedule_absorb_output(schedule, step, user);
        schedule_add_input(schedule, step, other);
        state->adds = true;
        user = schedule_only_user(schedule, step->outputs[0]);
    }
    if (step_is_op(user, OP_RELU)) {
        schedule_absorb_output(schedule, step, user);
        state->activation = ACTIVATION_RELU;
        state->low = 0;
    } else if (!state->adds) {
        take_activation(schedule, step, state);
    }
}

// Fuses the relu's gradient before `step`, which must be the first reader of its result.
static void take_relu(struct schedule *schedule, struct step *step,
                      struct norm_gradient_step *state) {
    int dy = step->inputs[0], x = step->inputs[1];
    struct step *maker = schedule_producer(schedule, dy);
    const struct schedule_slot *slot = &schedule->slots[dy];
    if (!is_gradient_of(maker, OP_RELU) || slot->place != PLACE_ARENA || slot->viewed ||
        slot->is_output || schedule_first_user(schedule, dy) != step) {
        return;
    }
    bool is_alone = schedule_only_user(schedule, dy) == step;
    int y = maker->inputs[1];
    step->inputs[0] = maker->inputs[0];
    *maker = (struct step){0};
    const struct step *forward = schedule_producer(schedule, y);
    const struct norm_step *norm = forward && forward->kernel == &fast_norm ? forward->state : NULL;
    if (norm && norm->activation == ACTIVATION_RELU && !norm->adds && forward->inputs[0] == x) {
        state->shift = schedule_add_input(schedule, step, forward->inputs[2]);
        state->activation = ACTIVATION_RELU;
    } else {
        state->y = schedule_add_input(schedule, step, y);
    }
    if (is_alone) {
        schedule->slots[dy].place = PLACE_NONE;
    } else {
        schedule_add_output(schedule, step, dy);
    }
    state->other = take_operands(schedule, step, OP_ADD);
}

static void make_norm_gradient(struct schedule *schedule, struct step *step) {
    if (is_norm_gradient(schedule, step)) {
        take_relu(schedule, step, set_norm_gradient(step));
    }
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

// A thread has a plane of x and one of dy in blocks.
enum { TAPS_MAX = 128, PLANE_MAX = 1 << 20 };

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
        window->kernel[1] * window->kernel[2] > TAPS_MAX || x->dims[2] * x->dims[3] > PLANE_MAX ||
        dy->dims[2] * dy->dims[3] > PLANE_MAX) {
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
        sum.factor = take_operands(schedule, step, OP_MUL);
    }
    step->state = x_calloc(1, sizeof sum);
    *(struct sum_step *)step->state = sum;
    step->release = free;
    step->kernel = &fast_sum;
}

void fuse_training(struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (step_is_op(step, OP_NORM_TRAINING)) {
            make_norm(schedule, step);
        } else if (step_is_op(step, OP_NORM_GRADIENT)) {
            make_norm_gradient(schedule, step);
        } else if (step_is_op(step, OP_POOL_GRADIENT)) {
            make_pool_gradient(schedule, step);
        } else if (step_is_op(step, OP_CONV_GRADIENT_WEIGHTS)) {
            make_depthwise_gradient(schedule, step);
        } else if (step_is_op(step, OP_SUM_TO)) {
            make_sum(schedule, step);
        }
    }
}
