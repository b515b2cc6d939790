/* metrics.h: counters, gauges and histograms in Prometheus' text format (text/plain, version
 * 0.0.4). A program has one constant table of families; the first use of a label combination makes
 * its series. Labels are for few values (a kind, a reason, an HTTP status), never for object names:
 * a family with METRICS_SERIES_MAX series counts all further ones under "other". Thread-safe. */
#pragma once

#include "lib/base.h"

enum { METRICS_LABELS_MAX = 3, METRICS_SERIES_MAX = 64, METRICS_BOUNDS_MAX = 20 };

/* The Content-Type of /metrics. */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_KIND_COUNT };

struct metric_family {
    const char *name; /* letters, digits, underscores, unit last: windlass_jobs_created_total */
    const char *help; /* one sentence */
    enum metric_kind kind;
    const char *labels[METRICS_LABELS_MAX]; /* their names; unused ones are NULL */
    double bounds[METRICS_BOUNDS_MAX]; /* of a histogram: upper bounds, ascending, ended by 0 */
};

struct metrics;

/* Borrows the table, which must outlive it. A family's index in the table names it below. Families
 * without labels are exported from the start, as 0. */
struct metrics *metrics_new(const struct metric_family *families, size_t count);
void metrics_free(struct metrics *metrics);

/* values: one per label, in the family's order (NULL for a family without labels; a NULL value
 * counts as ""). add is for counters, amounts are not negative; set for gauges; observe for
 * histograms. */
void metrics_add(struct metrics *metrics, size_t family, double amount, const char *const *values);
void metrics_set(struct metrics *metrics, size_t family, double value, const char *const *values);
void metrics_observe(struct metrics *metrics, size_t family, double value,
                     const char *const *values);

/* All series at one moment, as text; the caller frees. */
char *metrics_text(struct metrics *metrics);
/* The standard process metrics of Prometheus' clients (process_resident_memory_bytes,
 * process_cpu_seconds_total, process_open_fds, process_start_time_seconds); the caller frees. */
char *metrics_process_text(void);
