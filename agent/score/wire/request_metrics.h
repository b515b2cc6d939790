/* request_metrics.h: what a worker's requests have cost so far: counts, tokens, latencies. Counts
 * everything that was asked, also what no result came of. Any thread. */
#pragma once

#include "lib/tree.h"

#include <stdatomic.h>

enum request_metrics_count {
    REQUESTS_SENT,    /* sent */
    REQUESTS_ANSWERS, /* 2xx */
    REQUESTS_REFUSED, /* other 4xx, and answers that are too large or packed for the transfer */
    REQUESTS_BUSY,    /* 429, 503, 529 */
    REQUESTS_BROKEN,  /* 408, other 5xx, resets, half answers, no connection */
    REQUESTS_TIMEOUTS,
    REQUESTS_UNFIT, /* answers that are not JSON, or not of the schema */
    REQUESTS_CUT,   /* answers that are kept though they end at a limit of tokens */
    REQUESTS_RETRIES,
    REQUESTS_TOKENS_IN,
    REQUESTS_TOKENS_CACHED, /* of those in */
    REQUESTS_TOKENS_OUT,
    REQUESTS_GPU_SECONDS, /* for which the worker has had its GPUs, summed */
    REQUESTS_COUNTS
};

/* By enum request_metrics_count, as in summary.json. */
extern const char *const request_metrics_names[];

enum { REQUESTS_BUCKETS = 256 }; /* of latencies: 8 for each doubling, from 1 ms */

struct request_metrics {
    int64_t began_ms; /* of the process, wall clock: another process of the same name is not it */
    _Atomic int64_t counts[REQUESTS_COUNTS];
    _Atomic int64_t latencies[REQUESTS_BUCKETS];
};

void request_metrics_add(struct request_metrics *metrics, enum request_metrics_count count,
                         int64_t amount);
void request_metrics_latency(struct request_metrics *metrics, int64_t latency_ms);
/* The latency that this share of the answers does not exceed, in ms; 0: no answers. */
int64_t request_metrics_quantile_ms(const struct request_metrics *metrics, double share);

/* One line for a log, owned by the caller. */
char *request_metrics_text(const struct request_metrics *metrics);
/* {"counts": {"requests": 7, ...}, "latencies": [[bucket, answers], ...], "began": ms}; owned by
 * the caller. */
json_t *request_metrics_json(const struct request_metrics *metrics);
/* Whether it is one: names are not checked, numbers are at least 0. */
bool request_metrics_is_json(const json_t *json);
/* Adds one to the sum; unknown names are ignored. */
void request_metrics_sum(struct request_metrics *sum, const json_t *json);
