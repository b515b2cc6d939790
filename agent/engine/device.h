/* device.h: a place where kernels run: its memory, copies, and the steps of a schedule. cpu/ (which
 * has the reference kernels, too) and cuda/ implement it; device_open opens one by name. One thread
 * at a time uses a device, except where a function says otherwise.
 *
 * A device has the functions that every device has (struct device_ops) and tables of those that
 * only some have. Such a table is complete, or the device's pointer to it is NULL. */
#pragma once

#include "agent/engine/tensor.h"

struct device;
struct schedule;
struct step;
struct call;
struct recording; /* private to the device */

enum copy { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE };

struct device_copy {
    enum copy direction;
    void *to;
    const void *from;
    size_t size; /* bytes */
};

/* The device's peak rates, as device_ops.measure finds them. */
struct device_peaks {
    char what[64]; /* "2 threads, avx512" */
    /* Per second: float32 operations (a multiply-add is two); bytes read and written. */
    double flops, bytes;
};

/* A point in a device's work: after everything that was started before the mark was set. */
struct device_mark;

struct device_ops {
    /* 64-byte aligned at least. Fails with ERROR_EXHAUSTED; does not abort. */
    int (*alloc)(struct device *device, size_t size, void **ret_memory, struct error *err);
    void (*free)(struct device *device, void *memory);
    int (*copy)(struct device *device, enum copy direction, void *to, const void *from, size_t size,
                struct error *err);
    int (*zero)(struct device *device, void *memory, size_t size, struct error *err);
    /* Sets the kernel of every step (device/kernel.h). Where a kernel is missing it fails with
     * ERROR_UNSUPPORTED and names operator, type and device. */
    int (*prepare)(struct device *device, struct schedule *schedule, struct error *err);
    /* Starts one prepared step; it may still be running when the call returns. */
    int (*run)(struct device *device, const struct step *step, const struct call *call,
               struct error *err);
    int (*sync)(struct device *device, struct error *err);
    int (*memory_info)(struct device *device, size_t *ret_free, size_t *ret_total,
                       struct error *err);
    /* Takes about a second. NULL: not implemented for this device. */
    int (*measure)(struct device *device, struct device_peaks *ret_peaks, struct error *err);
    /* The calling thread uses this device until it enters another one. NULL: not needed. */
    int (*enter)(struct device *device, struct error *err);
    void (*close)(struct device *device);
};

/* For training, where another thread reads the results of steps while later steps still run. A
 * device with is_host does not need these functions: there a step has ended when `run` returns. */
struct device_training_ops {
    int (*mark_new)(struct device *device, struct device_mark **ret_mark, struct error *err);
    void (*mark_free)(struct device *device, struct device_mark *mark);
    /* Sets the mark to the present point of the work. A mark can be set again. */
    int (*mark)(struct device *device, struct device_mark *mark, struct error *err);
    /* Returns when the work before the mark has ended. Any thread may call it. */
    int (*await)(struct device *device, struct device_mark *mark, struct error *err);
    /* Like copy, but concurrent with the steps and not ordered with them; complete when it returns.
     * One thread at a time, which need not be the device's. */
    int (*copy_beside)(struct device *device, enum copy direction, void *to, const void *from,
                       size_t size, struct error *err);
};

/* For scoring, where inputs and outputs are copied while steps run. A device that has these has
 * device_training_ops, too: their marks order the copies. */
struct device_stream_ops {
    /* Host memory that is copied at full speed while the host and the steps continue (pinned
     * memory). */
    int (*host_alloc)(struct device *device, size_t size, void **ret_memory, struct error *err);
    void (*host_free)(struct device *device, void *memory);
    /* Starts a copy between such memory and the device's memory, and returns. Copies of one
     * direction run in the order of the calls. The copy begins after `after` (NULL: at once);
     * `done` is set to its end. */
    int (*carry)(struct device *device, const struct device_copy *copy, struct device_mark *after,
                 struct device_mark *done, struct error *err);
    /* Steps that are started from now on begin after the mark. Returns at once. */
    int (*follow)(struct device *device, struct device_mark *mark, struct error *err);
};

/* For sequences of steps that are started repeatedly. Steps that are run between record and
 * record_end are recorded and not executed; copies to and from the host are not allowed there. */
struct device_recording_ops {
    /* 1: this schedule cannot be recorded; run it step by step. */
    int (*record)(struct device *device, const struct schedule *schedule, struct error *err);
    /* Called after a failure, too; *ret_recording is NULL then. A recording always uses the
     * addresses with which it was made. */
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
    bool is_host; /* its memory is ordinary memory: constants and inputs are used in place */
};

/* "cpu" (NULL too), "reference" (the CPU with the plain kernels alone, which tests compare with) or
 * "cuda", also with a number and a precision ("cuda1:bfloat16": device/cuda/gpu_device.h). threads:
 * 0 for as many as this process may use. ERROR_UNSUPPORTED when this build lacks the device,
 * ERROR_UNAVAILABLE when the machine does. */
NODISCARD int device_open(const char *name, int threads, struct device **ret_device,
                          struct error *err);
/* NULL is allowed. */
void device_close(struct device *device);
