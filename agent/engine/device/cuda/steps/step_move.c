// SPDX-License-Identifier: Apache-2.0
/* Operators that move elements of any type. */
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/table.h"

#include <string.h>

static int strided_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(
        kernels_run_strided(task->params, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

/* A walk over the output, which is row-major; the caller sets how the input is read. */
static struct kernels_strided *strided_new(struct preparation *prepare) {
    struct task *task = prepare->task;
    const struct shape *y = &task->outputs[0].shape;
    struct kernels_strided *strided = task->params = x_calloc(1, sizeof *strided);
    strided->size = tensor_type_size(task->outputs[0].type);
    strided->rank = y->rank;
    memcpy(strided->dims, y->dims, sizeof strided->dims);
    task_strides(y, strided->y_strides);
    task->run = strided_run;
    return strided;
}

int transpose_prepare(struct preparation *prepare, struct error *err) {
    const struct shape *x = &prepare->task->inputs[0].shape;
    int order[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    if (move_transpose_order(prepare->task->node, x->rank, order, err) < 0) {
        return -1;
    }
    struct kernels_strided *strided = strided_new(prepare);
    task_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        strided->x_strides[i] = strides[order[i]];
    }
    return 0;
}

int slice_prepare(struct preparation *prepare, struct error *err) {
    const struct shape *x = &prepare->task->inputs[0].shape;
    int64_t strides[TENSOR_RANK_MAX];
    struct slice slice;
    if (slice_params(prepare->task->node, prepare->inputs, &slice, err) < 0) {
        return -1;
    }
    struct kernels_strided *strided = strided_new(prepare);
    task_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        strided->x_start += slice.start[i] * strides[i];
        strided->x_strides[i] = slice.size[i] > 1 ? strides[i] * slice.step[i] : 0;
    }
    return 0;
}

int expand_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct kernels_strided *strided = strided_new(prepare);
    elementwise_broadcast_strides(&prepare->task->inputs[0].shape, &prepare->task->outputs[0].shape,
                                  strided->x_strides);
    return 0;
}

/* Six dimensions, with separate ones for the sides of a block; `deep` is the tensor with more
 * channels. */
int blocks_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    bool is_deep = task->node->op->id == OP_DEPTH_TO_SPACE;
    const struct shape *deep = is_deep ? &task->inputs[0].shape : &task->outputs[0].shape;
    int64_t block = node_integer(task->node, "blocksize", 1);
    if (deep->rank != 4) {
        return preparation_refuse(err, "blocks of another rank than 4");
    }
    bool blocks_first = !is_deep || strcmp(node_text(task->node, "mode", "DCR"), "DCR") == 0;
    const int64_t *d = deep->dims;
    int64_t c = d[1] / (block * block), h = d[2], w = d[3], plane = h * w;
    const struct shape whole = {6, {d[0], c, h, block, w, block}};
    const int64_t strides[6] = {d[1] * plane,
                                blocks_first ? plane : block * block * plane,
                                w,
                                blocks_first ? block * c * plane : block * plane,
                                1,
                                blocks_first ? c * plane : plane};
    struct kernels_strided *strided = strided_new(prepare);
    strided->rank = 6;
    memcpy(strided->dims, whole.dims, sizeof strided->dims);
    task_strides(&whole, is_deep ? strided->y_strides : strided->x_strides);
    memcpy(is_deep ? strided->x_strides : strided->y_strides, strides, sizeof strides);
    return 0;
}

/* ---- pieces along an axis ------------------------------------------------------------------- */

static int64_t axis_of(const struct task *task, int rank) {
    int64_t axis = node_integer(task->node, "axis", 0);
    return axis < 0 ? axis + rank : axis;
}

/* The piece begins at `first` along the axis of the whole tensor. */
static int piece_run(struct gpu *gpu, const struct task_operand *piece,
                     const struct task_operand *whole, int64_t axis, int64_t first, bool is_split) {
    struct kernels_strided strided = {.size = tensor_type_size(whole->type),
                                      .rank = piece->shape.rank};
    int64_t strides[TENSOR_RANK_MAX];
    memcpy(strided.dims, piece->shape.dims, sizeof strided.dims);
    task_strides(&whole->shape, strides);
    task_strides(&piece->shape, is_split ? strided.y_strides : strided.x_strides);
    memcpy(is_split ? strided.x_strides : strided.y_strides, strides, sizeof strides);
    *(is_split ? &strided.x_start : &strided.y_start) = first * strides[axis];
    return kernels_run_strided(&strided, is_split ? whole->data : piece->data,
                               is_split ? piece->data : whole->data, gpu->stream);
}

static int concat_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct task_operand *y = &task->outputs[0];
    int64_t axis = axis_of(task, y->shape.rank), done = 0;
    int result = cudaSuccess;
    for (int i = 0; i < task->input_count && result == cudaSuccess; i++) {
        result = piece_run(gpu, &task->inputs[i], y, axis, done, false);
        done += task->inputs[i].shape.dims[axis];
    }
    return gpu_check(result, "a kernel", err);
}

static int concat_channels_last_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct task_operand *y = &task->outputs[0];
    int64_t done = 0;
    int result = cudaSuccess;
    for (int i = 0; i < task->input_count && result == cudaSuccess; i++) {
        const struct shape *x = &task->inputs[i].shape;
        struct kernels_piece piece = {.type = gpu->type,
                                      .pixels = shape_count(x) / x->dims[1],
                                      .channels = (int)x->dims[1],
                                      .x_pitch = (int)channels_last_pitch(x->dims[1]),
                                      .y_pitch = (int)channels_last_pitch(y->shape.dims[1]),
                                      .first = (int)done,
                                      .is_end = i + 1 == task->input_count};
        result = kernels_run_piece(&piece, task->inputs[i].data, y->data, gpu->stream);
        done += x->dims[1];
    }
    return gpu_check(result, "a kernel", err);
}

