// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/tally.h"

#include <math.h>

enum { PER_DOUBLING = 8 };

const char *const tally_names[TALLY_COUNTS] = {"requests", "answers",      "refused",  "busy",
                                               "broken",   "timeouts",     "unfit",    "retries",
                                               "tokensIn", "tokensCached", "tokensOut"};

void tally_add(struct tally *tally, enum tally_count count, int64_t amount) {
    atomic_fetch_add_explicit(&tally->counts[count], amount, memory_order_relaxed);
}

void tally_latency(struct tally *tally, int64_t latency_ms) {
    double octave = log2((double)MAX(latency_ms, (int64_t)1));
    int bucket = MIN((int)(octave * PER_DOUBLING), TALLY_BUCKETS - 1);
    atomic_fetch_add_explicit(&tally->latencies[bucket], 1, memory_order_relaxed);
}

int64_t tally_quantile_ms(const struct tally *tally, double share) {
    int64_t all = 0, before = 0;
    for (int i = 0; i < TALLY_BUCKETS; i++) {
        all += atomic_load_explicit(&tally->latencies[i], memory_order_relaxed);
    }
    for (int i = 0; i < TALLY_BUCKETS && all > 0; i++) {
        before += atomic_load_explicit(&tally->latencies[i], memory_order_relaxed);
        if ((double)before >= share * (double)all) {
            return (int64_t)ceil(exp2((double)(i + 1) / PER_DOUBLING)) - 1;
        }
    }
    return 0;
}
