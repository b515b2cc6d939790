// SPDX-License-Identifier: Apache-2.0
/* Operators that only training graphs have, except windows, products and norms: elementwise
 * gradients, sums over broadcast dimensions, losses, dropout, the optimizer. */
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_reduce.h"
#include "agent/engine/device/cuda/kernels/kernels_train.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/infer/optimizer_step.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

#include <assert.h>
#include <string.h>

static_assert((int)KERNELS_OPTIMIZER_PLAIN == (int)OPTIMIZER_STEP_PLAIN &&
                  (int)KERNELS_OPTIMIZER_MOMENTUM == (int)OPTIMIZER_STEP_MOMENTUM &&
                  (int)KERNELS_OPTIMIZER_NESTEROV == (int)OPTIMIZER_STEP_NESTEROV &&
                  (int)KERNELS_OPTIMIZER_ADAM == (int)OPTIMIZER_STEP_ADAM &&
                  (int)KERNELS_OPTIMIZER_LAMB == (int)OPTIMIZER_STEP_LAMB &&
                  (int)KERNELS_OPTIMIZER_SQUARE == (int)OPTIMIZER_STEP_SQUARE &&
                  (int)KERNELS_NUMBER_RATE == (int)OPTIMIZER_RATE &&
                  (int)KERNELS_NUMBER_BETA1 == (int)OPTIMIZER_BETA1 &&
                  (int)KERNELS_NUMBER_ONE_MINUS_BETA1 == (int)OPTIMIZER_ONE_MINUS_BETA1 &&
                  (int)KERNELS_NUMBER_BETA2 == (int)OPTIMIZER_BETA2 &&
                  (int)KERNELS_NUMBER_ONE_MINUS_BETA2 == (int)OPTIMIZER_ONE_MINUS_BETA2 &&
                  (int)KERNELS_NUMBER_BIAS_CORRECTION1 == (int)OPTIMIZER_BIAS_CORRECTION1 &&
                  (int)KERNELS_NUMBER_BIAS_CORRECTION2 == (int)OPTIMIZER_BIAS_CORRECTION2 &&
                  (int)KERNELS_NUMBER_EPSILON == (int)OPTIMIZER_EPSILON &&
                  (int)KERNELS_NUMBER_GRADIENT == (int)OPTIMIZER_GRADIENT &&
                  (int)KERNELS_NUMBER_LIMIT == (int)OPTIMIZER_LIMIT,
              "the same numbers");

/* ---- element by element --------------------------------------------------------------------- */

/* Indexed by the forward operator. */
static const struct slope_row {
    int op;
    enum kernels_slope_kind kind;
} slope_rows[] = {
    {OP_ABS, KERNELS_SLOPE_ABS},
    {OP_CLIP, KERNELS_SLOPE_CLIP},
    {OP_ELU, KERNELS_SLOPE_ELU},
    {OP_ERF, KERNELS_SLOPE_ERF},
    {OP_EXP, KERNELS_SLOPE_EXP},
    {OP_HARD_SIGMOID, KERNELS_SLOPE_HARD_SIGMOID},
    {OP_HARD_SWISH, KERNELS_SLOPE_HARD_SWISH},
    {OP_LEAKY_RELU, KERNELS_SLOPE_LEAKY_RELU},
    {OP_LOG, KERNELS_SLOPE_LOG},
    {OP_RECIPROCAL, KERNELS_SLOPE_RECIPROCAL},
    {OP_RELU, KERNELS_SLOPE_RELU},
    {OP_SELU, KERNELS_SLOPE_SELU},
    {OP_SIGMOID, KERNELS_SLOPE_SIGMOID},
    {OP_SOFTPLUS, KERNELS_SLOPE_SOFTPLUS},
    {OP_SOFTSIGN, KERNELS_SLOPE_SOFTSIGN},
    {OP_SQRT, KERNELS_SLOPE_SQRT},
    {OP_TANH, KERNELS_SLOPE_TANH},
};

