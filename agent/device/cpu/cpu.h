/* cpu.h: the CPU device. Two faces: "reference" runs the plain kernels of this folder, the oracle
 * of all others; "cpu" prepares fast ones (prepare.h) where there are some. */
#pragma once

#include "agent/device/cpu/threads.h"
#include "agent/device/device.h"

struct cpu_device {
    struct device base;
    struct threads *threads;
    const struct vector_ops *vectors; /* fast/vector.h: the inner loops for this processor */
    struct weights_cache *weights;    /* fast/steps.h */
    struct onednn *onednn;            /* onednn/onednn.h; NULL for "reference" */
};

NODISCARD int cpu_open(bool is_reference, int threads, struct device **ret_device,
                       struct error *err);

/* peak.c: device_ops.measure: multiply-adds in registers; a copy from memory to memory. */
NODISCARD int cpu_measure(struct device *device, struct device_peaks *ret_peaks, struct error *err);

/* The pool of a call's device; NULL (work alone) while shapes are inferred. */
struct threads *cpu_threads(const struct call *call);

/* A call's inputs as facts, for the parameter readers of agent/ops. */
struct call_facts {
    struct fact facts[8];
    const struct fact *inputs[8];
};
const struct fact *const *call_facts(const struct call *call, struct call_facts *ret_facts);
