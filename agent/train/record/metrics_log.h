/* metrics_log.h: the metrics of a training, stored with its results: metrics.csv for people and
 * programs, and an event file for TensorBoard (events.h). Both are written atomically, so a reader
 * sees a consistent state while the training runs. For one thread. */
#pragma once

#include "agent/store/store.h"

enum { METRICS_ROWS_MAX = 1 << 20 };
#define METRICS_CSV "metrics.csv"
#define METRICS_EVENTS "events.out.tfevents.0.windlass"

/* Columns of the CSV (after step, epoch, time) and tags of the event file. */
enum metrics_column {
    METRIC_LOSS,          /* "loss": mean of the batches since the epoch began */
    METRIC_ACCURACY,      /* "accuracy": 0..1 */
    METRIC_TEST_LOSS,     /* "test_loss" */
    METRIC_TEST_ACCURACY, /* "test_accuracy" */
    METRIC_RATE,          /* "learning_rate" */
    METRIC_SPEED,         /* "samples_per_second", of the gang */
    METRIC_WAITED,        /* "waited": share of the time, 0..1, spent waiting for batches */
    METRIC_COUNT
};

struct metrics_row {
    int64_t step;                /* steps done; greater than in the previous row */
    double epoch;                /* done */
    int64_t wall_ms;             /* since 1970 */
    double values[METRIC_COUNT]; /* NAN: unknown; an empty cell of the CSV, no value in the event
                                    file */
};

struct metrics_log;

/* store: the output, borrowed. step: the first step of this start. Rows of earlier rounds up to it
 * are kept, later ones are dropped. A file of another program is replaced. */
NODISCARD int metrics_log_open(struct store *store, int64_t step, struct metrics_log **ret_metrics,
                               struct error *err);
void metrics_log_free(struct metrics_log *metrics); /* accepts NULL; does not write */
void metrics_log_freep(struct metrics_log **metrics);

/* Appends; rows beyond METRICS_ROWS_MAX are dropped. */
void metrics_log_add(struct metrics_log *metrics, const struct metrics_row *row);
/* Writes both files if there are new rows. After a failure the next write contains everything. */
NODISCARD int metrics_log_write(struct metrics_log *metrics, struct error *err);