static int slope_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_slope(task->params, task->inputs[0].data, task->inputs[1].data,
                                       task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

/* (dy, v[, low, high]) */
int slope_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    const struct op *of = op_forward_node(node).op;
    const struct slope_row *row = NULL;
    for (size_t i = 0; i < ARRAY_LEN(slope_rows) && of; i++) {
        row = slope_rows[i].op == of->id ? &slope_rows[i] : row;
    }
    if (!row) {
        return preparation_refuse(err, "the gradient of this function");
    }
    struct kernels_slope slope = {
        .kind = row->kind, .type = KERNELS_FLOAT32, .count = shape_count(&task->outputs[0].shape)};
    elementwise_unary_numbers(node, of->id, &slope.a, &slope.b);
    if (of->id == OP_CLIP && preparation_clip(prepare, 2, &slope.a, &slope.b, err) < 0) {
        return -1;
    }
    if (preparation_is_channels_last(prepare, 0) || preparation_is_channels_last(prepare, 1)) {
        struct kernels_channels_last nhwc = channels_last_of(prepare->gpu, &task->inputs[0].shape);
        task->inputs[0].layout = task->inputs[1].layout = task->outputs[0].layout =
            GPU_CHANNELS_LAST;
        slope.type = nhwc.type;
        slope.channels = nhwc.channels;
        slope.pitch = nhwc.pitch;
        slope.count = nhwc.n * nhwc.pixels * nhwc.pitch;
    }
    task->params = x_calloc(1, sizeof slope);
    *(struct kernels_slope *)task->params = slope;
    task->run = slope_run;
    return 0;
}

static int sum_to_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(
        kernels_run_reduce(task->params, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

/* (x, shape): summed over the dimensions that broadcasting has repeated. */
int sum_to_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape, *y = &task->outputs[0].shape;
    int64_t strides[TENSOR_RANK_MAX];
    struct kernels_reduce *reduce = task->params = x_calloc(1, sizeof *reduce);
    reduce->kind = KERNELS_REDUCE_SUM;
    task_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        int own = i - (x->rank - y->rank);
        if (own >= 0 && y->dims[own] == x->dims[i]) {
            reduce->kept[reduce->kept_rank] = x->dims[i];
            reduce->kept_strides[reduce->kept_rank++] = strides[i];
        } else {
            reduce->gone[reduce->gone_rank] = x->dims[i];
            reduce->gone_strides[reduce->gone_rank++] = strides[i];
        }
    }
    task->run = sum_to_run;
    return 0;
}

static int softmax_gradient_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const int64_t *sizes = task->params;
    bool is_log = op_forward_node(task->node).op->id == OP_LOG_SOFTMAX;
    return gpu_check(kernels_run_softmax_gradient(is_log, sizes, task->inputs[0].data,
                                                  task->inputs[1].data, task->outputs[0].data,
                                                  gpu->stream),
                     "a kernel", err);
}

/* (dy, y) */
int softmax_gradient_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct softmax softmax;
    if (softmax_params(task->node, &task->inputs[1].shape, &softmax, err) < 0) {
        return -1;
    }
    int64_t *sizes = task->params = x_calloc(3, sizeof *sizes);
    sizes[0] = softmax.outer;
    sizes[1] = softmax.axis;
    sizes[2] = softmax.inner;
    task->run = softmax_gradient_run;
    return 0;
}

/* ---- rounding to bfloat16 ------------------------------------------------------------------- */

static int round_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct task_operand *x = &task->inputs[0], *y = &task->outputs[0];
    struct kernels_channels_last nhwc = channels_last_of(gpu, &x->shape);
    int result = x->layout == y->layout
                     ? kernels_run_round(x->data, y->data, shape_count(&x->shape), gpu->stream)
                 : x->layout == GPU_CHANNELS_LAST
                     ? kernels_run_from_channels_last(&nhwc, x->data, y->data, gpu->stream)
                     : kernels_run_to_channels_last(&nhwc, x->data, y->data, gpu->stream);
    return gpu_check(result, "a kernel", err);
}

/* On a bfloat16 device, converting an activation to channels last also rounds it. */
int round_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct task *task = prepare->task;
    const struct shape *shape = &task->inputs[0].shape;
    if (prepare->gpu->type == KERNELS_BFLOAT16) {
        bool is_channels_last = preparation_is_channels_last(prepare, 0);
        bool may_be_channels_last =
            shape->rank == 4 && channels_last_fits(task->inputs[0].type, shape);
        task->inputs[0].layout = is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR;
        task->outputs[0].layout =
            !is_channels_last && may_be_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR;
    }
    task->run = round_run;
    return 0;
}

/* ---- dropout -------------------------------------------------------------------------------- */

static int dropout_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_dropout(task->params, task->inputs[0].data, task->inputs[1].data,
                                         task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

/* (x, keys) */
int dropout_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct task *task = prepare->task;
    struct kernels_dropout *dropout = task->params = x_calloc(1, sizeof *dropout);
    struct dropout_samples samples;
    internal_dropout(task->node, &task->inputs[0].shape, task->inputs[1].shape.dims[0], &samples);
    dropout->outer = samples.outer;
    dropout->samples = samples.samples;
    dropout->each = samples.each;
    dropout->salt = (uint64_t)node_integer(task->node, "salt", 0);
    dropout->ratio = node_number(task->node, "ratio", 0.5f);
    task->run = dropout_run;
    return 0;
}

