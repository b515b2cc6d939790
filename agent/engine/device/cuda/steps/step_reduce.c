// SPDX-License-Identifier: Apache-2.0
/* Reductions and normalizations of row-major float32. */
#include "agent/engine/device/cuda/kernels/kernels_reduce.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/norm.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

#include <string.h>

static int is_float(const struct preparation *prepare, struct error *err) {
    return prepare->task->inputs[0].type == TENSOR_FLOAT32
               ? 0
               : preparation_refuse(err, "a type without reductions");
}

static int reduce_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(
        kernels_run_reduce(task->params, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

static int reduce_kind(int op) {
    switch (op) {
    case OP_REDUCE_MEAN:
        return KERNELS_REDUCE_MEAN;
    case OP_REDUCE_MAX:
        return KERNELS_REDUCE_MAX;
    case OP_REDUCE_MIN:
        return KERNELS_REDUCE_MIN;
    case OP_REDUCE_PROD:
        return KERNELS_REDUCE_PROD;
    case OP_REDUCE_L1:
        return KERNELS_REDUCE_L1;
    case OP_REDUCE_L2:
        return KERNELS_REDUCE_L2;
    case OP_REDUCE_SUM_SQUARE:
        return KERNELS_REDUCE_SUM_SQUARE;
    case OP_REDUCE_LOG_SUM:
        return KERNELS_REDUCE_LOG_SUM;
    case OP_REDUCE_LOG_SUM_EXP:
        return KERNELS_REDUCE_LOG_SUM_EXP;
    default:
        return KERNELS_REDUCE_SUM;
    }
}

int reduce_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    int64_t strides[TENSOR_RANK_MAX];
    struct reduce params;
    if (is_float(prepare, err) < 0 ||
        reduce_params(task->node, prepare->inputs, &params, err) < 0) {
        return -1;
    }
    struct kernels_reduce *reduce = task->params = x_calloc(1, sizeof *reduce);
    reduce->kind = reduce_kind(task->node->op->id);
    task_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        if (params.is_reduced[i]) {
            reduce->gone[reduce->gone_rank] = x->dims[i];
            reduce->gone_strides[reduce->gone_rank++] = strides[i];
        } else {
            reduce->kept[reduce->kept_rank] = x->dims[i];
            reduce->kept_strides[reduce->kept_rank++] = strides[i];
        }
    }
    task->run = reduce_run;
    return 0;
}

/* ---- along one axis ------------------------------------------------------------------------- */

struct along {
    int64_t sizes[3]; /* outer, axis, inner */
};

static int softmax_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct along *along = task->params;
    return gpu_check(kernels_run_softmax(task->node->op->id == OP_LOG_SOFTMAX, along->sizes,
                                         task->inputs[0].data, task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

int softmax_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct softmax softmax;
    if (is_float(prepare, err) < 0 ||
        softmax_params(task->node, &task->inputs[0].shape, &softmax, err) < 0) {
        return -1;
    }
    struct along *along = task->params = x_calloc(1, sizeof *along);
    *along = (struct along){{softmax.outer, softmax.axis, softmax.inner}};
    task->run = softmax_run;
    return 0;
}

static int arg_max_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct along *along = task->params;
    return gpu_check(kernels_run_arg_max(task->node->op->id == OP_ARG_MIN,
                                         node_integer(task->node, "select_last_index", 0) != 0,
                                         along->sizes, task->inputs[0].data, task->outputs[0].data,
                                         gpu->stream),
                     "a kernel", err);
}

int arg_max_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    int64_t axis = node_integer(task->node, "axis", 0);
    axis = axis < 0 ? axis + x->rank : axis;
    if (is_float(prepare, err) < 0 || axis < 0 || axis >= x->rank || x->dims[axis] == 0) {
        return preparation_refuse(err, "an axis or type without ArgMax");
    }
    struct along *along = task->params = x_calloc(1, sizeof *along);
    *along = (struct along){{1, x->dims[axis], 1}};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) {
            along->sizes[i < axis ? 0 : 2] *= x->dims[i];
        }
    }
    task->run = arg_max_run;
    return 0;
}

/* ---- normalizations ------------------------------------------------------------------------- */

static int layer_norm_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_layer_norm norm = *(const struct kernels_layer_norm *)task->params;
    norm.x = task->inputs[0].data;
    norm.scale = task->inputs[1].data;
    norm.shift = task_has(task, 2) ? task->inputs[2].data : NULL;
    norm.y = task->outputs[0].data;
    norm.means = task->output_count > 1 ? task->outputs[1].data : NULL;
    norm.inverses = task->output_count > 2 ? task->outputs[2].data : NULL;
    return gpu_check(kernels_run_layer_norm(&norm, gpu->stream), "a kernel", err);
}

int layer_norm_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct layer_norm params;
    if (is_float(prepare, err) < 0 || task->outputs[0].is_absent ||
        layer_norm_params(task->node, &task->inputs[0].shape, &params, err) < 0) {
        return preparation_refuse(err, "this LayerNormalization");
    }
    struct kernels_layer_norm *norm = task->params = x_calloc(1, sizeof *norm);
    norm->outer = params.outer;
    norm->inner = params.inner;
    norm->epsilon = node_number(task->node, "epsilon", 1e-5f);
    task->run = layer_norm_run;
    return 0;
}

static int lrn_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(
        kernels_run_lrn(task->params, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

static int64_t pixels_of(const struct shape *x) {
    int64_t pixels = 1;
    for (int i = 2; i < x->rank; i++) {
        pixels *= x->dims[i];
    }
    return pixels;
}

int lrn_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    if (is_float(prepare, err) < 0) {
        return -1;
    }
    struct kernels_lrn *lrn = task->params = x_calloc(1, sizeof *lrn);
    *lrn = (struct kernels_lrn){.n = x->dims[0],
                                .c = x->dims[1],
                                .pixels = pixels_of(x),
                                .size = node_integer(task->node, "size", 1),
                                .alpha = node_number(task->node, "alpha", 1e-4f),
                                .beta = node_number(task->node, "beta", 0.75f),
                                .bias = node_number(task->node, "bias", 1)};
    task->run = lrn_run;
    return 0;
}

static int norm_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_norm norm = *(const struct kernels_norm *)task->params;
    norm.x = task->inputs[0].data;
    norm.scale = task->inputs[1].data;
    norm.shift = task->inputs[2].data;
    norm.mean = task_has(task, 4) ? task->inputs[3].data : NULL;
    norm.variance = task_has(task, 4) ? task->inputs[4].data : NULL;
    norm.y = task->outputs[0].data;
    return gpu_check(kernels_run_norm(&norm, gpu->stream), "a kernel", err);
}

/* BatchNormalization and InstanceNormalization; the latter is in step_apply.c for channels-last
 * activations. */
int norm_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    if (prepare->step->state) {
        return apply_prepare(prepare, err);
    }
    if (is_float(prepare, err) < 0 || x->rank < 2) {
        return preparation_refuse(err, "this normalization");
    }
    struct kernels_norm *norm = task->params = x_calloc(1, sizeof *norm);
    norm->n = x->dims[0];
    norm->c = x->dims[1];
    norm->pixels = pixels_of(x);
    norm->epsilon = node_number(task->node, "epsilon", 1e-5f);
    task->run = norm_run;
    return 0;
}
