// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/request_metrics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { PER_DOUBLING = 8 };

const char *const request_metrics_names[] = {
    "requests", "answers", "refused",  "busy",         "broken",    "timeouts",  "unfit",
    "cut",      "retries", "tokensIn", "tokensCached", "tokensOut", "gpuSeconds"};
static_assert(ARRAY_LEN(request_metrics_names) == REQUESTS_COUNTS, "one name per count");

void request_metrics_add(struct request_metrics *metrics, enum request_metrics_count count,
                         int64_t amount) {
    atomic_fetch_add_explicit(&metrics->counts[count], amount, memory_order_relaxed);
}

void request_metrics_latency(struct request_metrics *metrics, int64_t latency_ms) {
    double octave = log2((double)MAX(latency_ms, (int64_t)1));
    int bucket = MIN((int)(octave * PER_DOUBLING), REQUESTS_BUCKETS - 1);
    atomic_fetch_add_explicit(&metrics->latencies[bucket], 1, memory_order_relaxed);
}

int64_t request_metrics_quantile_ms(const struct request_metrics *metrics, double share) {
    int64_t all = 0, before = 0;
    for (int i = 0; i < REQUESTS_BUCKETS; i++) {
        all += atomic_load_explicit(&metrics->latencies[i], memory_order_relaxed);
    }
    for (int i = 0; i < REQUESTS_BUCKETS && all > 0; i++) {
        before += atomic_load_explicit(&metrics->latencies[i], memory_order_relaxed);
        if ((double)before >= share * (double)all) {
            return (int64_t)ceil(exp2((double)(i + 1) / PER_DOUBLING)) - 1;
        }
    }
    return 0;
}

static int64_t value_of(const _Atomic int64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

char *request_metrics_text(const struct request_metrics *metrics) {
    AUTO(text_freep) char *text = x_strdup("");
    for (int i = 0; i < REQUESTS_COUNTS; i++) {
        char *longer = x_printf("%s%s %lld, ", text, request_metrics_names[i],
                                (long long)value_of(&metrics->counts[i]));
        free(text);
        text = longer;
    }
    return x_printf("%shalf of the answers within %lld ms, 99 %% within %lld ms", text,
                    (long long)request_metrics_quantile_ms(metrics, 0.5),
                    (long long)request_metrics_quantile_ms(metrics, 0.99));
}

json_t *request_metrics_json(const struct request_metrics *metrics) {
    json_t *counts = json_object(), *latencies = json_array();
    for (int i = 0; i < REQUESTS_COUNTS; i++) {
        json_object_set_new(counts, request_metrics_names[i],
                            json_integer(value_of(&metrics->counts[i])));
    }
    for (int i = 0; i < REQUESTS_BUCKETS; i++) {
        int64_t answers = value_of(&metrics->latencies[i]);
        if (answers > 0) {
            json_array_append_new(latencies, json_pack("[i, I]", i, (json_int_t)answers));
        }
    }
    return json_pack("{s:o, s:o, s:I}", "counts", counts, "latencies", latencies, "began",
                     (json_int_t)metrics->began_ms);
}

static bool is_count(const json_t *value) {
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= INT64_MAX >> 16;
}

bool request_metrics_is_json(const json_t *json) {
    const json_t *counts = json_object_get(json, "counts");
    const json_t *latencies = json_object_get(json, "latencies");
    const char *name;
    json_t *value;
    bool is_sound = json_object_size(counts) <= 2 * REQUESTS_COUNTS && json_is_object(counts) &&
                    json_array_size(latencies) <= REQUESTS_BUCKETS;
    json_object_foreach((json_t *)(uintptr_t)counts, name, value) {
        is_sound = is_sound && is_count(value);
    }
    for (size_t i = 0; i < json_array_size(latencies) && is_sound; i++) {
        const json_t *pair = json_array_get(latencies, i);
        const json_t *bucket = json_array_get(pair, 0);
        is_sound = is_count(bucket) && json_integer_value(bucket) < REQUESTS_BUCKETS &&
                   is_count(json_array_get(pair, 1));
    }
    return is_sound;
}

void request_metrics_sum(struct request_metrics *sum, const json_t *json) {
    const json_t *counts = json_object_get(json, "counts"), *pair;
    size_t k;
    for (int i = 0; i < REQUESTS_COUNTS; i++) {
        request_metrics_add(sum, (enum request_metrics_count)i,
                            tree_integer(counts, request_metrics_names[i], 0));
    }
    json_array_foreach(json_object_get(json, "latencies"), k, pair) {
        sum->latencies[json_integer_value(json_array_get(pair, 0))] +=
            json_integer_value(json_array_get(pair, 1));
    }
}
