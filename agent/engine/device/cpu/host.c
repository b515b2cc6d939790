// SPDX-License-Identifier: Apache-2.0
/* Functions that both CPU devices share, and the device "reference". Nothing here needs another
 * library. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int host_memory_info(struct device *device UNUSED, size_t *ret_free, size_t *ret_total,
                     struct error *err) {
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long total = 0, available = 0;
    while (file && fgets(line, sizeof line, file)) {
        (void)(sscanf(line, "MemTotal: %llu", &total) == 1 ||
               sscanf(line, "MemAvailable: %llu", &available) == 1);
    }
    if (file) {
        fclose(file);
    }
    if (total == 0) {
        return error_set(err, ERROR_UNAVAILABLE, "/proc/meminfo cannot be read");
    }
    *ret_free = (size_t)available * 1024;
    *ret_total = (size_t)total * 1024;
    return 0;
}

/* Linux grants more memory than there is; asking first turns an out-of-memory kill into an
 * error. */
int host_alloc(struct device *device, size_t size, void **ret_memory, struct error *err) {
    size_t available, total;
    size = (MAX(size, 1) + 63) / 64 * 64;
    if (size > (size_t)64 << 20 && host_memory_info(device, &available, &total, err) < 0) {
        return -1;
    }
    void *memory = size > (size_t)64 << 20 && size > available ? NULL : aligned_alloc(64, size);
    if (!memory) {
        return error_set(err, ERROR_EXHAUSTED, "out of memory: %zu MiB are needed", size >> 20);
    }
    *ret_memory = memory;
    return 0;
}

void host_free(struct device *device UNUSED, void *memory) {
    free(memory);
}

int host_copy(struct device *device UNUSED, enum copy direction UNUSED, void *to, const void *from,
              size_t size, struct error *err UNUSED) {
    if (size) {
        memmove(to, from, size);
    }
    return 0;
}

int host_zero(struct device *device UNUSED, void *memory, size_t size, struct error *err UNUSED) {
    memset(memory, 0, size);
    return 0;
}

int host_run(struct device *device UNUSED, const struct step *step, const struct call *call,
             struct error *err) {
    return step->kernel->run(call, err);
}

int host_sync(struct device *device UNUSED, struct error *err UNUSED) {
    return 0;
}

static int reference_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    return device_fill_kernels(device, reference_kernels, schedule, err);
}

static void reference_close(struct device *device) {
    struct cpu_device *cpu = (struct cpu_device *)device;
    threads_free(cpu->threads);
    free(cpu);
}

static const struct device_ops reference_ops = {
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .zero = host_zero,
    .prepare = reference_prepare,
    .run = host_run,
    .sync = host_sync,
    .memory_info = host_memory_info,
    .close = reference_close,
};

int reference_open(int threads, struct device **ret_device, struct error *err) {
    struct threads *pool;
    if (threads_new(threads, &pool, err) < 0) {
        return -1;
    }
    struct cpu_device *cpu = x_calloc(1, sizeof *cpu);
    cpu->base = (struct device){.name = "reference", .ops = &reference_ops, .is_host = true};
    cpu->threads = pool;
    *ret_device = &cpu->base;
    return 0;
}

struct threads *cpu_threads(const struct call *call) {
    return call->device ? ((struct cpu_device *)call->device)->threads : NULL;
}

const struct fact *const *cpu_call_collect_facts(const struct call *call,
                                                 struct cpu_call_facts *ret_facts) {
    for (int i = 0; i < MIN(call->input_count, (int)ARRAY_LEN(ret_facts->facts)); i++) {
        const struct tensor *tensor = call->inputs[i];
        ret_facts->inputs[i] = tensor ? &ret_facts->facts[i] : NULL;
        if (tensor) {
            ret_facts->facts[i] = (struct fact){tensor->type, tensor->shape, tensor->data};
        }
    }
    return ret_facts->inputs;
}