int concat_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct task *task = prepare->task;
    const struct shape *y = &task->outputs[0].shape;
    bool fits = axis_of(task, y->rank) == 1 && channels_last_fits(task->outputs[0].type, y);
    bool has_channels_last = false;
    for (int i = 0; i < task->input_count; i++) {
        fits = fits && channels_last_fits(task->inputs[i].type, &task->inputs[i].shape);
        has_channels_last = has_channels_last || preparation_is_channels_last(prepare, i);
    }
    bool is_channels_last = fits && has_channels_last;
    preparation_layout(prepare, is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR);
    task->run = is_channels_last ? concat_channels_last_run : concat_run;
    return 0;
}

static int split_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct task_operand *x = &task->inputs[0];
    int64_t axis = axis_of(task, x->shape.rank), done = 0;
    int result = cudaSuccess;
    for (int i = 0; i < task->output_count && result == cudaSuccess; i++) {
        if (!task->outputs[i].is_absent) {
            result = piece_run(gpu, &task->outputs[i], x, axis, done, true);
            done += task->outputs[i].shape.dims[axis];
        }
    }
    return gpu_check(result, "a kernel", err);
}

int split_prepare(struct preparation *prepare, struct error *err) {
    for (int i = 0; i < prepare->task->output_count; i++) {
        if (prepare->task->outputs[i].is_absent) { /* its size is not known */
            return preparation_refuse(err, "Split with a piece left out");
        }
    }
    prepare->task->run = split_run;
    return 0;
}

/* ---- Pad, Tile, Gather ---------------------------------------------------------------------- */

struct padding {
    struct kernels_pad pad;
    float value; /* from the attribute; later opsets use an input */
    void *fill;  /* of the device; NULL: zero, or input 2 */
};

static int pad_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct padding *padding = task->params;
    const void *fill =
        task_has(task, 2) && task->node->op->id == OP_PAD ? task->inputs[2].data : NULL;
    if (padding->value != 0) {
        int result = cudaMemcpyAsync(task->scratch, &padding->value, sizeof padding->value,
                                     cudaMemcpyHostToDevice, gpu->stream);
        if (gpu_check(result, "a copy", err) < 0) {
            return -1;
        }
        fill = task->scratch;
    }
    return gpu_check(kernels_run_pad(&padding->pad, task->inputs[0].data, fill,
                                     task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

static struct padding *padding_new(struct preparation *prepare) {
    struct task *task = prepare->task;
    struct padding *padding = task->params = x_calloc(1, sizeof *padding);
    padding->pad.size = tensor_type_size(task->outputs[0].type);
    padding->pad.rank = task->outputs[0].shape.rank;
    memcpy(padding->pad.x_dims, task->inputs[0].shape.dims, sizeof padding->pad.x_dims);
    memcpy(padding->pad.y_dims, task->outputs[0].shape.dims, sizeof padding->pad.y_dims);
    task->run = pad_run;
    return padding;
}

int tile_prepare(struct preparation *prepare, struct error *err UNUSED) {
    padding_new(prepare)->pad.edge = KERNELS_REPEAT;
    return 0;
}

/* step_apply.c pads channels-last activations. */
int pad_prepare(struct preparation *prepare, struct error *err) {
    struct pad pad;
    if (prepare->step->state && preparation_is_channels_last(prepare, 0)) {
        return apply_prepare(prepare, err);
    }
    if (pad_params(prepare->task->node, prepare->inputs, &pad, err) < 0) {
        return -1;
    }
    struct padding *padding = padding_new(prepare);
    memcpy(padding->pad.begin, pad.begin, sizeof padding->pad.begin);
    padding->pad.edge = pad.mode == PAD_REFLECT ? KERNELS_REFLECT
                        : pad.mode == PAD_EDGE  ? KERNELS_EDGE
                                                : KERNELS_CONSTANT;
    padding->value = prepare->task->node->opset < 11 ? pad.value : 0;
    prepare->task->scratch_bytes = sizeof padding->value;
    return 0;
}

static int gather_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_gather(task->params, task->inputs[0].data, task->inputs[1].data,
                                        task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

/* With computed indices the host kernel is used, because it can report an index out of range. */
int gather_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    const struct tensor indices = {.type = task->inputs[1].type,
                                   .shape = task->inputs[1].shape,
                                   .data = (void *)(uintptr_t)preparation_constant(prepare, 1)};
    int64_t axis = axis_of(task, x->rank), count = shape_count(&indices.shape);
    if (!indices.data) {
        return preparation_refuse(err, "Gather with computed indices");
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t index = (int64_t)tensor_whole(&indices, i);
        if (index < -x->dims[axis] || index >= x->dims[axis]) {
            return preparation_refuse(err, "Gather with an index out of range");
        }
    }
    struct kernels_gather *gather = task->params = x_calloc(1, sizeof *gather);
    *gather = (struct kernels_gather){.size = tensor_type_size(task->outputs[0].type),
                                      .index = (enum kernels_number)indices.type,
                                      .outer = 1,
                                      .axis = x->dims[axis],
                                      .count = count,
                                      .inner = 1};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) {
            *(i < axis ? &gather->outer : &gather->inner) *= x->dims[i];
        }
    }
    task->run = gather_run;
    return 0;
}
