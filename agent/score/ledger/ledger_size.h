/* ledger_size.h: the cost of leases: how large the next lease should be, and which lease is slow.
 * PURE; used by the ledger alone.
 *
 * From the leases of all workers, by classes of sizes (1, 2 and 3, 4 to 7, ...), of which each
 * keeps what its last ones took in the mean: a lease takes start + cell * cells, least squares of
 * relative errors. So what small ones have shown of the start is not forgotten. The next one is so
 * large that its start-up costs 2 % of it, and that it takes at most a quarter of the time-out.
 * Towards the end it has half of an even part of what waits, so that no slot ends long after the
 * others, but works for two start-ups at least: smaller ones would cost more than they even out.
 * Until the costs are known, sizes grow: 1, 16, 256, ...; once a lease has failed, they double. */
#pragma once

#include "lib/base.h"

enum {
    SIZE_SAMPLES = 32,
    SIZE_CLASSES = 15,
    SIZE_CLASS_LEASES = 8,   /* of a class that count */
    SIZE_GROWTH = 16,        /* times the largest that came back */
    SIZE_GROWTH_CAREFUL = 2, /* after a failure */
};

struct size_sample {
    int32_t cells;
    int64_t us;
};

struct size_class {
    double count, cells, us; /* cells, us: means */
};

struct sizes {
    struct size_class classes[SIZE_CLASSES];  /* by the logarithm of the size */
    struct size_sample samples[SIZE_SAMPLES]; /* the last leases that came back, of all workers */
    int count, next;
    double start_us, cell_us; /* a lease takes start_us + cell_us * cells */
    double
        all_us; /* a cell with its share of start-ups: must not be underestimated for time-outs */
    bool has_fit, has_failed;
    int64_t largest; /* that came back, less after a failure; 0: none did */
};

/* A lease of this many cells succeeded. */
void sizes_add(struct sizes *sizes, int32_t cells, int64_t us);
/* One failed: growing begins below it. */
void sizes_failed(struct sizes *sizes, int32_t cells);

struct size_question {
    int64_t waiting; /* cells */
    int slots;
    int64_t timeout_us;
    int32_t most; /* cells of a lease */
};
/* Cells of the next lease. *ret_grows: it would be larger if one so large had come back before; a
 * slot with work should get no more now. */
int32_t sizes_next(const struct sizes *sizes, const struct size_question *question,
                   bool *ret_grows);
/* The median duration of a lease of this many cells; -1: not known yet. */
int64_t sizes_median_us(const struct sizes *sizes, int32_t cells);
