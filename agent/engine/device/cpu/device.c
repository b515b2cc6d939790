// SPDX-License-Identifier: Apache-2.0
/* The CPU as a device: its table of functions. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/device/cpu/fast/weights_cache.h"
#include "agent/engine/device/cpu/onednn/onednn.h"
#include "agent/engine/device/cpu/prepare.h"

#include <stdlib.h>

static void cpu_close(struct device *device) {
    struct cpu_device *cpu = (struct cpu_device *)device;
    threads_free(cpu->threads);
    weights_cache_free(cpu->weights);
    onednn_free(cpu->onednn);
    free(cpu);
}

static const struct device_ops cpu_ops = {
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .zero = host_zero,
    .prepare = cpu_prepare,
    .run = host_run,
    .sync = host_sync,
    .memory_info = host_memory_info,
    .measure = cpu_measure,
    .close = cpu_close,
};

int cpu_open(int threads, struct device **ret_device, struct error *err) {
    struct threads *pool;
    if (threads_new(threads, &pool, err) < 0) {
        return -1;
    }
    struct cpu_device *cpu = x_calloc(1, sizeof *cpu);
    cpu->base = (struct device){.name = "cpu", .ops = &cpu_ops, .is_host = true};
    cpu->threads = pool;
    cpu->vectors = vector_ops_get(isa_best());
    cpu->weights = weights_cache_new();
    cpu->onednn = onednn_new(isa_best());
    *ret_device = &cpu->base;
    return 0;
}
