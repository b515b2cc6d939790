/* prometheus.h: counters, gauges and histograms, exported in Prometheus' text format (text/plain,
 * version 0.0.4). A program has one constant table of families (metrics with their labels); the
 * first use of a combination of label values makes a series. Label values must be few (a kind, a
 * reason, an HTTP status, a namespace) and never names of jobs: a family with
 * PROMETHEUS_SERIES_MAX series counts all further ones under "other". Thread-safe. */
#pragma once

#include "lib/base.h"

enum { PROMETHEUS_LABELS_MAX = 3, PROMETHEUS_SERIES_MAX = 256, PROMETHEUS_BOUNDS_MAX = 20 };

/* The Content-Type of /metrics. */
#define PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum prometheus_kind {
    PROMETHEUS_COUNTER,
    PROMETHEUS_GAUGE,
    PROMETHEUS_HISTOGRAM,
    PROMETHEUS_KIND_COUNT
};

struct prometheus_family {
    const char *name; /* letters, digits, underscores, unit last: windlass_jobs_created_total */
    const char *help; /* one sentence */
    enum prometheus_kind kind;
    const char *labels[PROMETHEUS_LABELS_MAX]; /* their names; unused ones are NULL */
    double bounds[PROMETHEUS_BOUNDS_MAX]; /* of a histogram: upper bounds, ascending, ended by 0 */
};

struct prometheus;

/* Borrows the table, which must outlive it. A family's index in the table names it below. Families
 * without labels are exported from the start, as 0. */
struct prometheus *prometheus_new(const struct prometheus_family *families, size_t count);
void prometheus_free(struct prometheus *metrics);

/* values: one per label, in the family's order (NULL for a family without labels; a NULL value
 * counts as ""). add is for counters, amounts are not negative; set for gauges; observe for
 * histograms. */
void prometheus_add(struct prometheus *metrics, size_t family, double amount,
                    const char *const *values);
void prometheus_set(struct prometheus *metrics, size_t family, double value,
                    const char *const *values);
void prometheus_observe(struct prometheus *metrics, size_t family, double value,
                        const char *const *values);

/* All series at one moment, as text; the caller frees. */
char *prometheus_text(struct prometheus *metrics);
/* The standard process metrics of Prometheus' clients (process_resident_memory_bytes,
 * process_cpu_seconds_total, process_open_fds, process_start_time_seconds); the caller frees. */
char *prometheus_process_text(void);
