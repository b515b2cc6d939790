// SPDX-License-Identifier: Apache-2.0
// Measures the peaks: the best of a few tries, because other work can only lower the result.
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "lib/time/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 7, ROUNDS = 1 << 21 };
// Of source and destination each: more than the caches hold.
static const size_t copied_bytes = (size_t)128 << 20;

struct peak {
    const struct vector_ops *ops;
    char *from, *to;
    size_t piece;
    _Atomic float kept; // so that the compiler does not remove the work
};

static void compute(void *context, int index UNUSED, int lane UNUSED) {
    struct peak *peak = context;
    atomic_store(&peak->kept, peak->ops->multiply_adds(ROUNDS));
}

static void copy(void *context, int index, int lane UNUSED) {
    const struct peak *peak = context;
    size_t at = (size_t)index * peak->piece;
    memcpy(peak->to + at, peak->from + at, peak->piece);
}

// Seconds of the fastest try. The first one also touches the memory.
static double least_time(struct threads *threads, struct peak *peak,
                         void (*body)(void *context, int index, int lane)) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t start = clock_monotonic_ns();
        parallel_for(threads, threads_count(threads), body, peak);
        least = MIN(least, clock_monotonic_ns() - start);
    }
    return (double)least / 1e9;
}

int cpu_measure(struct device *device, struct device_peaks *ret_peaks, struct error *err) {
    struct cpu_device *cpu = (struct cpu_device *)device;
    int threads = threads_count(cpu->threads);
    struct peak peak = {.ops = cpu->vectors, .piece = copied_bytes / (size_t)threads};
    void *memory;
    if (device->ops->alloc(device, 2 * copied_bytes, &memory, err) < 0) {
        return -1;
    }
    peak.from = memory;
    peak.to = peak.from + copied_bytes;
    memset(peak.from, 1, copied_bytes);
    double copied = 2.0 * (double)peak.piece * threads / least_time(cpu->threads, &peak, copy);
    device->ops->free(device, memory);
    double adds = (double)ROUNDS * peak.ops->sums * peak.ops->block * threads;
    *ret_peaks = (struct device_peaks){.flops = 2 * adds / least_time(cpu->threads, &peak, compute),
                                       .bytes = copied};
    snprintf(ret_peaks->what, sizeof ret_peaks->what, "%d thread%s, %s", threads,
             threads == 1 ? "" : "s", isa_name(peak.ops->isa));
    return 0;
}
