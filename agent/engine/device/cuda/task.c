// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/packed_weights.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/device/cpu/reference/reference.h"

#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t size) {
    return (size + TASK_ALIGNMENT - 1) / TASK_ALIGNMENT * TASK_ALIGNMENT;
}

void task_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]) {
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        ret_strides[i] = stride;
        stride *= shape->dims[i];
    }
}

static struct task_operand *operands_of(const struct schedule *schedule, const int *slots,
                                        int count) {
    struct task_operand *operands = x_calloc((size_t)MAX(count, 1), sizeof *operands);
    for (int i = 0; i < count; i++) {
        operands[i].is_absent = slots[i] < 0;
        if (slots[i] >= 0) {
            operands[i].type = schedule->slots[slots[i]].type;
            operands[i].shape = schedule->slots[slots[i]].shape;
        }
    }
    return operands;
}

struct task *task_new(const struct schedule *schedule, const struct step *step) {
    struct task *task = x_calloc(1, sizeof *task);
    task->node = step->node;
    task->input_count = step->input_count;
    task->output_count = step->output_count;
    task->inputs = operands_of(schedule, step->inputs, step->input_count);
    task->outputs = operands_of(schedule, step->outputs, step->output_count);
    return task;
}

void task_free(void *memory) {
    struct task *task = memory;
    if (task->params) {
        (task->release ? task->release : free)(task->params);
    }
    free(task->inputs);
    free(task->outputs);
    free(task);
}

/* ---- conversions ---------------------------------------------------------------------------- */

static void place(const struct schedule *schedule, struct task_operand *operand, int slot,
                  size_t *used) {
    if (operand->is_absent || (enum gpu_layout)schedule->slots[slot].layout == operand->layout) {
        return;
    }
    operand->is_converted = true;
    operand->offset = *used;
    *used += aligned(operand->layout == GPU_CHANNELS_LAST
                         ? channels_last_bytes(&operand->shape)
                         : (size_t)shape_count(&operand->shape) * sizeof(float));
}

void task_finish(const struct schedule *schedule, struct step *step) {
    struct task *task = step->state;
    size_t used = aligned(task->scratch_bytes);
    for (int i = 0; i < task->input_count; i++) {
        place(schedule, &task->inputs[i], step->inputs[i], &used);
    }
    for (int i = 0; i < task->output_count; i++) {
        place(schedule, &task->outputs[i], step->outputs[i], &used);
    }
    step->scratch_bytes = used;
}

/* Converts to or from the layout of `operand`. */
static int convert(struct gpu *gpu, const struct task_operand *operand, bool is_channels_last,
                   const void *from, void *to, struct error *err) {
    struct kernels_channels_last nhwc = channels_last_of(gpu, &operand->shape);
    return gpu_check(is_channels_last
                         ? kernels_run_to_channels_last(&nhwc, from, to, gpu->stream)
                         : kernels_run_from_channels_last(&nhwc, from, to, gpu->stream),
                     "a conversion", err);
}

int task_run(const struct call *call, struct error *err) {
    struct gpu *gpu = gpu_of(call->device);
    struct task *task = call->state;
    task->scratch = call->scratch;
    for (int i = 0; i < task->input_count; i++) {
        struct task_operand *x = &task->inputs[i];
        if (x->is_absent) {
            continue;
        }
        x->data = x->is_converted ? (char *)call->scratch + x->offset : call->inputs[i]->data;
        if (x->is_converted && convert(gpu, x, x->layout == GPU_CHANNELS_LAST,
                                       call->inputs[i]->data, x->data, err) < 0) {
            return -1;
        }
    }
    for (int i = 0; i < task->output_count; i++) {
        struct task_operand *y = &task->outputs[i];
        y->data = y->is_absent      ? NULL
                  : y->is_converted ? (char *)call->scratch + y->offset
                                    : call->outputs[i]->data;
    }
    if (task->run(gpu, task, err) < 0) {
        return -1;
    }
    for (int i = 0; i < task->output_count; i++) {
        struct task_operand *y = &task->outputs[i];
        if (y->is_converted && convert(gpu, y, y->layout != GPU_CHANNELS_LAST, y->data,
                                       call->outputs[i]->data, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- on the host ---------------------------------------------------------------------------- */

static int fetch(struct gpu *gpu, const struct task_operand *x, struct tensor *tensor,
                 struct error *err) {
    if (tensor_init(tensor, x->type, &x->shape, err) < 0) {
        return -1;
    }
    size_t size = (size_t)shape_count(&x->shape) * tensor_type_size(x->type);
    return gpu->base.ops->copy(&gpu->base, COPY_TO_HOST, tensor->data, x->data, size, err);
}

static int store(struct gpu *gpu, const struct task_operand *y, const struct tensor *tensor,
                 struct error *err) {
    size_t size = (size_t)shape_count(&y->shape) * tensor_type_size(y->type);
    return gpu->base.ops->copy(&gpu->base, COPY_TO_DEVICE, y->data, tensor->data, size, err);
}

/* For steps without a device kernel: copies inputs to the host, runs the reference kernel, and
 * copies outputs back. */
static int host_run(struct gpu *gpu, const struct task *task, struct error *err) {
    size_t count = (size_t)(task->input_count + task->output_count);
    struct tensor *tensors = x_calloc(MAX(count, 1), sizeof *tensors);
    struct tensor **pointers = x_calloc(MAX(count, 1), sizeof *pointers);
    int result = 0;
    for (int i = 0; i < task->input_count && result == 0; i++) {
        if (!task->inputs[i].is_absent) {
            pointers[i] = &tensors[i];
            result = fetch(gpu, &task->inputs[i], &tensors[i], err);
        }
    }
    for (int i = 0; i < task->output_count && result == 0; i++) {
        const struct task_operand *y = &task->outputs[i];
        if (!y->is_absent) {
            pointers[task->input_count + i] = &tensors[task->input_count + i];
            result = tensor_init(&tensors[task->input_count + i], y->type, &y->shape, err);
        }
    }
    const struct call call = {.node = task->node,
                              .input_count = task->input_count,
                              .output_count = task->output_count,
                              .inputs = (const struct tensor *const *)pointers,
                              .outputs = pointers + task->input_count};
    result = result < 0 ? -1 : reference_kernels[task->node->op->id]->run(&call, err);
    for (int i = 0; i < task->output_count && result == 0; i++) {
        if (!task->outputs[i].is_absent) {
            result = store(gpu, &task->outputs[i], &tensors[task->input_count + i], err);
        }
    }
    for (size_t i = 0; i < count; i++) {
        tensor_release(&tensors[i]);
    }
    free(tensors);
    free(pointers);
    return result;
}

void task_prepare_host(struct preparation *prepare) {
    prepare->task->run = host_run;
    prepare->task->is_host = true;
    preparation_layout(prepare, GPU_ROW_MAJOR);
}
