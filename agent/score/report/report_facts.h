/* report_facts.h: the figures of report.html, workers.csv and summary.json, collected record by
 * record from the run's commits: sums, histograms, the first failures, the slowest mini-batches.
 * Memory is bounded (some 4 MB with 10,000 workers) for any number of mini-batches. Pure. For
 * report.c and its pages.
 *
 * Times are the coordinators': a record's start is relative to its epoch's claim. An epoch's time
 * follows directly after the last end of the epoch before, since no commit records the time without
 * a coordinator. */
#pragma once

#include "agent/score/log/commit_format.h"

enum {
    FACTS_BUCKETS = 240, /* buckets of the run's time; at least half of them are used */
    FACTS_STRIP = 60,    /* buckets of a worker's time; each covers FACTS_BUCKETS / FACTS_STRIP of
                            the run's */
    FACTS_FIRST_MS = 5,  /* the buckets' width at the start; it doubles */
    FACTS_WORKERS_MAX = 10000,
    FACTS_SLOWEST = 20,
    FACTS_FAILURES = 1000,
    FACTS_CAUSES = 200,
    FACTS_CAUSE_BYTES = 300,
    FACTS_TRIES = 6,           /* 1, 2, ..., 6 or more */
    FACTS_OCTAVE = 16,         /* buckets per doubling of the duration */
    FACTS_DURATIONS = 40 * 16, /* buckets of durations, from 1 ms */
    FACTS_EPOCHS = 32,         /* epochs whose start is kept, the first ones */
};

struct facts_worker {
    char *name;
    int64_t batches, items;               /* valid ones, including failed items */
    int64_t failed_batches, failed_items; /* failed_batches: with a failed item */
    int64_t scored_cells;                 /* valid ones with a result */
    int64_t errors, timeouts, losses;     /* tries that failed completely or partly */
    int64_t busy_ms, slowest_ms;          /* of all its records, valid or not */
    int64_t span_ms, after_ms; /* span: first start to last end; after: from there to the epoch's
                                  end */
    int64_t first_ms, last_ms; /* of the run */
    float strip[FACTS_STRIP];  /* busy milliseconds */
    int64_t epoch, epoch_first_ms, epoch_last_ms; /* the epoch that is being collected */
};

struct facts_failure {
    int64_t first, items, failed;
    int try, worker; /* worker: index; -1: unknown */
    bool is_partial;
    char cause[FACTS_CAUSE_BYTES]; /* of a partial one: the cause of its first failed item */
};

struct facts_cause {
    uint64_t key; /* a hash of the text without its numbers */
    int64_t items, batches, example;
    char cause[FACTS_CAUSE_BYTES]; /* the first */
};

struct facts_slow {
    int64_t first, items, took_ms;
    int try, worker;
};

struct facts {
    int64_t batches, failed_batches, partial_batches; /* valid records */
    int64_t items, failed_items;                      /* items: including failed ones */
    int64_t records, voids;
    bool has_end;
    char verdict[64]; /* from the END record */

    int64_t end_ms, busy_ms, width_ms;
    double items_at[FACTS_BUCKETS], busy_at[FACTS_BUCKETS];  /* spread over [start, end] */
    double done_at[FACTS_BUCKETS], failed_at[FACTS_BUCKETS]; /* items, by their end */
    int64_t epoch, epoch_offset_ms, epoch_count;
    int64_t epoch_at_ms[FACTS_EPOCHS];

    int64_t durations[FACTS_DURATIONS], duration_count, slowest_ms;
    int64_t tries[FACTS_TRIES];
    struct facts_slow slowest[FACTS_SLOWEST]; /* slowest first */
    int slowest_count;
    struct facts_failure *failures; /* the first ones */
    int failure_count;
    struct facts_cause *causes; /* after facts_finish: by items, descending */
    int cause_count;
    int64_t other_cause_items; /* items with causes beyond FACTS_CAUSES */
    uint64_t last_key;         /* the key of the last failed item, if it is of the same record */
    bool has_last_key;

    struct facts_worker *workers;
    int worker_count, *worker_slots; /* slots: a hash table of indices + 1 */
    int64_t uncounted;               /* records of workers that exceed FACTS_WORKERS_MAX */
};

struct facts *facts_new(void);
void facts_free(struct facts *facts);
void facts_freep(struct facts **facts); /* for AUTO */

/* Adds the next record of the log; own_cells: from record_resolver_next. */
void facts_add(struct facts *facts, const struct commit_record *record, int64_t own_cells);
/* Adds the next failed item of the record that was just added, if that record is valid and its
 * failed items are in an object (failures.h). */
void facts_add_failed(struct facts *facts, const struct commit_record *record, const char *cause,
                      size_t size);
/* To be called after the last record: closes the last epoch, sorts the causes. */
void facts_finish(struct facts *facts);

/* ---- after facts_finish --------------------------------------------------------------------- */

/* share 0.5 is the median. The error is about 4 %; share 1 is exact; 0 without durations. */
int64_t facts_quantile_ms(const struct facts *facts, double share);
/* The bucket of a duration, and the duration at which a bucket begins. */
int facts_duration(int64_t ms);
int64_t facts_duration_ms(int bucket);

/* Milliseconds, summed over the worker's slots and all epochs. idle: not busy, between its first
 * start and its last end. after: from its last end to the epoch's end. At least 0. */
int64_t facts_idle_ms(const struct facts_worker *worker, int slots);
int64_t facts_after_ms(const struct facts_worker *worker, int slots);
/* busy / (busy + idle), 0..1; 1 if the worker was never there long enough to measure, 0 if it has
 * done nothing. */
double facts_busy_share(const struct facts_worker *worker, int slots);