/* ---- losses --------------------------------------------------------------------------------- */

static int loss_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_loss loss = *(const struct kernels_loss *)task->params;
    bool is_entropy = task->node->op->id == OP_SOFTMAX_CROSS_ENTROPY;
    loss.x = task->inputs[0].data;
    loss.labels = is_entropy ? task->inputs[1].data : NULL;
    loss.target = is_entropy ? NULL : task->inputs[1].data;
    loss.scale = task->inputs[2].data;
    loss.loss = task->outputs[0].data;
    loss.dx = task->outputs[1].data;
    loss.correct = is_entropy ? task->outputs[2].data : NULL;
    loss.partial = task->scratch;
    return gpu_check(is_entropy ? kernels_run_cross_entropy(&loss, gpu->stream)
                                : kernels_run_mean_squared(&loss, gpu->stream),
                     "a kernel", err);
}

/* (x, labels or targets, scale) */
int loss_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *shape = &task->inputs[0].shape;
    bool is_entropy = task->node->op->id == OP_SOFTMAX_CROSS_ENTROPY;
    for (int i = 0; i < task->output_count; i++) {
        if (task->outputs[i].is_absent) {
            return preparation_refuse(err, "a loss with outputs left out");
        }
    }
    if (is_entropy && (shape->rank != 2 || node_attribute(task->node, "ignored") ||
                       node_attribute(task->node, "weights"))) {
        return preparation_refuse(err, "a cross entropy with places, labels that do not count, or "
                                       "weights of classes");
    }
    struct kernels_loss *loss = task->params = x_calloc(1, sizeof *loss);
    loss->samples = shape->dims[0];
    loss->classes = shape_count(shape) / MAX(shape->dims[0], 1);
    loss->smoothing = node_number(task->node, "smoothing", 0);
    task->scratch_bytes =
        (size_t)(is_entropy ? 2 * loss->samples : KERNELS_LOSS_PIECES) * sizeof(double);
    task->run = loss_run;
    return 0;
}

/* ---- the optimizer -------------------------------------------------------------------------- */

static int optimizer_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_optimizer optimizer = *(const struct kernels_optimizer *)task->params;
    optimizer.w = task->inputs[0].data;
    optimizer.g = task->inputs[1].data;
    optimizer.numbers = task->inputs[2].data;
    optimizer.new_w = task->outputs[0].data;
    for (int i = 0; i + 3 < task->input_count; i++) {
        optimizer.states[i] = task->inputs[3 + i].data;
        optimizer.new_states[i] = task->outputs[1 + i].data;
    }
    optimizer.ratio = optimizer.trust > 0 ? task->scratch : NULL;
    return gpu_check(kernels_run_optimizer(&optimizer, gpu->stream), "a kernel", err);
}

/* (w, g, numbers[, v | m, s]) */
int optimizer_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    int64_t kind = node_integer(task->node, "kind", OPTIMIZER_STEP_PLAIN);
    int states = optimizer_step_states((enum optimizer_step_kind)kind);
    if (kind < 0 || kind > OPTIMIZER_STEP_SQUARE || task->input_count < 3 + states) {
        return preparation_refuse(err, "a step of this optimizer");
    }
    struct kernels_optimizer *optimizer = task->params = x_calloc(1, sizeof *optimizer);
    optimizer->kind = (int)kind;
    optimizer->count = shape_count(&task->inputs[0].shape);
    optimizer->decay = node_number(task->node, "decay", 0);
    optimizer->decoupled_decay = node_number(task->node, "decoupled_decay", 0);
    optimizer->factor = node_number(task->node, "factor", 1);
    optimizer->trust = node_number(task->node, "trust", 0);
    task->scratch_bytes = optimizer->trust > 0 ? (1 + 2 * KERNELS_LOSS_PIECES) * sizeof(double) : 0;
    task->run = optimizer_run;
    return 0;
}

static int global_norm_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_global_norm(task->inputs[0].data,
                                             shape_count(&task->inputs[0].shape),
                                             task->outputs[0].data, task->scratch, gpu->stream),
                     "a kernel", err);
}

int global_norm_prepare(struct preparation *prepare, struct error *err UNUSED) {
    prepare->task->scratch_bytes = KERNELS_LOSS_PIECES * sizeof(double);
    prepare->task->run = global_norm_run;
    return 0;
}
