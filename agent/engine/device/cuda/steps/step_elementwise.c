// SPDX-License-Identifier: Apache-2.0
/* Prepares elementwise steps: which operator is which kernel. */
#include "agent/engine/device/cuda/fusion.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_elementwise.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)KERNELS_BF16 == (int)TENSOR_BFLOAT16 && (int)KERNELS_I64 == (int)TENSOR_INT64 &&
                  (int)KERNELS_U64 == (int)TENSOR_UINT64 && (int)KERNELS_BOOL == (int)TENSOR_BOOL &&
                  (int)KERNELS_NUMBERS == (int)TENSOR_TYPE_COUNT,
              "the same numbers");

/* ---- one operand ---------------------------------------------------------------------------- */

static const struct unary_row {
    int op;
    enum kernels_unary_kind kind;
} unary_rows[] = {
    {OP_ABS, KERNELS_ABS},
    {OP_ACOS, KERNELS_ACOS},
    {OP_ACOSH, KERNELS_ACOSH},
    {OP_ASIN, KERNELS_ASIN},
    {OP_ASINH, KERNELS_ASINH},
    {OP_ATAN, KERNELS_ATAN},
    {OP_ATANH, KERNELS_ATANH},
    {OP_CEIL, KERNELS_CEIL},
    {OP_CELU, KERNELS_CELU},
    {OP_CLIP, KERNELS_CLIP},
    {OP_COS, KERNELS_COS},
    {OP_COSH, KERNELS_COSH},
    {OP_ELU, KERNELS_ELU},
    {OP_ERF, KERNELS_ERF},
    {OP_EXP, KERNELS_EXP},
    {OP_FLOOR, KERNELS_FLOOR},
    {OP_HARD_SIGMOID, KERNELS_HARD_SIGMOID},
    {OP_HARD_SWISH, KERNELS_HARD_SWISH},
    {OP_LEAKY_RELU, KERNELS_LEAKY_RELU},
    {OP_LOG, KERNELS_LOG},
    {OP_NEG, KERNELS_NEG},
    {OP_RECIPROCAL, KERNELS_RECIPROCAL},
    {OP_RELU, KERNELS_RELU},
    {OP_ROUND, KERNELS_ROUND},
    {OP_SELU, KERNELS_SELU},
    {OP_SHRINK, KERNELS_SHRINK},
    {OP_SIGMOID, KERNELS_SIGMOID},
    {OP_SIGN, KERNELS_SIGN},
    {OP_SIN, KERNELS_SIN},
    {OP_SINH, KERNELS_SINH},
    {OP_SOFTPLUS, KERNELS_SOFTPLUS},
    {OP_SOFTSIGN, KERNELS_SOFTSIGN},
    {OP_SQRT, KERNELS_SQRT},
    {OP_TAN, KERNELS_TAN},
    {OP_TANH, KERNELS_TANH},
    {OP_THRESHOLDED_RELU, KERNELS_THRESHOLDED_RELU},
};

