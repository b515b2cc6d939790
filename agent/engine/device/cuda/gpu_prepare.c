// SPDX-License-Identifier: Apache-2.0
/* Makes tasks from a schedule: fuses nodes, then prepares the steps in order, so that a family
 * knows the layouts of its inputs. */
#include "agent/engine/device/cuda/gpu_prepare.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/device/cuda/fusion.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>

#define FAMILY(label, call)                                                                        \
    { {"cuda " label, task_run}, call }
static const struct family unary = FAMILY("unary", unary_prepare);
static const struct family binary = FAMILY("binary", binary_prepare);
static const struct family reduce = FAMILY("reduce", reduce_prepare);
static const struct family softmax = FAMILY("softmax", softmax_prepare);
static const struct family arg_max = FAMILY("arg_max", arg_max_prepare);
static const struct family pool = FAMILY("pool", pool_prepare);
static const struct family global_pool = FAMILY("global_pool", global_pool_prepare);
static const struct family resize = FAMILY("resize", resize_prepare);
static const struct family norm = FAMILY("norm", norm_prepare);
static const struct family blocks = FAMILY("blocks", blocks_prepare);
static const struct family from_bytes = FAMILY("from_bytes", from_bytes_prepare);
static const struct family to_bytes = FAMILY("to_bytes", to_bytes_prepare);
static const struct family cast = FAMILY("cast", cast_prepare);
static const struct family conv_gradient_input =
    FAMILY("conv_gradient_input", conv_gradient_input_prepare);
static const struct family conv_gradient_weights =
    FAMILY("conv_gradient_weights", conv_gradient_weights_prepare);
static const struct family dropout = FAMILY("dropout", dropout_prepare);
static const struct family loss = FAMILY("loss", loss_prepare);
static const struct family matmul_gradient = FAMILY("matmul_gradient", matmul_gradient_prepare);
static const struct family norm_gradient = FAMILY("norm_gradient", norm_gradient_prepare);
static const struct family norm_training = FAMILY("norm_training", norm_training_prepare);
static const struct family global_norm = FAMILY("global_norm", global_norm_prepare);
static const struct family optimizer = FAMILY("optimizer", optimizer_prepare);
static const struct family pool_gradient = FAMILY("pool_gradient", pool_gradient_prepare);
static const struct family round_family = FAMILY("round", round_prepare);
static const struct family slope = FAMILY("slope", slope_prepare);
static const struct family softmax_gradient = FAMILY("softmax_gradient", softmax_gradient_prepare);
static const struct family sum_to = FAMILY("sum_to", sum_to_prepare);
static const struct family concat = FAMILY("concat", concat_prepare);
static const struct family conv = FAMILY("conv", conv_prepare);
static const struct family conv_transpose = FAMILY("conv_transpose", conv_transpose_prepare);
static const struct family expand = FAMILY("expand", expand_prepare);
static const struct family gather = FAMILY("gather", gather_prepare);
static const struct family gemm = FAMILY("gemm", gemm_prepare);
static const struct family layer_norm = FAMILY("layer_norm", layer_norm_prepare);
static const struct family lrn = FAMILY("lrn", lrn_prepare);
static const struct family matmul = FAMILY("matmul", matmul_prepare);
static const struct family not_family = FAMILY("not", not_prepare);
static const struct family pad = FAMILY("pad", pad_prepare);
static const struct family slice = FAMILY("slice", slice_prepare);
static const struct family split = FAMILY("split", split_prepare);
static const struct family tile = FAMILY("tile", tile_prepare);
static const struct family transpose = FAMILY("transpose", transpose_prepare);
static const struct family where = FAMILY("where", where_prepare);
const struct family host_family = FAMILY("host", NULL);

