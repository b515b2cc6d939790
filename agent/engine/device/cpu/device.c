// SPDX-License-Identifier: Apache-2.0
/* The CPU as a device: its table of functions. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/device/cpu/fast/weights_cache.h"
#include "agent/engine/device/cpu/onednn/onednn.h"
#include "agent/engine/device/cpu/prepare.h"
#include "agent/engine/device/cpu/vector/vector_bfloat_choice.h"

#include <stdlib.h>
#include <string.h>

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

static int find_bfloat(const char *precision, const struct bfloat_ops **ret_ops,
                       struct error *err) {
    bool is_bfloat = precision && strcmp(precision, "bfloat16") == 0;
    if (precision && !is_bfloat && strcmp(precision, "float32") != 0) {
        return error_set(err, ERROR_INVALID,
                         "device \"cpu:%.32s\": a processor computes in float32 or bfloat16",
                         precision);
    }
    *ret_ops = is_bfloat ? vector_bfloat_best() : NULL;
    if (is_bfloat && !*ret_ops) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "bfloat16 needs a processor with AVX512_BF16 or AMX (amx_bf16), and this "
                         "one has %s",
                         isa_best() == ISA_PLAIN ? "neither, nor AVX2" : isa_name(isa_best()));
    }
    return 0;
}

int cpu_open(int threads, const char *precision, struct device **ret_device, struct error *err) {
    struct threads *pool;
    const struct bfloat_ops *bfloat;
    if (find_bfloat(precision, &bfloat, err) < 0 || threads_new(threads, &pool, err) < 0) {
        return -1;
    }
    struct cpu_device *cpu = x_calloc(1, sizeof *cpu);
    cpu->base = (struct device){.name = "cpu", .ops = &cpu_ops, .is_host = true};
    cpu->threads = pool;
    cpu->vectors = vector_ops_get(isa_best());
    cpu->bfloat = bfloat;
    const struct bfloat_ops *best = bfloat ? bfloat : vector_bfloat_best();
    cpu->whole = best && (bfloat || best->is_far_ahead) ? best : NULL;
    cpu->weights = weights_cache_new();
    cpu->onednn = onednn_new(isa_best());
    *ret_device = &cpu->base;
    return 0;
}
