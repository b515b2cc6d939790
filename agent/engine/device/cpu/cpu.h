/* cpu.h: the CPU's two devices. "reference" (host.c) runs the plain kernels in reference/ and
 * training/, which are the oracle for all others, and needs no library; "cpu" (device.c) prepares
 * fast kernels (prepare.h) where they exist. */
#pragma once

#include "agent/engine/device/cpu/threads.h"
#include "agent/engine/device/kernel.h"

struct cpu_device {
    struct device base;
    struct threads *threads;
    /* NULL for "reference": */
    const struct vector_ops *vectors; /* vector/vector.h: the inner loops for this processor */
    const struct bfloat_ops *bfloat;  /* vector/vector_bfloat.h; NULL: all is float32 */
    /* The same for factors that are whole numbers of at most 256 (PARAM_IS_WHOLE), which bfloat16
     * has exactly: so quantized networks compute faster, and in the same numbers. NULL: float32 is
     * as fast. */
    const struct bfloat_ops *whole;
    struct weights_cache *weights; /* fast/weights_cache.h */
    struct onednn *onednn;         /* onednn/onednn.h */
};

/* precision: NULL and "float32", or "bfloat16": products and convolutions round their factors to
 * bfloat16; their sums are float32, and so is all else. Some stay in float32: convolutions that are
 * depthwise, have at most 4 outputs or make the input of a depthwise one row by row; products of
 * two computed matrices of less than 6 rows; what oneDNN does; recurrent layers. ERROR_INVALID:
 * another precision; ERROR_UNAVAILABLE: the processor has no instructions for it. */
NODISCARD int cpu_open(int threads, const char *precision, struct device **ret_device,
                       struct error *err);
NODISCARD int reference_open(int threads, struct device **ret_device, struct error *err);

/* device_ops of both devices. */
int host_alloc(struct device *device, size_t size, void **ret_memory, struct error *err);
void host_free(struct device *device, void *memory);
int host_copy(struct device *device, enum copy direction, void *to, const void *from, size_t size,
              struct error *err);
int host_zero(struct device *device, void *memory, size_t size, struct error *err);
int host_run(struct device *device, const struct step *step, const struct call *call,
             struct error *err);
int host_sync(struct device *device, struct error *err);
int host_memory_info(struct device *device, size_t *ret_free, size_t *ret_total, struct error *err);

/* peak.c: device_ops.measure: measures multiply-adds in registers, and copies from memory to
 * memory. */
NODISCARD int cpu_measure(struct device *device, struct device_peaks *ret_peaks, struct error *err);

/* The thread pool of a call's device; NULL (the caller works alone) while shapes are inferred. */
struct threads *cpu_threads(const struct call *call);

/* A call's inputs as facts, for the functions of engine/ops that read parameters. */
struct cpu_call_facts {
    struct fact facts[8];
    const struct fact *inputs[8];
};
const struct fact *const *cpu_call_collect_facts(const struct call *call,
                                                 struct cpu_call_facts *ret_facts);
