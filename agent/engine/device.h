/* device.h: the interface of a device (the CPU, a GPU): memory, copies, and running the steps of a
 * schedule. device/cpu/ and device/cuda/ implement it; device_open (device/device.c) opens one by
 * name. One thread at a time uses a device, except where a function says otherwise.
 *
 * Every device has the functions of struct device_ops. The other tables are for devices with memory
 * of their own; such a table is complete, or the device's pointer to it is NULL. All functions that
 * return int return 0, or -1 with *err set, unless they say otherwise; sizes are in bytes. */
#pragma once

#include "agent/engine/tensor.h"

struct device;
struct schedule;  /* the steps of a network: graph/schedule.h */
struct step;      /* one kernel call: graph/schedule.h */
struct call;      /* the arguments of a kernel: device/kernel.h */
struct recording; /* recorded steps, such as a CUDA graph; private to the device */

enum copy { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE };

struct device_copy {
    enum copy direction;
    void *to;
    const void *from;
    size_t size; /* bytes */
};

/* The device's peak rates, as device_ops.measure finds them. */
struct device_peaks {
    char what[64]; /* for users: "2 threads, avx512" */
    double flops;  /* operations per second, in the device's precision; a multiply-add is two */
    double bytes;  /* bytes read and written per second */
};

/* A point in the device's queue of work (a CUDA event): it is reached when everything that was
 * started before the event was recorded has ended. */
struct device_event;

struct device_ops {
    /* Device memory, at least 64-byte aligned, which the caller frees. ERROR_EXHAUSTED: out of
     * memory. */
    int (*alloc)(struct device *device, size_t size, void **ret_memory, struct error *err);
    void (*free)(struct device *device, void *memory);
    /* Copies after all steps that were started before. When it returns, host memory may be changed
     * and read. */
    int (*copy)(struct device *device, enum copy direction, void *to, const void *from, size_t size,
                struct error *err);
    /* Sets bytes to 0. */
    int (*zero)(struct device *device, void *memory, size_t size, struct error *err);
    /* Sets the kernel of every step (device/kernel.h). ERROR_UNSUPPORTED: no kernel for a
     * step; the message names operator, type and device. */
    int (*prepare)(struct device *device, struct schedule *schedule, struct error *err);
    /* Starts one prepared step; it may still be running when the call returns. */
    int (*run)(struct device *device, const struct step *step, const struct call *call,
               struct error *err);
    /* Waits until all steps have ended. Reports an error of any of them. */
    int (*sync)(struct device *device, struct error *err);
    int (*memory_info)(struct device *device, size_t *ret_free, size_t *ret_total,
                       struct error *err);
    /* Measures the peak rates, in about a second. NULL: not supported. */
    int (*measure)(struct device *device, struct device_peaks *ret_peaks, struct error *err);
    /* Makes the device current for the calling thread, as CUDA requires. NULL: not needed. */
    int (*enter)(struct device *device, struct error *err);
    /* Frees the device; its memory must have been freed. */
    void (*close)(struct device *device);
};

/* For training, where another thread reads the results of steps while later steps still run. A
 * device with is_host does not need these functions, because its steps have ended when `run`
 * returns. */
struct device_training_ops {
    int (*event_new)(struct device *device, struct device_event **ret_event, struct error *err);
    void (*event_free)(struct device *device, struct device_event *event);
    /* Records the event at the end of the queue. It can be recorded again. */
    int (*record)(struct device *device, struct device_event *event, struct error *err);
    /* Waits until the event is reached. Any thread may call it. */
    int (*await)(struct device *device, struct device_event *event, struct error *err);
    /* Like copy, but concurrent with the steps and not ordered with them. Any thread may call it,
     * but only one at a time. */
    int (*copy_concurrent)(struct device *device, enum copy direction, void *to, const void *from,
                           size_t size, struct error *err);
};

/* For scoring, where inputs and outputs are copied while steps run. A device with these functions
 * also has device_training_ops, whose events order copies and steps. */
struct device_stream_ops {
    /* Pinned host memory, for copy_async. */
    int (*host_alloc)(struct device *device, size_t size, void **ret_memory, struct error *err);
    void (*host_free)(struct device *device, void *memory);
    /* Starts a copy between pinned memory and device memory and returns at once. The copy begins
     * when `after` is reached (NULL: at once); `done` is reached at its end. Copies of one
     * direction run in the order of the calls. */
    int (*copy_async)(struct device *device, const struct device_copy *copy,
                      struct device_event *after, struct device_event *done, struct error *err);
    /* Delays the steps that are started from now on until the event is reached. Returns at once. */
    int (*wait_event)(struct device *device, struct device_event *event, struct error *err);
};

/* For sequences of steps that are run repeatedly with the same addresses. Steps that are run
 * between record and record_end are recorded instead of executed. Copies to and from the host are
 * not allowed between these calls. */
struct device_recording_ops {
    /* 0: recording has begun; 1: steps of this schedule cannot be recorded. */
    int (*record)(struct device *device, const struct schedule *schedule, struct error *err);
    /* To be called also if a step failed; then *ret_recording is NULL. */
    int (*record_end)(struct device *device, struct recording **ret_recording, struct error *err);
    int (*replay)(struct device *device, struct recording *recording, struct error *err);
    void (*recording_free)(struct device *device, struct recording *recording);
};

/* Embedded as the first member of each implementation's own struct. */
struct device {
    const char *name;
    const struct device_ops *ops;
    const struct device_training_ops *training;   /* NULL: none of them */
    const struct device_stream_ops *streams;      /* NULL: none of them */
    const struct device_recording_ops *recording; /* NULL: none of them */
    bool is_host; /* device memory is host memory: constants and inputs are used without a copy */
};

/* name: "cpu" or NULL, with an optional precision: "cpu:bfloat16" (device/cpu/cpu.h); "reference"
 * (the CPU with plain kernels only, which tests compare with); "cuda", with an optional number of
 * the GPU and an optional precision: "cuda1", "cuda:tf32", "cuda:float16", "cuda1:bfloat16"
 * (device/cuda/gpu_device.h). threads: of the CPU; 0: as many as
 * this process may use. The caller closes *ret_device. ERROR_INVALID: an unknown name or precision;
 * ERROR_UNSUPPORTED: this build lacks the device; ERROR_UNAVAILABLE: this machine lacks it. */
NODISCARD int device_open(const char *name, int threads, struct device **ret_device,
                          struct error *err);
/* What a device's name has at its end for a precision, as jobs name it: FP32 "", TF32 ":tf32", BF16
 * ":bfloat16", FP16 ":float16". NULL: another precision. */
const char *device_suffix(const char *precision);
/* NULL is allowed. */
void device_close(struct device *device);