static const struct family *const families[OP_COUNT] = {
    [OP_ABS] = &unary,
    [OP_ACOS] = &unary,
    [OP_ACOSH] = &unary,
    [OP_ADD] = &binary,
    [OP_AND] = &binary,
    [OP_ARG_MAX] = &arg_max,
    [OP_ARG_MIN] = &arg_max,
    [OP_ASIN] = &unary,
    [OP_ASINH] = &unary,
    [OP_ATAN] = &unary,
    [OP_ATANH] = &unary,
    [OP_AVERAGE_POOL] = &pool,
    [OP_BATCH_NORMALIZATION] = &norm,
    [OP_CAST] = &cast,
    [OP_CAST_LIKE] = &cast,
    [OP_CEIL] = &unary,
    [OP_CELU] = &unary,
    [OP_CLIP] = &unary,
    [OP_CONCAT] = &concat,
    [OP_CONV] = &conv,
    [OP_CONV_TRANSPOSE] = &conv_transpose,
    [OP_COS] = &unary,
    [OP_COSH] = &unary,
    [OP_DEPTH_TO_SPACE] = &blocks,
    [OP_DIV] = &binary,
    [OP_ELU] = &unary,
    [OP_EQUAL] = &binary,
    [OP_ERF] = &unary,
    [OP_EXP] = &unary,
    [OP_EXPAND] = &expand,
    [OP_FLOOR] = &unary,
    [OP_FROM_BYTES] = &from_bytes,
    [OP_GATHER] = &gather,
    [OP_GEMM] = &gemm,
    [OP_GLOBAL_AVERAGE_POOL] = &global_pool,
    [OP_GLOBAL_MAX_POOL] = &global_pool,
    [OP_GREATER] = &binary,
    [OP_GREATER_OR_EQUAL] = &binary,
    [OP_HARD_SIGMOID] = &unary,
    [OP_HARD_SWISH] = &unary,
    [OP_INSTANCE_NORMALIZATION] = &norm,
    [OP_LAYER_NORMALIZATION] = &layer_norm,
    [OP_LEAKY_RELU] = &unary,
    [OP_LESS] = &binary,
    [OP_LESS_OR_EQUAL] = &binary,
    [OP_LOG] = &unary,
    [OP_LOG_SOFTMAX] = &softmax,
    [OP_LRN] = &lrn,
    [OP_MATMUL] = &matmul,
    [OP_MAX] = &binary,
    [OP_MAX_POOL] = &pool,
    [OP_MEAN] = &binary,
    [OP_MIN] = &binary,
    [OP_MOD] = &binary,
    [OP_MUL] = &binary,
    [OP_NEG] = &unary,
    [OP_NOT] = &not_family,
    [OP_OR] = &binary,
    [OP_PAD] = &pad,
    [OP_POW] = &binary,
    [OP_PRELU] = &binary,
    [OP_RECIPROCAL] = &unary,
    [OP_REDUCE_L1] = &reduce,
    [OP_REDUCE_L2] = &reduce,
    [OP_REDUCE_LOG_SUM] = &reduce,
    [OP_REDUCE_LOG_SUM_EXP] = &reduce,
    [OP_REDUCE_MAX] = &reduce,
    [OP_REDUCE_MEAN] = &reduce,
    [OP_REDUCE_MIN] = &reduce,
    [OP_REDUCE_PROD] = &reduce,
    [OP_REDUCE_SUM] = &reduce,
    [OP_REDUCE_SUM_SQUARE] = &reduce,
    [OP_RELU] = &unary,
    [OP_RESIZE] = &resize,
    [OP_ROUND] = &unary,
    [OP_SELU] = &unary,
    [OP_SHRINK] = &unary,
    [OP_SIGMOID] = &unary,
    [OP_SIGN] = &unary,
    [OP_SIN] = &unary,
    [OP_SINH] = &unary,
    [OP_SLICE] = &slice,
    [OP_SOFTMAX] = &softmax,
    [OP_SOFTPLUS] = &unary,
    [OP_SOFTSIGN] = &unary,
    [OP_SPACE_TO_DEPTH] = &blocks,
    [OP_SPLIT] = &split,
    [OP_SQRT] = &unary,
    [OP_SUB] = &binary,
    [OP_SUM] = &binary,
    [OP_TAN] = &unary,
    [OP_TANH] = &unary,
    [OP_THRESHOLDED_RELU] = &unary,
    [OP_TILE] = &tile,
    [OP_TO_BYTES] = &to_bytes,
    [OP_TRANSPOSE] = &transpose,
    [OP_UPSAMPLE] = &resize,
    [OP_WHERE] = &where,
    [OP_XOR] = &binary,
    [OP_CONV_GRADIENT_INPUT] = &conv_gradient_input,
    [OP_CONV_GRADIENT_WEIGHTS] = &conv_gradient_weights,
    [OP_DROPOUT_TRAINING] = &dropout,
    [OP_MATMUL_GRADIENT] = &matmul_gradient,
    [OP_MEAN_SQUARED] = &loss,
    [OP_NORM_GRADIENT] = &norm_gradient,
    [OP_NORM_TRAINING] = &norm_training,
    [OP_OPTIMIZER_STEP] = &optimizer,
    [OP_GLOBAL_NORM] = &global_norm,
    [OP_POOL_GRADIENT] = &pool_gradient,
    [OP_ROUND_BFLOAT] = &round_family,
    [OP_SOFTMAX_CROSS_ENTROPY] = &loss,
    [OP_SOFTMAX_GRADIENT] = &softmax_gradient,
    [OP_SUM_TO] = &sum_to,
    [OP_UNARY_GRADIENT] = &slope,
};

