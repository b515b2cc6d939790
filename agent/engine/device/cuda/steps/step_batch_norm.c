// SPDX-License-Identifier: Apache-2.0
/* Norms in training: NormTraining, NormGradient. */
#include "agent/engine/device/cuda/kernels/kernels_train.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

static int training_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_batch_norm norm = *(const struct kernels_batch_norm *)task->params;
    norm.x = task->inputs[0].data;
    norm.scale = task->inputs[1].data;
    norm.shift = task->inputs[2].data;
    norm.y = task->outputs[0].data;
    norm.mean = task->outputs[1].data;
    norm.variance = task->outputs[2].data;
    norm.scratch = task->scratch;
    return gpu_check(kernels_run_batch_norm(&norm, gpu->stream), "a kernel", err);
}

static int gradient_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_batch_norm norm = *(const struct kernels_batch_norm *)task->params;
    norm.dy = task->inputs[0].data;
    norm.x = task->inputs[1].data;
    norm.scale = task->inputs[2].data;
    norm.mean = task->inputs[3].data;
    norm.variance = task->inputs[4].data;
    norm.y = task->outputs[0].data;
    norm.dscale = task->outputs[1].data;
    norm.dshift = task->outputs[2].data;
    norm.scratch = task->scratch;
    return gpu_check(kernels_run_batch_norm(&norm, gpu->stream), "a kernel", err);
}

/* x: the input index of x. Sets sizes and layouts. */
static int prepare_norm(struct preparation *prepare, int x, struct kernels_batch_norm **ret_norm,
                        struct error *err) {
    struct task *task = prepare->task;
    const struct shape *shape = &task->inputs[x].shape;
    for (int i = 0; i < task->output_count; i++) {
        if (task->outputs[i].is_absent) {
            return preparation_refuse(err, "a norm with outputs left out");
        }
    }
    if (shape->rank < 2 || shape_count(shape) == 0) {
        return preparation_refuse(err, "a norm of an empty tensor");
    }
    struct kernels_batch_norm *norm = task->params = x_calloc(1, sizeof *norm);
    norm->nhwc = channels_last_of(prepare->gpu, shape);
    norm->epsilon = node_number(task->node, "epsilon", 1e-5f);
    if (preparation_is_channels_last(prepare, x)) {
        for (int i = 0; i <= x; i++) {
            task->inputs[i].layout = GPU_CHANNELS_LAST;
        }
        task->outputs[0].layout = GPU_CHANNELS_LAST;
    } else {
        norm->nhwc.type = KERNELS_FLOAT32;
    }
    *ret_norm = norm;
    return 0;
}

/* (x, scale, shift) -> y, mean, variance */
int norm_training_prepare(struct preparation *prepare, struct error *err) {
    struct kernels_batch_norm *norm;
    if (prepare_norm(prepare, 0, &norm, err) < 0) {
        return -1;
    }
    prepare->task->scratch_bytes = kernels_batch_norm_bytes(norm);
    prepare->task->run = training_run;
    return 0;
}

/* (dy, x, scale, mean, variance) -> dx, dscale, dshift */
int norm_gradient_prepare(struct preparation *prepare, struct error *err) {
    const struct op *of = op_forward_node(prepare->task->node).op; /* NULL: NormTraining */
    struct kernels_batch_norm *norm;
    if (of && of->id != OP_BATCH_NORMALIZATION) {
        return preparation_refuse(err, "the gradient of a norm of each sample");
    }
    if (prepare_norm(prepare, 1, &norm, err) < 0) {
        return -1;
    }
    norm->is_fixed = of != NULL;
    prepare->task->scratch_bytes = kernels_batch_norm_bytes(norm);
    prepare->task->run = gradient_run;
    return 0;
}
