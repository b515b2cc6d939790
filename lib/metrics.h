/* metrics.h: counters, gauges and histograms, told as text in Prometheus' format (text/plain,
 * version 0.0.4). The families are one constant table; a series of a family is made by its first
 * use. Labels are for few values (a kind, a reason, an HTTP status), never for names of objects: a
 * family that has METRICS_SERIES_MAX series counts everything else under "other".
 * Thread-safe. */
#pragma once

#include "lib/base.h"

enum { METRICS_LABELS_MAX = 3, METRICS_SERIES_MAX = 64, METRICS_BOUNDS_MAX = 20 };

/* What /metrics has to say in its Content-Type. */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_KIND_COUNT };

struct metric_family {
    const char *name; /* windlass_jobs_created_total: letters, digits, underscores; unit last */
    const char *help; /* one sentence */
    enum metric_kind kind;
    const char *labels[METRICS_LABELS_MAX]; /* names; NULL where there are fewer */
    double bounds[METRICS_BOUNDS_MAX];      /* of a histogram: upper ends, rising; 0 ends them */
};

struct metrics;

/* Borrows the table, which must live longer. Families are known by their index in it. Those without
 * labels are there from the start, with 0. */
struct metrics *metrics_new(const struct metric_family *families, size_t count);
void metrics_free(struct metrics *metrics);

/* values: one for each label, in their order (NULL where the family has none; NULL among them is
 * ""). Counters are only added to, amounts are never negative; gauges are set; histograms observe.
 */
void metrics_add(struct metrics *metrics, size_t family, double amount, const char *const *values);
void metrics_set(struct metrics *metrics, size_t family, double value, const char *const *values);
void metrics_observe(struct metrics *metrics, size_t family, double value,
                     const char *const *values);

/* Everything, at one moment; the caller frees. */
char *metrics_text(struct metrics *metrics);
/* This process as Prometheus' own clients tell of it (process_resident_memory_bytes,
 * process_cpu_seconds_total, process_open_fds, process_start_time_seconds); the caller frees. */
char *metrics_process_text(void);