/* ---- the schedule --------------------------------------------------------------------------- */

/* Outputs that the kernel makes channels last keep that layout if nothing reads their bytes as
 * row-major. */
static void keep_layouts(struct schedule *schedule, const struct step *step) {
    const struct task *task = step->state;
    for (int i = 0; i < task->output_count; i++) {
        struct schedule_slot *slot =
            step->outputs[i] < 0 ? NULL : &schedule->slots[step->outputs[i]];
        if (slot && task->outputs[i].layout == GPU_CHANNELS_LAST && slot->place == PLACE_ARENA &&
            !slot->viewed && !slot->is_output) {
            slot->layout = GPU_CHANNELS_LAST;
            slot->size_bytes = channels_last_bytes(&slot->shape);
        }
    }
}

/* Families have kernels for float32; those with kernels for more types check the type
 * themselves. */
static bool has_type(const struct family *family, const struct task *task) {
    static const struct family *const of_more[] = {
        &binary,     &blocks, &cast,  &concat, &from_bytes, &expand, &gather,
        &not_family, &pad,    &slice, &split,  &tile,       &where,  &transpose};
    for (size_t i = 0; i < ARRAY_LEN(of_more); i++) {
        if (family == of_more[i]) {
            return true;
        }
    }
    return task->input_count > 0 && !task->inputs[0].is_absent &&
           task->inputs[0].type == TENSOR_FLOAT32;
}

static bool is_empty(const struct task *task) {
    for (int i = 0; i < task->output_count; i++) {
        if (!task->outputs[i].is_absent && shape_count(&task->outputs[i].shape) > 0) {
            return false;
        }
    }
    return true;
}

static int prepare_step(struct gpu *gpu, struct schedule *schedule, struct step *step,
                        struct error *err) {
    struct preparation prepare = {.gpu = gpu, .schedule = schedule, .step = step};
    const struct family *family = families[step->node->op->id];
    bool is_fused = step->state != NULL;
    int result = -1;
    prepare.task = task_new(schedule, step);
    prepare.inputs = schedule_facts(schedule, step->node, &prepare.facts);
    /* A step that has absorbed other nodes must have a kernel, because the host's kernel computes
     * only the first node. */
    if (family && (is_fused || (has_type(family, prepare.task) && !is_empty(prepare.task)))) {
        struct error why = {0};
        result = family->prepare(&prepare, &why);
        if (result < 0 && (is_fused || why.kind != ERROR_UNSUPPORTED)) {
            *err = why;
            task_free(prepare.task);
            return error_context(err, "%s node \"%.64s\"", step->node->op->name, step->node->name);
        }
    }
    if (result < 0) {
        task_free(prepare.task);
        prepare.task = task_new(schedule, step);
        family = &host_family;
        task_prepare_host(&prepare);
    }
    if (step->state && step->release) {
        step->release(step->state);
    }
    step->state = prepare.task;
    step->release = task_free;
    step->kernel = &family->kernel;
    keep_layouts(schedule, step);
    return 0;
}

/* Readers of the step's output read its input instead; the step is dropped. */
static void pass_by(struct schedule *schedule, size_t index) {
    struct step *step = &schedule->steps[index];
    for (size_t i = index + 1; i < schedule->step_count; i++) {
        struct step *reader = &schedule->steps[i];
        for (int k = 0; k < reader->input_count && reader->node; k++) {
            reader->inputs[k] =
                reader->inputs[k] == step->outputs[0] ? step->inputs[0] : reader->inputs[k];
        }
    }
    schedule->slots[step->outputs[0]].place = PLACE_NONE;
    step->node = NULL;
}

/* Whether rounding to bfloat16 is not needed: the value is already in the device's 16-bit type, and
 * the steps that read it can read that type. */
static bool round_is_redundant(const struct gpu *gpu, const struct schedule *schedule,
                               const struct step *step) {
    const struct schedule_slot *x = &schedule->slots[step->inputs[0]],
                               *y = &schedule->slots[step->outputs[0]];
    return step->node->op->id == OP_ROUND_BFLOAT && gpu->type == KERNELS_BFLOAT16 &&
           x->layout == GPU_CHANNELS_LAST && y->place == PLACE_ARENA && !y->viewed && !y->is_output;
}

int gpu_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    struct gpu *gpu = gpu_of(device);
    schedule->alignment = TASK_ALIGNMENT;
    fusion_apply(gpu, schedule);
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (step->node && round_is_redundant(gpu, schedule, step)) {
            pass_by(schedule, i);
        } else if (step->node && prepare_step(gpu, schedule, step, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        if (schedule->steps[i].node) {
            task_finish(schedule, &schedule->steps[i]);
        }
    }
    return 0;
}
