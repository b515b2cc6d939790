/* ledger_size.h: what leases cost: how large the next one should be, and which one is slow. PURE;
 * used by the ledger alone. */
#pragma once

#include "lib/base.h"

enum { SIZE_SAMPLES = 32 };

struct size_sample {
    int32_t cells;
    int64_t us;
};

struct sizes {
    struct size_sample samples[SIZE_SAMPLES]; /* the last leases that came back, of all workers */
    int count, next;
    double start_us, cell_us; /* a lease takes start_us + cell_us * cells */
    bool has_fit;
    int64_t largest; /* that came back, less after a failure; 0: none did */
};

/* A lease of so many cells came back well. */
void sizes_add(struct sizes *sizes, int32_t cells, int64_t us);
/* One failed: growing begins below it. */
void sizes_failed(struct sizes *sizes, int32_t cells);

/* Cells of the next lease: start-up costs 2 % at most, no lease takes a quarter of timeout_us, none
 * takes more than its part of what waits; at most twice the largest that came back, and most. */
int32_t sizes_next(const struct sizes *sizes, int64_t waiting, int slots, int64_t timeout_us,
                   int32_t most);
/* What a lease of so many cells takes in the median; -1: nobody knows yet. */
int64_t sizes_median_us(const struct sizes *sizes, int32_t cells);
