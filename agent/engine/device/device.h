/* device.h: where kernels run. The interface is narrow on purpose: memory, copies, and steps of a
 * schedule. Implementations: cpu/ (which holds the reference kernels, too) and cuda/; registry.h
 * opens one by name. One thread at a time uses a device, but for what says otherwise.
 *
 * How a fast kernel takes over a node. For each combination of input shapes the engine makes a
 * schedule (agent/engine/graph/schedule.h) and calls `prepare` once, with every shape and every
 * constant at hand. `prepare` must set step->kernel of every step that is not dropped; it starts
 * from the device's kernel table, one row per operator. Then it may, step by step,
 *   - put another kernel in, with step->state and step->release (reordered weights, a
 *     plan) and step->scratch_bytes;
 *   - fuse neighbours: schedule_only_user finds the step behind, schedule_absorb makes one step of
 *     both, schedule_add_input brings the second's other inputs (conv + relu, conv + add); a step
 *     before (Pad in front of Conv) is fused by replacing inputs[0] and dropping that step
 *     (step->node = NULL) when schedule_only_user says that nobody else reads it;
 *   - give a slot a private layout: slot->layout != 0 and slot->size_bytes. Only when every step
 *     that touches it knows the layout, and never for slots with `viewed` or `is_output`.
 * Memory is laid out afterwards, so what fusion removed costs nothing. State that does not depend
 * on shapes may be kept in the device, keyed by the address of a constant's bytes, for slots with
 * `is_lasting` only: other constants go with their schedule, and their addresses come again. */
#pragma once

#include "agent/engine/graph/schedule.h"

struct device;
struct recording; /* the device's own */

/* What a kernel gets. Inputs and outputs are in the order of the step; NULL where absent. */
struct call {
    struct device *device;
    const struct node *node;
    void *state;
    void *scratch; /* step->scratch_bytes of device memory, 64-byte aligned, not cleared */
    int input_count, output_count;
    const struct tensor *const *inputs;
    struct tensor *const *outputs; /* shapes are set; row-major unless the slot has a layout */
};

struct kernel {
    const char *name; /* "reference Conv", for profiles and error messages */
    int (*run)(const struct call *call, struct error *err);
};

enum copy { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE };

/* What the device can do at most, as measured on it when it was asked. */
struct device_peaks {
    char what[64];       /* "2 threads, avx512" */
    double flops, bytes; /* a second: of float32 multiply-adds (two each); read and written */
};

/* A moment in a device's work: behind all that was started before. */
struct device_mark;

struct device_ops {
    /* 64-byte aligned at least. Fails with ERROR_EXHAUSTED, which the job reports; no abort. */
    int (*alloc)(struct device *device, size_t size, void **ret_memory, struct error *err);
    void (*free)(struct device *device, void *memory);
    int (*copy)(struct device *device, enum copy direction, void *to, const void *from, size_t size,
                struct error *err);
    int (*zero)(struct device *device, void *memory, size_t size, struct error *err);
    /* Sets the kernel of every step; see above. Fails with ERROR_UNSUPPORTED naming operator, type
     * and device where there is none. */
    int (*prepare)(struct device *device, struct schedule *schedule, struct error *err);
    /* Starts one prepared step; it may still be running when the call returns. */
    int (*run)(struct device *device, const struct step *step, const struct call *call,
               struct error *err);
    /* Steps that are started together, again and again: these four, or none (NULL). What is run
     * between record and record_end is kept and not done; copies to and from the host have no place
     * there. record: 1, this schedule cannot be kept; run it step by step. record_end is called
     * after a failure, too, and *ret_recording is NULL then. A recording holds the addresses it
     * was made with. */
    int (*record)(struct device *device, const struct schedule *schedule, struct error *err);
    int (*record_end)(struct device *device, struct recording **ret_recording, struct error *err);
    int (*replay)(struct device *device, struct recording *recording, struct error *err);
    void (*recording_free)(struct device *device, struct recording *recording);
    int (*sync)(struct device *device, struct error *err);
    int (*memory_info)(struct device *device, size_t *ret_free, size_t *ret_total,
                       struct error *err);
    /* Takes a second or so; NULL: nobody has written it for this device. */
    int (*measure)(struct device *device, struct device_peaks *ret_peaks, struct error *err);

    /* For training, where another thread takes what steps have made while later ones still run.
     * All five are NULL where is_host: there a step has ended when `run` returns. */
    int (*mark_new)(struct device *device, struct device_mark **ret_mark, struct error *err);
    void (*mark_free)(struct device *device, struct device_mark *mark);
    /* This is the moment; one that was set before is forgotten. */
    int (*mark)(struct device *device, struct device_mark *mark, struct error *err);
    /* Returns when the moment is over. Any thread. */
    int (*await)(struct device *device, struct device_mark *mark, struct error *err);
    /* As copy, beside the steps and in no order with them; done when it returns. One thread at a
     * time, which need not be the device's. */
    int (*copy_beside)(struct device *device, enum copy direction, void *to, const void *from,
                       size_t size, struct error *err);

    /* The thread that calls works on this device from now on, until it enters another one. NULL:
     * any thread may. */
    int (*enter)(struct device *device, struct error *err);

    /* For scoring, where pictures are carried up and down beside the steps: these four, or none
     * (NULL), with the marks above. Host memory that is copied at full speed, while the host and
     * the steps go on. */
    int (*host_alloc)(struct device *device, size_t size, void **ret_memory, struct error *err);
    void (*host_free)(struct device *device, void *memory);
    /* A copy between such memory and the device's, in the order of the others in its direction. It
     * begins when `after` is over (NULL: at once); `done` becomes the moment of its end. Returns
     * before. */
    int (*carry)(struct device *device, enum copy direction, void *to, const void *from,
                 size_t size, struct device_mark *after, struct device_mark *done,
                 struct error *err);
    /* What is started from now on begins when the moment is over. Returns at once. */
    int (*follow)(struct device *device, struct device_mark *mark, struct error *err);
    void (*close)(struct device *device);
};

/* Embedded as the first member of each implementation's own struct. */
struct device {
    const char *name;
    const struct device_ops *ops;
    bool is_host; /* its memory is ordinary memory: constants and inputs are used where they lie */
};

/* Looks a kernel up for every step that has none: table[op id]. Refuses with one line that names
 * all the operators that have no row. For use in `prepare`. */
NODISCARD int device_fill_kernels(struct device *device, const struct kernel *const *table,
                                  struct schedule *schedule, struct error *err);
