// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/gpu_device.h"

#include "agent/engine/device/cuda/driver.h"
#include "agent/engine/device/cuda/gpu_prepare.h"
#include "agent/engine/device/cuda/packed_weights.h"
#include "agent/engine/device/cuda/task.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

struct recording {
    cudaGraphExec_t graph;
};

struct device_event {
    cudaEvent_t handle;
};

/* ---- memory --------------------------------------------------------------------------------- */

static int gpu_alloc(struct device *device UNUSED, size_t size, void **ret_memory,
                     struct error *err) {
    void *memory = NULL;
    int code = cudaMalloc(&memory, MAX(size, 1));
    if (code == cudaErrorMemoryAllocation) {
        size_t available = 0, total = 0;
        (void)cudaGetLastError(); /* clears the error, which would otherwise be reported again by
                                     the next call */
        (void)cudaMemGetInfo(&available, &total);
        return error_set(err, ERROR_EXHAUSTED,
                         "device \"cuda\": the GPU's memory is full: %zu MiB are needed, %zu of "
                         "%zu are free",
                         size >> 20, available >> 20, total >> 20);
    }
    if (gpu_check(code, "allocation", err) < 0) {
        return -1;
    }
    *ret_memory = memory;
    return 0;
}

static void gpu_free(struct device *device UNUSED, void *memory) {
    if (memory) {
        cudaFree(memory);
    }
}

