/* tally.h: what a worker's requests have cost so far: counts, tokens, latencies. Counts everything
 * that was asked, also what no result came of. Any thread. */
#pragma once

#include "lib/tree.h"

#include <stdatomic.h>

enum tally_count {
    TALLY_REQUESTS, /* sent */
    TALLY_ANSWERS,  /* 2xx */
    TALLY_REFUSED,  /* other 4xx */
    TALLY_BUSY,     /* 429, 503, 529 */
    TALLY_BROKEN,   /* 5xx, resets, half answers, no connection */
    TALLY_TIMEOUTS,
    TALLY_UNFIT, /* answers that are not JSON, or not of the schema */
    TALLY_RETRIES,
    TALLY_TOKENS_IN,
    TALLY_TOKENS_CACHED, /* of those in */
    TALLY_TOKENS_OUT,
    TALLY_COUNTS
};

/* Names as in summary.json. */
extern const char *const tally_names[TALLY_COUNTS];

enum { TALLY_BUCKETS = 256 }; /* of latencies: 8 for each doubling, from 1 ms */

struct tally {
    _Atomic int64_t counts[TALLY_COUNTS];
    _Atomic int64_t latencies[TALLY_BUCKETS];
};

void tally_add(struct tally *tally, enum tally_count count, int64_t amount);
void tally_latency(struct tally *tally, int64_t latency_ms);
/* The latency that this share of the answers does not exceed, in ms; 0: no answers. */
int64_t tally_quantile_ms(const struct tally *tally, double share);

/* One line for a log, owned by the caller. */
char *tally_text(const struct tally *tally);
/* {"counts": {"requests": 7, ...}, "latencies": [[bucket, answers], ...]}; owned by the caller. */
json_t *tally_json(const struct tally *tally);
/* Whether it is one: names are not checked, numbers are at least 0. */
bool tally_is_json(const json_t *json);
/* Adds one to the sum; unknown names are ignored. */
void tally_sum(struct tally *sum, const json_t *json);
