// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/tally.h"

#include <math.h>
#include <stdlib.h>

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

static int64_t value_of(const _Atomic int64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

char *tally_text(const struct tally *tally) {
    AUTO(text_freep) char *text = x_strdup("");
    for (int i = 0; i < TALLY_COUNTS; i++) {
        char *longer =
            x_printf("%s%s %lld, ", text, tally_names[i], (long long)value_of(&tally->counts[i]));
        free(text);
        text = longer;
    }
    return x_printf("%shalf of the answers within %lld ms, 99 %% within %lld ms", text,
                    (long long)tally_quantile_ms(tally, 0.5),
                    (long long)tally_quantile_ms(tally, 0.99));
}

json_t *tally_json(const struct tally *tally) {
    json_t *counts = json_object(), *latencies = json_array();
    for (int i = 0; i < TALLY_COUNTS; i++) {
        json_object_set_new(counts, tally_names[i], json_integer(value_of(&tally->counts[i])));
    }
    for (int i = 0; i < TALLY_BUCKETS; i++) {
        int64_t answers = value_of(&tally->latencies[i]);
        if (answers > 0) {
            json_array_append_new(latencies, json_pack("[i, I]", i, (json_int_t)answers));
        }
    }
    return json_pack("{s:o, s:o}", "counts", counts, "latencies", latencies);
}

static bool is_count(const json_t *value) {
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= INT64_MAX >> 16;
}

bool tally_is_json(const json_t *json) {
    const json_t *counts = json_object_get(json, "counts");
    const json_t *latencies = json_object_get(json, "latencies");
    const char *name;
    json_t *value;
    bool is_sound = json_object_size(counts) <= 2 * TALLY_COUNTS && json_is_object(counts) &&
                    json_array_size(latencies) <= TALLY_BUCKETS;
    json_object_foreach((json_t *)(uintptr_t)counts, name, value) {
        is_sound = is_sound && is_count(value);
    }
    for (size_t i = 0; i < json_array_size(latencies) && is_sound; i++) {
        const json_t *pair = json_array_get(latencies, i);
        const json_t *bucket = json_array_get(pair, 0);
        is_sound = is_count(bucket) && json_integer_value(bucket) < TALLY_BUCKETS &&
                   is_count(json_array_get(pair, 1));
    }
    return is_sound;
}

void tally_sum(struct tally *sum, const json_t *json) {
    const json_t *counts = json_object_get(json, "counts"), *pair;
    size_t k;
    for (int i = 0; i < TALLY_COUNTS; i++) {
        tally_add(sum, (enum tally_count)i, tree_integer(counts, tally_names[i], 0));
    }
    json_array_foreach(json_object_get(json, "latencies"), k, pair) {
        sum->latencies[json_integer_value(json_array_get(pair, 0))] +=
            json_integer_value(json_array_get(pair, 1));
    }
}