static int copy_on(cudaStream_t stream, enum copy direction, void *to, const void *from,
                   size_t size, struct error *err) {
    static const enum cudaMemcpyKind kinds[] = {[COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
                                                [COPY_TO_HOST] = cudaMemcpyDeviceToHost,
                                                [COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice};
    return size == 0 ? 0
                     : gpu_check(cudaMemcpyAsync(to, from, size, kinds[direction], stream),
                                 "a copy", err);
}

/* The caller may change or free the host memory as soon as this returns. */
static int gpu_copy(struct device *device, enum copy direction, void *to, const void *from,
                    size_t size, struct error *err) {
    cudaStream_t stream = gpu_of(device)->stream;
    if (copy_on(stream, direction, to, from, size, err) < 0) {
        return -1;
    }
    return direction == COPY_ON_DEVICE ? 0
                                       : gpu_check(cudaStreamSynchronize(stream), "a copy", err);
}

static int gpu_copy_concurrent(struct device *device, enum copy direction, void *to,
                               const void *from, size_t size, struct error *err) {
    cudaStream_t stream = gpu_of(device)->beside;
    return copy_on(stream, direction, to, from, size, err) < 0
               ? -1
               : gpu_check(cudaStreamSynchronize(stream), "a copy", err);
}

static int gpu_zero(struct device *device, void *memory, size_t size, struct error *err) {
    return gpu_check(cudaMemsetAsync(memory, 0, size, gpu_of(device)->stream), "zeroing", err);
}

static int gpu_sync(struct device *device, struct error *err) {
    return gpu_check(cudaStreamSynchronize(gpu_of(device)->stream), "the run", err);
}

static int gpu_memory_info(struct device *device UNUSED, size_t *ret_free, size_t *ret_total,
                           struct error *err) {
    size_t available, total;
    if (gpu_check(cudaMemGetInfo(&available, &total), "memory information", err) < 0) {
        return -1;
    }
    *ret_free = available;
    *ret_total = total;
    return 0;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static int gpu_run(struct device *device UNUSED, const struct step *step, const struct call *call,
                   struct error *err) {
    return step->kernel->run(call, err);
}

static int gpu_record(struct device *device, const struct schedule *schedule, struct error *err) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        if (step->node && ((const struct task *)step->state)->is_host) {
            return 1;
        }
    }
    return gpu_check(
        cudaStreamBeginCapture(gpu_of(device)->stream, cudaStreamCaptureModeThreadLocal),
        "a recording", err);
}

static int gpu_record_end(struct device *device, struct recording **ret_recording,
                          struct error *err) {
    cudaGraph_t graph = NULL;
    *ret_recording = NULL;
    if (gpu_check(cudaStreamEndCapture(gpu_of(device)->stream, &graph), "a recording", err) < 0) {
        (void)cudaGetLastError();
        return -1;
    }
    struct recording *recording = x_calloc(1, sizeof *recording);
    int code = cudaGraphInstantiate(&recording->graph, graph, 0);
    cudaGraphDestroy(graph);
    if (gpu_check(code, "a recording", err) < 0) {
        free(recording);
        return -1;
    }
    *ret_recording = recording;
    return 0;
}

static int gpu_replay(struct device *device, struct recording *recording, struct error *err) {
    return gpu_check(cudaGraphLaunch(recording->graph, gpu_of(device)->stream), "a recording", err);
}

static void gpu_recording_free(struct device *device UNUSED, struct recording *recording) {
    if (recording) {
        cudaGraphExecDestroy(recording->graph);
        free(recording);
    }
}

/* ---- moments -------------------------------------------------------------------------------- */

static int gpu_event_new(struct device *device UNUSED, struct device_event **ret_event,
                         struct error *err) {
    struct device_event *event = x_calloc(1, sizeof *event);
    if (gpu_check(cudaEventCreateWithFlags(&event->handle, cudaEventDisableTiming), "an event",
                  err) < 0) {
        free(event);
        return -1;
    }
    *ret_event = event;
    return 0;
}

static void gpu_event_free(struct device *device UNUSED, struct device_event *event) {
    if (event) {
        cudaEventDestroy(event->handle);
        free(event);
    }
}

static int gpu_event_record(struct device *device, struct device_event *event, struct error *err) {
    return gpu_check(cudaEventRecord(event->handle, gpu_of(device)->stream), "an event", err);
}

static int gpu_await(struct device *device UNUSED, struct device_event *event, struct error *err) {
    return gpu_check(cudaEventSynchronize(event->handle), "the run", err);
}

static int gpu_enter(struct device *device, struct error *err) {
    return gpu_check(cudaSetDevice(gpu_of(device)->ordinal), "a GPU", err);
}

static int gpu_wait_event(struct device *device, struct device_event *event, struct error *err) {
    return gpu_check(cudaStreamWaitEvent(gpu_of(device)->stream, event->handle, 0), "an event",
                     err);
}

/* ---- beside the steps ----------------------------------------------------------------------- */

static int gpu_host_alloc(struct device *device UNUSED, size_t size, void **ret_memory,
                          struct error *err) {
    return gpu_check(cudaHostAlloc(ret_memory, MAX(size, 1), cudaHostAllocDefault), "pinned memory",
                     err);
}

static void gpu_host_free(struct device *device UNUSED, void *memory) {
    if (memory) {
        cudaFreeHost(memory);
    }
}

static int gpu_copy_async(struct device *device, const struct device_copy *copy,
                          struct device_event *after, struct device_event *done,
                          struct error *err) {
    struct gpu *gpu = gpu_of(device);
    cudaStream_t stream = copy->direction == COPY_TO_DEVICE ? gpu->up : gpu->down;
    if (after && gpu_check(cudaStreamWaitEvent(stream, after->handle, 0), "an event", err) < 0) {
        return -1;
    }
    return copy_on(stream, copy->direction, copy->to, copy->from, copy->size, err) < 0
               ? -1
               : gpu_check(cudaEventRecord(done->handle, stream), "an event", err);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void gpu_close(struct device *device) {
    struct gpu *gpu = gpu_of(device);
    packed_weights_free(gpu);
    if (gpu->relu) {
        gpu->libraries.dnn.DestroyActivationDescriptor(gpu->relu);
    }
    if (gpu->identity) {
        gpu->libraries.dnn.DestroyActivationDescriptor(gpu->identity);
    }
    if (gpu->dnn) {
        gpu->libraries.dnn.Destroy(gpu->dnn);
    }
    if (gpu->lt) {
        gpu->libraries.lt.Destroy(gpu->lt);
    }
    const cudaStream_t streams[] = {gpu->stream, gpu->beside, gpu->up, gpu->down};
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        if (streams[i]) {
            cudaStreamDestroy(streams[i]);
        }
    }
    libraries_close(&gpu->libraries);
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
    .enter = gpu_enter,
    .close = gpu_close,
};
static const struct device_training_ops gpu_training_ops = {
    .event_new = gpu_event_new,
    .event_free = gpu_event_free,
    .record = gpu_event_record,
    .await = gpu_await,
    .copy_concurrent = gpu_copy_concurrent,
};
static const struct device_stream_ops gpu_stream_ops = {
    .host_alloc = gpu_host_alloc,
    .host_free = gpu_host_free,
    .copy_async = gpu_copy_async,
    .wait_event = gpu_wait_event,
};
static const struct device_recording_ops gpu_recording_ops = {
    .record = gpu_record,
    .record_end = gpu_record_end,
    .replay = gpu_replay,
    .recording_free = gpu_recording_free,
};

static int open_handles(struct gpu *gpu, struct error *err) {
    struct libraries *libraries = &gpu->libraries;
    cudaStream_t *const streams[] = {&gpu->stream, &gpu->beside, &gpu->up, &gpu->down};
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        if (gpu_check(cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking),
                      "opening the GPU", err) < 0) {
            return -1;
        }
    }
    if (libraries_open(libraries, err) < 0) {
        return -1;
    }
    cudnnStatus_t status = libraries->dnn.Create(&gpu->dnn);
    status = status ? status : libraries->dnn.SetStream(gpu->dnn, gpu->stream);
    status = status ? status : libraries->dnn.CreateActivationDescriptor(&gpu->relu);
    status = status ? status : libraries->dnn.CreateActivationDescriptor(&gpu->identity);
    status = status ? status
                    : libraries->dnn.SetActivationDescriptor(gpu->relu, CUDNN_ACTIVATION_RELU,
                                                             CUDNN_PROPAGATE_NAN, 0);
    status = status ? status
                    : libraries->dnn.SetActivationDescriptor(
                          gpu->identity, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0);
    if (gpu_check_dnn(gpu, status, "opening cuDNN", err) < 0) {
        return -1;
    }
    return gpu_check_lt(gpu, libraries->lt.Create(&gpu->lt), "opening cuBLASLt", err);
}

