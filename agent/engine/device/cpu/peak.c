// SPDX-License-Identifier: Apache-2.0
// Measures the peaks: the best of a few tries, because other work can only lower the result.
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/device/cpu/vector/vector_bfloat.h"
#include "lib/time/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 7, ROUNDS = 1 << 21 };
// In bfloat16: products whose operands stay in the nearest cache.
enum { BFLOAT_ROUNDS = 1 << 11, SIDE = 2 * BFLOAT_ROWS, STEPS = 8 };
// Of source and destination each: more than the caches hold.
static const size_t copied_bytes = (size_t)128 << 20;

struct peak {
    const struct vector_ops *ops;
    const struct bfloat_ops *bfloat; /* NULL: float32 */
    char *from, *to;
    size_t piece;
    _Atomic float kept; // so that the compiler does not remove the work
};

static void compute(void *context, int index UNUSED, int lane UNUSED) {
    struct peak *peak = context;
    atomic_store(&peak->kept, peak->ops->multiply_adds(ROUNDS));
}

static void compute_bfloat(void *context, int index UNUSED, int lane UNUSED) {
    struct peak *peak = context;
    uint16_t a[2 * STEPS * BFLOAT_TILE] __attribute__((aligned(64))) = {0};
    uint16_t weights[2 * STEPS * BFLOAT_TILE] __attribute__((aligned(64))) = {0};
    float out[SIDE * SIDE];
    const struct bfloat_job job = {.a = a,
                                   .rows = SIDE,
                                   .steps = STEPS,
                                   .weights = weights,
                                   .block = peak->ops->block,
                                   .columns = 2 * peak->ops->block,
                                   .low = -1,
                                   .high = 1,
                                   .out = out,
                                   .row = SIDE,
                                   .out_block = (size_t)peak->ops->block};
    for (int i = 0; i < BFLOAT_ROUNDS; i++) {
        peak->bfloat->multiply(&job);
    }
    atomic_store(&peak->kept, out[0]);
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
    struct peak peak = {
        .ops = cpu->vectors, .bfloat = cpu->bfloat, .piece = copied_bytes / (size_t)threads};
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
    if (peak.bfloat) {
        adds = (double)BFLOAT_ROUNDS * SIDE * STEPS * BFLOAT_STEP * 2 * peak.ops->block * threads;
    }
    double seconds = least_time(cpu->threads, &peak, peak.bfloat ? compute_bfloat : compute);
    *ret_peaks = (struct device_peaks){.flops = 2 * adds / seconds, .bytes = copied};
    snprintf(ret_peaks->what, sizeof ret_peaks->what, "%d thread%s, %s", threads,
             threads == 1 ? "" : "s", peak.bfloat ? peak.bfloat->name : isa_name(peak.ops->isa));
    return 0;
}
