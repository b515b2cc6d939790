/* metrics.h: what a training says of itself, kept with its results: metrics.csv for people and
 * programs, and an event file that TensorBoard reads (events.h). Both are written whole, so whoever
 * reads them while the training runs sees some moment of it. One thread. */
#pragma once

#include "agent/store/store.h"

enum { METRICS_ROWS_MAX = 1 << 20 };
#define METRICS_CSV "metrics.csv"
#define METRICS_EVENTS "events.out.tfevents.0.windlass"

/* Columns of the CSV (behind step, epoch, time) and tags of the event file. */
enum metrics_column {
    METRIC_LOSS,          /* "loss": mean of the batches since the epoch began */
    METRIC_ACCURACY,      /* "accuracy": 0..1 */
    METRIC_TEST_LOSS,     /* "test_loss" */
    METRIC_TEST_ACCURACY, /* "test_accuracy" */
    METRIC_RATE,          /* "learning_rate" */
    METRIC_SPEED,         /* "samples_per_second", of the gang */
    METRIC_WAITED,        /* "waited": part of the time, 0..1, in which batches were waited for */
    METRIC_COUNT
};

struct metrics_row {
    int64_t step;                /* steps done; greater than the row's before */
    double epoch;                /* done */
    int64_t wall_ms;             /* since 1970 */
    double values[METRIC_COUNT]; /* NAN: not known; an empty cell, no point in a curve */
};

struct metrics;

/* store: the output, borrowed. step: where the training begins: rows of an earlier round up to it
 * are kept, later ones were not of this training and go. A file that is not ours is replaced. */
NODISCARD int metrics_open(struct store *store, int64_t step, struct metrics **ret_metrics,
                           struct error *err);
void metrics_free(struct metrics *metrics); /* NULL is fine; writes nothing */
void metrics_freep(struct metrics **metrics);

/* Appends; a row too many (METRICS_ROWS_MAX) is dropped. */
void metrics_add(struct metrics *metrics, const struct metrics_row *row);
/* Writes both files if there is anything new. After a failure the next write holds all. */
NODISCARD int metrics_write(struct metrics *metrics, struct error *err);

size_t metrics_count(const struct metrics *metrics);