int gpu_open(int ordinal, const char *precision, struct device **ret_device, struct error *err) {
    static const struct {
        const char *name;
        enum kernels_float type;
        bool has_tf32;
    } precisions[] = {{"float32", KERNELS_FLOAT32, false},
                      {"tf32", KERNELS_FLOAT32, true},
                      {"float16", KERNELS_FLOAT16, true},
                      {"bfloat16", KERNELS_BFLOAT16, true}};
    size_t at = 0;
    int count = 0;
    while (precision && at < ARRAY_LEN(precisions) && strcmp(precisions[at].name, precision) != 0) {
        at++;
    }
    if (at == ARRAY_LEN(precisions)) {
        return error_set(err, ERROR_INVALID,
                         "device \"cuda:%.32s\": the precision is unknown; float32, tf32, float16 "
                         "or bfloat16 is expected",
                         precision);
    }
    if (driver_count(&count, err) < 0) {
        return -1;
    }
    if (ordinal >= count) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "device \"cuda\": GPU %d does not exist: %d %s there (numbered from 0)",
                         ordinal, count, count == 1 ? "is" : "are");
    }
    struct gpu *gpu = x_calloc(1, sizeof *gpu);
    gpu->base = (struct device){.name = "cuda",
                                .ops = &gpu_ops,
                                .training = &gpu_training_ops,
                                .streams = &gpu_stream_ops,
                                .recording = &gpu_recording_ops};
    gpu->type = precisions[at].type;
    gpu->has_tf32 = precisions[at].has_tf32;
    gpu->ordinal = ordinal;
    if (gpu_enter(&gpu->base, err) < 0 || open_handles(gpu, err) < 0) {
        gpu_close(&gpu->base);
        return -1;
    }
    *ret_device = &gpu->base;
    return 0;
}
