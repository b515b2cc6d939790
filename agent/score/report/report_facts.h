/* report_facts.h: the figures of report.html, workers.csv and summary.json, collected record by
 * record from its commits in bounded memory (some 4 MB with 10,000 workers), however many
 * mini-batches it has: sums, histograms, the first failures, the slowest. PURE. For report.c and
 * its pages.
 *
 * Time is the coordinators' own: a record's start counts from its epoch's claim. The time of an
 * epoch is put behind the last end of the one before, since no commit has the time without a
 * coordinator. */
#pragma once

#include "agent/score/log/commit_format.h"

enum {
    FACTS_BUCKETS = 240, /* of the run's time; at least half of them are used */
    FACTS_STRIP = 60,    /* of a worker's; each is FACTS_BUCKETS / FACTS_STRIP of those */
    FACTS_FIRST_MS = 5,  /* the buckets' width at the start; it doubles */
    FACTS_WORKERS_MAX = 10000,
    FACTS_SLOWEST = 20,
    FACTS_FAILURES = 1000,
    FACTS_CAUSES = 200,
    FACTS_CAUSE_BYTES = 300,
    FACTS_TRIES = 6,           /* 1, 2, ..., 6 or more */
    FACTS_OCTAVE = 16,         /* buckets from one duration to the double */
    FACTS_DURATIONS = 40 * 16, /* of durations, from 1 ms */
    FACTS_EPOCHS = 32,         /* of the first ones we know when they began */
};

struct facts_worker {
    char *name;
    int64_t batches, items;               /* that count; with the failed ones */
    int64_t failed_batches, failed_items; /* batches with a failed item */
    int64_t scored_cells;                 /* that count, with a result */
    int64_t errors, timeouts, losses;     /* tries that came to nothing, or not to all */
    int64_t busy_ms, slowest_ms;          /* of all its records, whether they count or not */
    int64_t span_ms, after_ms; /* first start to last end; from there to the epoch's end */
    int64_t first_ms, last_ms; /* of the run */
    float strip[FACTS_STRIP];  /* busy milliseconds */
    int64_t epoch, epoch_first_ms, epoch_last_ms; /* the one that is collected */
};

struct facts_failure {
    int64_t first, items, failed;
    int try, worker; /* index, -1: of no known one */
    bool is_partial;
    char cause[FACTS_CAUSE_BYTES]; /* of a partial one: of its first failed item */
};

struct facts_cause {
    uint64_t key; /* of the text without its numbers */
    int64_t items, batches, example;
    char cause[FACTS_CAUSE_BYTES]; /* the first */
};

struct facts_slow {
    int64_t first, items, took_ms;
    int try, worker;
};

struct facts {
    int64_t batches, failed_batches, partial_batches; /* records that count */
    int64_t items, failed_items;                      /* items: with the failed ones */
    int64_t records, voids;
    bool has_end;
    char verdict[64]; /* of the END record */

    int64_t end_ms, busy_ms, width_ms;
    double items_at[FACTS_BUCKETS], busy_at[FACTS_BUCKETS];  /* spread over [start, end] */
    double done_at[FACTS_BUCKETS], failed_at[FACTS_BUCKETS]; /* items, where they ended */
    int64_t epoch, epoch_offset_ms, epoch_count;
    int64_t epoch_at_ms[FACTS_EPOCHS];

    int64_t durations[FACTS_DURATIONS], duration_count, slowest_ms;
    int64_t tries[FACTS_TRIES];
    struct facts_slow slowest[FACTS_SLOWEST]; /* slowest first */
    int slowest_count;
    struct facts_failure *failures; /* the first ones */
    int failure_count;
    struct facts_cause *causes; /* by items, most first, after facts_finish */
    int cause_count;
    int64_t other_cause_items; /* of causes beyond FACTS_CAUSES */
    uint64_t last_key;         /* of the item that failed last, if it is of the same record */
    bool has_last_key;

    struct facts_worker *workers;
    int worker_count, *worker_slots; /* slots: a hash table of indices + 1 */
    int64_t uncounted;               /* records of workers beyond FACTS_WORKERS_MAX */
};

struct facts *facts_new(void);
void facts_free(struct facts *facts);
void facts_freep(struct facts **facts); /* for AUTO */

/* The next record of the log; own_cells: record_resolver_next. */
void facts_add(struct facts *facts, const struct commit_record *record, int64_t own_cells);
/* Of the record that was just added, that counts, and whose failed items are in an object
 * (failures.h): the next of these. */
void facts_add_failed(struct facts *facts, const struct commit_record *record, const char *cause,
                      size_t size);
/* When all are in: closes the last epoch, sorts the causes. */
void facts_finish(struct facts *facts);

/* ---- of a finished one ---------------------------------------------------------------------- */

/* 0.5: the median. About 4 % off, exact at 1; 0 when there is none. */
int64_t facts_quantile_ms(const struct facts *facts, double share);
/* Bucket of a duration, and the duration where it begins. */
int facts_duration(int64_t ms);
int64_t facts_duration_ms(int bucket);

/* Milliseconds of all slots: from its first start to its last end of each epoch without being busy,
 * and from there to the epoch's end. At least 0. */
int64_t facts_idle_ms(const struct facts_worker *worker, int slots);
int64_t facts_after_ms(const struct facts_worker *worker, int slots);
/* Busy of busy and idle, 0..1; 1 when it was never there long enough to tell, 0 when it has done
 * nothing. */
double facts_busy_share(const struct facts_worker *worker, int slots);
