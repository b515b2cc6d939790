/* loader.h: prepares batches in advance, in separate threads: reads, decodes and augments samples.
 * LOADER_RING batches are in a ring. Each rank prepares its own slice of a batch (order.h), so that
 * every gang size sees the same batches. loader_take is for one thread. */
#pragma once

#include "agent/train/dataset/augment.h"
#include "agent/train/dataset/bad_samples.h"

enum { LOADER_RING = 4, LOADER_THREADS_MAX = 64 };

struct loader_options {
    struct dataset *dataset; /* borrowed, as is augment */
    const struct augment *augment;
    bool is_training; /* false: samples in the order of the data set, without randomness; steps from
                         0 are one pass */
    uint64_t seed;
    int64_t batch_size;           /* of the gang */
    int rank, size;               /* of the gang */
    int64_t first_step, end_step; /* the last one is end_step - 1 */
    int threads;                  /* 1..LOADER_THREADS_MAX */
    struct bad_samples *bad;      /* borrowed; NULL: a bad sample is an error */
};

/* This rank's slice; borrowed until the next loader_take. */
struct batch {
    int64_t step, epoch;
    int64_t count;   /* samples of this rank; 0 if there are fewer than ranks */
    int64_t total;   /* samples of the gang; at least 1 */
    int64_t counted; /* labels that count (dataset_counted), of the gang; with counts_own only of
                        this rank */
    bool counts_own; /* the ranks' `counted` have to be summed */
    int64_t bad;     /* samples of this rank that are bad: in training others are there instead */
    bool *is_bad;    /* [count], evaluation: true: bad, does not count; NULL: all are good */
    void *samples;   /* [count, augment->shape], of augment->result */
    void *extras[SAMPLE_EXTRAS_MAX]; /* [count, its shape], of augment->extra_results */
    int64_t *labels;                 /* [count, dataset->places]; NULL where targets are numbers */
    float *targets;                  /* [count, target_count]; NULL where they are classes */
    int64_t *indices;                /* [count] of the data set */
};

struct loader;

/* EXHAUSTED: the ring would need too much memory. */
NODISCARD int loader_open(const struct loader_options *options, struct loader **ret_loader,
                          struct error *err);
void loader_close(struct loader *loader); /* accepts NULL; waits for work in progress */
void loader_closep(struct loader **loader);

/* 1: *ret_batch is the next step's; 0: there are no more; -1: a sample could not be read (INVALID,
 * UNSUPPORTED: it is bad, and bad_samples_has_ended). */
NODISCARD int loader_take(struct loader *loader, const struct batch **ret_batch, struct error *err);
/* How long loader_take has waited so far. */
int64_t loader_waited_ns(const struct loader *loader);
/* The number of samples prepared so far. Any thread. */
int64_t loader_made(const struct loader *loader);
