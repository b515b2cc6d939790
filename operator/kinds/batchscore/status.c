// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/status.h"

#include "operator/kinds/job/progress_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED_LOG_MAX = 1024, LOST_MAX = 16, LOST_TEXT_MAX = 512 };

/* A replacement coordinator reports no counts while it lists: the earlier counts stay. */
static void copy_counters(json_t *status, const json_t *progress, const char *name) {
    static const char *const counters[] = {"total", "done", "failed", "retried"};
    static const char *const others[] = {"kept", "leftOut"}; /* absent: 0 */
    const json_t *from = json_object_get(progress, name);
    bool is_known = tree_integer(json_object_get(status, name), "total", 0) > 0;
    if (!json_is_object(from) || (is_known && tree_integer(from, "total", 0) <= 0)) {
        return;
    }
    json_t *to = json_object();
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        int64_t count = tree_integer(from, counters[i], 0);
        json_object_set_new(to, counters[i], json_integer(MAX(count, 0)));
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        json_t *count = json_object_get(from, others[i]);
        if (json_is_integer(count) && json_integer_value(count) > 0) {
            json_object_set(to, others[i], count);
        }
    }
    json_object_set_new(status, name, to);
}

static void copy_number(json_t *status, const json_t *progress, const char *name) {
    if (!progress_fields_number(status, progress, name)) {
        json_object_del(status, name);
    }
}

static void copy_lost(json_t *status, const json_t *progress) {
    AUTO(tree_freep) json_t *list = json_array();
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(progress, "lost"), i, row) {
        const char *what = tree_text(row, "what", ""), *why = tree_text(row, "why", "");
        if (*what && strlen(what) <= LOST_TEXT_MAX && strlen(why) <= LOST_TEXT_MAX &&
            json_array_size(list) < LOST_MAX) {
            json_array_append_new(list, json_pack("{s:s,s:s}", "what", what, "why", why));
        }
    }
    if (json_array_size(list) > 0) {
        json_object_set(status, "lost", list);
    } else {
        json_object_del(status, "lost");
    }
}

/* A replacement coordinator learns of its workers one after the other, and of those that have
 * ended no more: what was counted stays, else it would be counted twice (operator_metrics.c). */
static void keep_highest(json_t *requests, const json_t *kept) {
    static const char *const counters[] = {
        "requests", "answers", "refused",  "busy",         "broken",    "timeouts",  "unfit",
        "cut",      "retries", "tokensIn", "tokensCached", "tokensOut", "gpuSeconds"};
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        json_t *highest = json_object_get(kept, counters[i]);
        if (tree_integer(requests, counters[i], 0) < tree_integer(kept, counters[i], 0)) {
            json_object_set(requests, counters[i], highest);
        }
    }
    const char *before = tree_text(kept, "cost", "0");
    if (strtod(tree_text(requests, "cost", "0"), NULL) < strtod(before, NULL)) {
        json_object_set(requests, "cost", json_object_get(kept, "cost"));
        progress_fields_text(requests, kept, "costPer1000", 32);
    }
}

/* What requests to model servers have cost. */
static void copy_requests(json_t *status, const json_t *progress) {
    static const char *const numbers[] = {"requests",        "answers",
                                          "refused",         "busy",
                                          "broken",          "timeouts",
                                          "unfit",           "cut",
                                          "retries",         "tokensIn",
                                          "tokensCached",    "tokensOut",
                                          "gpuSeconds",      "medianMilliseconds",
                                          "p99Milliseconds", "tokensPerSecond"};
    static const char *const texts[] = {"cost", "costPer1000"};
    const json_t *given = json_object_get(progress, "requests");
    if (!json_is_object(given)) {
        return;
    }
    json_t *requests = json_object();
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        progress_fields_number(requests, given, numbers[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        progress_fields_text(requests, given, texts[i], 32);
    }
    keep_highest(requests, json_object_get(status, "requests"));
    json_object_set_new(status, "requests", requests);
}

void batchscore_status_live(json_t *status, const json_t *progress) {
    copy_counters(status, progress, "miniBatches");
    copy_counters(status, progress, "items");
    copy_number(status, progress, "workers");
    copy_number(status, progress, "secondsLeft");
    progress_fields_text(status, progress, "itemsPerSecond", 32);
    progress_fields_text(status, progress, "summary", PROGRESS_FIELDS_PATH_MAX);
    progress_fields_text(status, progress, "failedLog", FAILED_LOG_MAX);
    progress_fields_outputs(status, progress);
    copy_lost(status, progress);
    copy_requests(status, progress);
    const json_t *exclusive = json_object_get(progress, "exclusive");
    if (json_is_boolean(exclusive)) {
        json_object_set_new(status, "exclusive", json_boolean(json_is_true(exclusive)));
    }
    int64_t total = tree_integer(status, "items.total", 0);
    if (total > 0) {
        char text[48];
        snprintf(text, sizeof text, "%lld/%lld", (long long)tree_integer(status, "items.done", 0),
                 (long long)total);
        json_object_set_new(status, "progress", json_string(text));
    }
}

json_t *batchscore_status(const json_t *object, const struct batchscore_spec *spec,
                          const struct conditions *conditions, const json_t *progress,
                          int64_t now_ms) {
    json_t *status = conditions_status(object, spec ? &spec->job : NULL, conditions, now_ms);
    if (json_is_object(progress)) {
        batchscore_status_live(status, progress);
    }
    if (conditions->state != CONDITIONS_UNDER_WAY || conditions->suspended) {
        json_object_del(status, "secondsLeft");
        json_object_set_new(status, "workers", json_integer(0));
    }
    return status;
}

void batchscore_status_retired(json_t *status, json_t *rows, int count) {
    json_object_del(status, "retired");
    json_object_del(status, "retiredWorkers");
    if (count > 0) {
        json_object_set(status, "retired", rows);
        json_object_set_new(status, "retiredWorkers", json_integer(count));
    }
}
