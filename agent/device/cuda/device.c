// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cuda/device.h"

#include "agent/device/cuda/kernels.h"
#include "agent/ops/elementwise.h"
#include "agent/ops/table.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

struct gpu {
    struct device base;
    cudaStream_t stream;
};

static struct gpu *gpu_of(const struct device *device) {
    return (struct gpu *)(uintptr_t)device;
}

/* The one place where the library's errors become ours. */
static int error_from_cuda(struct error *err, int code, const char *what) {
    enum error_kind kind = code == cudaErrorMemoryAllocation ? ERROR_EXHAUSTED : ERROR_UNAVAILABLE;
    return error_set(err, kind, "device \"cuda\": %s: %s", what,
                     cudaGetErrorString((cudaError_t)code));
}

static int check(int code, const char *what, struct error *err) {
    return code == cudaSuccess ? 0 : error_from_cuda(err, code, what);
}

static int gpu_alloc(struct device *device UNUSED, size_t size, void **ret_memory,
                     struct error *err) {
    void *memory = NULL;
    if (check(cudaMalloc(&memory, MAX(size, 1)), "allocation", err) < 0) {
        return -1;
    }
    *ret_memory = memory;
    return 0;
}

static void gpu_free(struct device *device UNUSED, void *memory) {
    cudaFree(memory);
}

static int gpu_copy(struct device *device, enum copy direction, void *to, const void *from,
                    size_t size, struct error *err) {
    static const enum cudaMemcpyKind kinds[] = {[COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
                                                [COPY_TO_HOST] = cudaMemcpyDeviceToHost,
                                                [COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice};
    struct gpu *gpu = gpu_of(device);
    if (check(cudaMemcpyAsync(to, from, size, kinds[direction], gpu->stream), "copy", err) < 0) {
        return -1;
    }
    /* The caller may change or free host memory as soon as this returns. */
    return direction == COPY_ON_DEVICE ? 0 : check(cudaStreamSynchronize(gpu->stream), "copy", err);
}

static int gpu_zero(struct device *device, void *memory, size_t size, struct error *err) {
    return check(cudaMemsetAsync(memory, 0, size, gpu_of(device)->stream), "zeroing", err);
}

static int gpu_sync(struct device *device, struct error *err) {
    return check(cudaStreamSynchronize(gpu_of(device)->stream), "the run", err);
}

static int gpu_memory_info(struct device *device UNUSED, size_t *ret_free, size_t *ret_total,
                           struct error *err) {
    size_t available, total;
    if (check(cudaMemGetInfo(&available, &total), "memory information", err) < 0) {
        return -1;
    }
    *ret_free = available;
    *ret_total = total;
    return 0;
}

struct bounds {
    float low, high;
};

static int unary_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    const struct bounds *bounds = call->state;
    int id = call->node->op->id;
    enum kernels_unary kind = id == OP_RELU      ? KERNELS_RELU
                              : id == OP_SIGMOID ? KERNELS_SIGMOID
                              : id == OP_TANH    ? KERNELS_TANH
                                                 : KERNELS_CLIP;
    return check(kernels_run_unary(kind, x->data, call->outputs[0]->data, shape_count(&x->shape),
                                   bounds ? bounds->low : 0, bounds ? bounds->high : 0,
                                   gpu_of(call->device)->stream),
                 "a kernel", err);
}

static int binary_run(const struct call *call, struct error *err) {
    const struct tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    struct kernels_broadcast broadcast = {.rank = y->shape.rank};
    int id = call->node->op->id;
    memcpy(broadcast.dims, y->shape.dims, sizeof broadcast.dims);
    broadcast_strides(&a->shape, &y->shape, broadcast.a_strides);
    broadcast_strides(&b->shape, &y->shape, broadcast.b_strides);
    return check(kernels_run_binary(id == OP_ADD   ? KERNELS_ADD
                                    : id == OP_SUB ? KERNELS_SUB
                                                   : KERNELS_MUL,
                                    a->data, b->data, y->data, &broadcast,
                                    gpu_of(call->device)->stream),
                 "a kernel", err);
}

static const struct kernel unary_kernel = {"cuda unary", unary_run};
static const struct kernel binary_kernel = {"cuda binary", binary_run};

static const struct kernel *const gpu_kernels[OP_COUNT] = {
    [OP_ADD] = &binary_kernel, [OP_CLIP] = &unary_kernel, [OP_MUL] = &binary_kernel,
    [OP_RELU] = &unary_kernel, [OP_SUB] = &binary_kernel, [OP_SIGMOID] = &unary_kernel,
    [OP_TANH] = &unary_kernel,
};

/* Clip's bounds are arguments of the kernel, so they must be known before the run. */
static int prepare_clip(const struct schedule *schedule, struct step *step, struct error *err) {
    struct tensor bounds[2] = {{.shape = {0}}, {.shape = {0}}};
    const struct tensor *given[2] = {NULL, NULL};
    for (int i = 1; i < step->input_count; i++) {
        if (step->inputs[i] < 0) {
            continue;
        }
        bounds[i - 1].data = (void *)(uintptr_t)schedule->slots[step->inputs[i]].constant;
        given[i - 1] = &bounds[i - 1];
        if (!bounds[i - 1].data) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "device \"cuda\": Clip with bounds computed during the run");
        }
    }
    struct bounds *state = x_calloc(1, sizeof *state);
    clip_bounds(step->node, given[0], given[1], &state->low, &state->high);
    step->state = state;
    step->release = free;
    return 0;
}

static int gpu_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    if (device_fill_kernels(device, gpu_kernels, schedule, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (!step->node) {
            continue;
        }
        enum tensor_type type = schedule->slots[step->inputs[0]].type;
        if (type != TENSOR_FLOAT32) {
            return error_set(err, ERROR_UNSUPPORTED, "device \"cuda\" has no kernel for %s (%s)",
                             step->node->op->name, tensor_type_name(type));
        }
        if (step->node->op->id == OP_CLIP && prepare_clip(schedule, step, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int gpu_run(struct device *device UNUSED, const struct step *step, const struct call *call,
                   struct error *err) {
    return step->kernel->run(call, err);
}

static void gpu_close(struct device *device) {
    struct gpu *gpu = gpu_of(device);
    cudaStreamDestroy(gpu->stream);
    free(gpu);
}

static const struct device_ops gpu_ops = {
    .alloc = gpu_alloc,
    .free = gpu_free,
    .copy = gpu_copy,
    .zero = gpu_zero,
    .prepare = gpu_prepare,
    .run = gpu_run,
    .sync = gpu_sync,
    .memory_info = gpu_memory_info,
    .close = gpu_close,
};

int gpu_open(struct device **ret_device, struct error *err) {
    int count = 0;
    if (check(cudaGetDeviceCount(&count), "no GPU can be used", err) < 0) {
        return -1;
    }
    if (count == 0) {
        return error_set(err, ERROR_UNAVAILABLE, "device \"cuda\": this machine has no GPU");
    }
    cudaStream_t stream;
    if (check(cudaStreamCreate(&stream), "opening the GPU", err) < 0) {
        return -1;
    }
    struct gpu *gpu = x_calloc(1, sizeof *gpu);
    gpu->base = (struct device){.name = "cuda", .ops = &gpu_ops, .is_host = false};
    gpu->stream = stream;
    *ret_device = &gpu->base;
    return 0;
}
