/* ledger_size.h: the cost of leases: how large the next lease should be, and which lease is slow.
 * Pure; used by the ledger alone.
 *
 * The model is: a lease takes start + cell * cells, fitted by least squares of relative errors. Its
 * data are the leases of all workers, in classes of sizes (1, 2 and 3, 4 to 7, ...), each of which
 * keeps the mean duration of its last leases; so what small leases have shown about the start-up is
 * kept. The next lease is so large that the start-up is 2 % of its time, and that it takes at most
 * a quarter of the time-out. Towards the end it gets half of an even share of the waiting cells, so
 * that no slot ends long after the others, but enough cells to work for at least two start-ups:
 * smaller leases would cost more than they balance. Until the costs are known, sizes grow: 1, 16,
 * 256, ...; after a failed lease they only double. */
#pragma once

#include "lib/base.h"

enum {
    SIZE_SAMPLES = 32,
    SIZE_CLASSES = 15,
    SIZE_CLASS_LEASES = 8,   /* leases that a class averages */
    SIZE_GROWTH = 16,        /* factor to the largest size that succeeded */
    SIZE_GROWTH_CAREFUL = 2, /* the factor after a failure */
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
    struct size_sample samples[SIZE_SAMPLES]; /* the last successful leases of all workers */
    int count, next;
    double start_us, cell_us; /* a lease takes start_us + cell_us * cells */
    double all_us; /* mean time of a cell, with its share of start-ups: an upper estimate, for
                      time-outs */
    bool has_fit, has_failed;
    int64_t largest; /* the largest successful size, less after a failure; 0: none yet */
};

/* A lease of this many cells succeeded. */
void sizes_add(struct sizes *sizes, int32_t cells, int64_t us);
/* A lease of this many cells failed: growth restarts below this size. */
void sizes_failed(struct sizes *sizes, int32_t cells);

struct size_query {
    int64_t waiting; /* cells */
    int slots;
    int64_t timeout_us;
    int32_t most; /* maximum of cells in a lease */
};
/* Cells of the next lease. *ret_grows: it would be larger if a lease of this size had succeeded
 * before; a slot with work should get no more now. */
int32_t sizes_next(const struct sizes *sizes, const struct size_query *question, bool *ret_grows);
/* The median duration of a lease of this many cells; -1: unknown. */
int64_t sizes_median_us(const struct sizes *sizes, int32_t cells);