static int unary_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(
        kernels_run_unary(task->params, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

int unary_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    const struct shape *shape = &task->inputs[0].shape;
    struct kernels_unary unary = {.type = KERNELS_FLOAT32, .count = shape_count(shape)};
    if (task->inputs[0].type != TENSOR_FLOAT32) {
        return preparation_refuse(err, "a type without kernels of one operand");
    }
    for (size_t i = 0; i < ARRAY_LEN(unary_rows); i++) {
        if (unary_rows[i].op == node->op->id) {
            unary.kind = unary_rows[i].kind;
        }
    }
    elementwise_unary_numbers(node, node->op->id, &unary.a, &unary.b);
    if (node->op->id == OP_CLIP && preparation_clip(prepare, 1, &unary.a, &unary.b, err) < 0) {
        return -1;
    }
    if (preparation_is_channels_last(prepare, 0)) {
        struct kernels_channels_last nhwc = channels_last_of(prepare->gpu, shape);
        task->inputs[0].layout = task->outputs[0].layout = GPU_CHANNELS_LAST;
        unary.type = nhwc.type;
        unary.channels = nhwc.channels;
        unary.pitch = nhwc.pitch;
        unary.count = nhwc.n * nhwc.pixels * nhwc.pitch;
    }
    task->params = x_calloc(1, sizeof unary);
    *(struct kernels_unary *)task->params = unary;
    task->run = unary_run;
    return 0;
}

/* ---- two operands --------------------------------------------------------------------------- */

struct pair {
    struct kernels_binary plain;
    struct kernels_binary_channels_last channels_last;
    struct kernels_unary bounds; /* applied after the operator; count 0: none */
};

static int binary_kind(const struct node *node) {
    switch (node->op->id) {
    case OP_ADD:
    case OP_SUM:
    case OP_MEAN:
        return KERNELS_ADD;
    case OP_SUB:
        return KERNELS_SUB;
    case OP_MUL:
        return KERNELS_MUL;
    case OP_DIV:
        return KERNELS_DIV;
    case OP_MAX:
        return KERNELS_MAX;
    case OP_MIN:
        return KERNELS_MIN;
    case OP_MOD:
        return node_integer(node, "fmod", 0) ? KERNELS_FMOD : KERNELS_MOD;
    case OP_POW:
        return KERNELS_POW;
    case OP_PRELU:
        return KERNELS_PRELU;
    case OP_EQUAL:
        return KERNELS_EQUAL;
    case OP_LESS:
        return KERNELS_LESS;
    case OP_LESS_OR_EQUAL:
        return KERNELS_LESS_OR_EQUAL;
    case OP_GREATER:
        return KERNELS_GREATER;
    case OP_GREATER_OR_EQUAL:
        return KERNELS_GREATER_OR_EQUAL;
    case OP_AND:
        return KERNELS_AND;
    case OP_OR:
        return KERNELS_OR;
    default:
        return KERNELS_XOR;
    }
}

/* With more than two operands, the result so far is the left one. */
static int binary_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct pair *pair = task->params;
    const struct task_operand *y = &task->outputs[0];
    int result = cudaSuccess;
    for (int i = 1; i < task->input_count && result == cudaSuccess; i++) {
        const struct task_operand *a = i == 1 ? &task->inputs[0] : y, *b = &task->inputs[i];
        struct kernels_binary binary = pair->plain;
        elementwise_broadcast_strides(&a->shape, &y->shape, binary.a_strides);
        elementwise_broadcast_strides(&b->shape, &y->shape, binary.b_strides);
        binary.scale = i + 1 == task->input_count ? binary.scale : 1;
        result = kernels_run_binary(&binary, a->data, b->data, y->data, gpu->stream);
    }
    if (result == cudaSuccess && pair->bounds.count > 0) {
        result = kernels_run_unary(&pair->bounds, y->data, y->data, gpu->stream);
    }
    return gpu_check(result, "a kernel", err);
}

static int binary_channels_last_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct pair *pair = task->params;
    return gpu_check(kernels_run_binary_channels_last(&pair->channels_last, task->inputs[0].data,
                                                      task->inputs[1].data, task->outputs[0].data,
                                                      gpu->stream),
                     "a kernel", err);
}

/* [n, h, w, c] for a channels-last value of rank 4, or [n, 1, 1, c] for rank 2. */
static void channels_last_strides(const struct shape *x, const struct shape *y, int64_t dims[4],
                                  int64_t strides[4]) {
    const int order[] = {0, 2, 3, 1};
    int64_t pitch = channels_last_pitch(x->dims[1]);
    int64_t h = x->rank == 4 ? x->dims[2] : 1, w = x->rank == 4 ? x->dims[3] : 1;
    const int64_t own[] = {h * w * pitch, w * pitch, pitch, 1};
    for (int i = 0; i < 4; i++) {
        int64_t size = order[i] < x->rank ? x->dims[order[i]] : 1;
        dims[i] = order[i] < y->rank ? y->dims[order[i]] : 1;
        strides[i] = size == 1 && dims[i] != 1 ? 0 : own[i];
    }
}

/* Prepares the operation for channels last if that is possible: float32, one operand is channels
 * last, and both have the output's rank (a constant of lower rank, such as [c, 1, 1], gets leading
 * ones; its bytes are the same). */
static bool binary_channels_last_prepare(struct preparation *prepare, int kind, struct pair *pair) {
    struct task *task = prepare->task;
    struct task_operand *x = task->inputs, *y = &task->outputs[0];
    if (task->input_count != 2 || kind > KERNELS_PRELU || task->node->op->id == OP_MEAN ||
        (!preparation_is_channels_last(prepare, 0) && !preparation_is_channels_last(prepare, 1)) ||
        (y->shape.rank != 4 && y->shape.rank != 2)) {
        return false;
    }
    struct shape shapes[2];
    for (int i = 0; i < 2; i++) {
        shapes[i] = (struct shape){.rank = y->shape.rank};
        int missing = y->shape.rank - x[i].shape.rank;
        for (int k = 0; k < y->shape.rank; k++) {
            shapes[i].dims[k] = k < missing ? 1 : x[i].shape.dims[k - missing];
        }
        if (!channels_last_fits(x[i].type, &shapes[i])) {
            return false;
        }
    }
    struct fused fused = fusion_of(prepare->step);
    struct kernels_binary_channels_last *binary = &pair->channels_last;
    *binary =
        (struct kernels_binary_channels_last){.kind = kind,
                                              .type = prepare->gpu->type,
                                              .pitch = (int)channels_last_pitch(y->shape.dims[1]),
                                              .low = fused.low,
                                              .high = fused.high};
    x[0].shape = shapes[0];
    x[1].shape = shapes[1];
    channels_last_strides(&x[0].shape, &y->shape, binary->dims, binary->a_strides);
    channels_last_strides(&x[1].shape, &y->shape, binary->dims, binary->b_strides);
    preparation_layout(prepare, GPU_CHANNELS_LAST);
    task->run = binary_channels_last_run;
    return true;
}

int binary_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    enum tensor_type type = task->inputs[0].type;
    const struct shape *shape = &task->outputs[0].shape;
    bool is_known = type == TENSOR_FLOAT32 || type == TENSOR_FLOAT64 || type == TENSOR_INT64 ||
                    type == TENSOR_INT32 || type == TENSOR_BOOL;
    for (int i = 0; i < task->input_count; i++) {
        is_known = is_known && task->inputs[i].type == type;
    }
    int kind = binary_kind(task->node);
    if (!is_known || task->input_count < 2) {
        return preparation_refuse(err, "a type without kernels of two operands");
    }
    struct pair *pair = task->params = x_calloc(1, sizeof *pair);
    if (binary_channels_last_prepare(prepare, kind, pair)) {
        return 0;
    }
    struct fused fused = fusion_of(prepare->step);
    pair->plain = (struct kernels_binary){
        .kind = kind, .type = (enum kernels_number)type, .rank = shape->rank, .scale = 1};
    memcpy(pair->plain.dims, shape->dims, sizeof pair->plain.dims);
    pair->plain.scale = task->node->op->id == OP_MEAN ? 1.0f / (float)task->input_count : 1;
    if (fused.has_bounds) {
        pair->bounds = (struct kernels_unary){.kind = KERNELS_CLIP,
                                              .type = KERNELS_FLOAT32,
                                              .a = fused.low,
                                              .b = fused.high,
                                              .count = shape_count(shape)};
    }
    task->run = binary_run;
    return 0;
}

/* ---- choosing and converting ---------------------------------------------------------------- */

static int where_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_where(task->params, task->inputs[0].data, task->inputs[1].data,
                                       task->inputs[2].data, task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

int where_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct task *task = prepare->task;
    const struct shape *shape = &task->outputs[0].shape;
    struct kernels_where *where = task->params = x_calloc(1, sizeof *where);
    where->size = tensor_type_size(task->outputs[0].type);
    where->rank = shape->rank;
    memcpy(where->dims, shape->dims, sizeof where->dims);
    for (int i = 0; i < 3; i++) {
        elementwise_broadcast_strides(&task->inputs[i].shape, shape, where->strides[i]);
    }
    task->run = where_run;
    return 0;
}

static int cast_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct task_operand *x = &task->inputs[0], *y = &task->outputs[0];
    return gpu_check(kernels_run_cast((enum kernels_number)x->type, (enum kernels_number)y->type,
                                      x->data, y->data, shape_count(&x->shape), gpu->stream),
                     "a kernel", err);
}

int cast_prepare(struct preparation *prepare, struct error *err UNUSED) {
    prepare->task->run = cast_run;
    return 0;
}

static int not_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_not(task->inputs[0].data, task->outputs[0].data,
                                     shape_count(&task->inputs[0].shape), gpu->stream),
                     "a kernel", err);
}

int not_prepare(struct preparation *prepare, struct error *err UNUSED) {
    prepare->task->run = not_run;
    return 0;
}
