// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/status.h"

#include "lib/clock.h"
#include "operator/kinds/batchscore/plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { OUTPUTS_MAX = 16, PATH_MAX_BYTES = 4096 };

static const char *const state_names[] = {"Unknown", "True", "False"};
static_assert(ARRAY_LEN(state_names) == OUTCOME_FAILED + 1, "one name per state");

void outcome_set(struct outcome *outcome, enum outcome_state state, const char *reason,
                 const char *format, ...) {
    struct error text = {0}; /* cuts and tidies: one line of UTF-8 */
    char message[sizeof outcome->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(&text, ERROR_FAILED, "%s", message);
    outcome->state = state;
    outcome->reason = reason;
    snprintf(outcome->message, sizeof outcome->message, "%s", text.text);
}

const json_t *status_condition(const json_t *object) {
    const json_t *list = tree_get(object, "status.conditions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (strcmp(tree_text(one, "type", ""), "Succeeded") == 0) {
            return one;
        }
    }
    return NULL;
}

bool batchscore_is_finished(const json_t *object) {
    const json_t *condition = status_condition(object);
    const char *status = tree_text(condition, "status", "Unknown");
    if (strcmp(status, "True") == 0) {
        return true;
    }
    /* A spec that was wrong may have been corrected since; nothing ran yet. */
    bool corrected = strcmp(tree_text(condition, "reason", ""), "SpecInvalid") == 0 &&
                     tree_integer(condition, "observedGeneration", 0) !=
                         tree_integer(object, "metadata.generation", 0);
    return strcmp(status, "False") == 0 && !corrected;
}

static void set_time(json_t *status, const char *name, int64_t now_ms) {
    char text[21];
    clock_format(now_ms, text);
    json_object_set_new(status, name, json_string(text));
}

static void set_condition(json_t *status, const json_t *old, int64_t generation,
                          const struct outcome *outcome, int64_t now_ms) {
    const char *name = state_names[outcome->state];
    json_t *condition = json_pack("{s:s, s:s, s:s, s:s, s:I}", "type", "Succeeded", "status", name,
                                  "reason", outcome->reason, "message", outcome->message,
                                  "observedGeneration", (json_int_t)generation);
    const char *since = tree_text(old, "lastTransitionTime", NULL);
    if (since && strcmp(tree_text(old, "status", ""), name) == 0) {
        json_object_set_new(condition, "lastTransitionTime", json_string(since));
    } else {
        set_time(condition, "lastTransitionTime", now_ms);
    }
    /* Conditions of others (of a queue, say) stay. */
    json_t *list = json_array();
    const json_t *before = json_object_get(status, "conditions");
    for (size_t i = 0; i < json_array_size(before); i++) {
        json_t *one = json_array_get(before, i);
        if (strcmp(tree_text(one, "type", ""), "Succeeded") != 0) {
            json_array_append(list, one);
        }
    }
    json_array_append_new(list, condition);
    json_object_set_new(status, "conditions", list);
}

static void copy_counters(json_t *status, const json_t *progress, const char *name) {
    static const char *const counters[] = {"total", "done", "failed", "retried"};
    const json_t *from = json_object_get(progress, name);
    if (!json_is_object(from)) {
        return;
    }
    json_t *to = json_object();
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        int64_t count = tree_integer(from, counters[i], 0);
        json_object_set_new(to, counters[i], json_integer(MAX(count, 0)));
    }
    json_object_set_new(status, name, to);
}

static void copy_text(json_t *status, const json_t *progress, const char *name, size_t max) {
    const char *text = tree_text(progress, name, NULL);
    if (text && *text && strlen(text) <= max) {
        json_object_set_new(status, name, json_string(text));
    }
}

static void copy_number(json_t *status, const json_t *progress, const char *name) {
    const json_t *number = json_object_get(progress, name);
    if (json_is_integer(number) && json_integer_value(number) >= 0) {
        json_object_set_new(status, name, json_integer(json_integer_value(number)));
    } else {
        json_object_del(status, name);
    }
}

static void copy_outputs(json_t *status, const json_t *progress) {
    const json_t *outputs = json_object_get(progress, "outputs");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(outputs) && json_array_size(list) < OUTPUTS_MAX; i++) {
        const char *path = json_string_value(json_array_get(outputs, i));
        if (path && strlen(path) <= PATH_MAX_BYTES) {
            json_array_append_new(list, json_string(path));
        }
    }
    if (json_array_size(list) > 0) {
        json_object_set(status, "outputs", list);
    }
    json_decref(list);
}

/* Only what the schema knows, in the form it wants: the coordinator is another program. */
static void copy_progress(json_t *status, const json_t *progress) {
    copy_counters(status, progress, "miniBatches");
    copy_counters(status, progress, "items");
    copy_number(status, progress, "workers");
    copy_number(status, progress, "secondsLeft");
    copy_text(status, progress, "itemsPerSecond", 32);
    copy_text(status, progress, "summary", PATH_MAX_BYTES);
    copy_outputs(status, progress);
    int64_t total = tree_integer(status, "items.total", 0);
    if (total > 0) {
        char text[48];
        snprintf(text, sizeof text, "%lld/%lld", (long long)tree_integer(status, "items.done", 0),
                 (long long)total);
        json_object_set_new(status, "progress", json_string(text));
    }
}

json_t *status_next(const json_t *object, const struct batchscore_spec *spec,
                    const struct outcome *outcome, const json_t *progress, int64_t now_ms) {
    const json_t *old = json_object_get(object, "status");
    json_t *status = json_is_object(old) ? json_deep_copy(old) : json_object();
    int64_t generation = tree_integer(object, "metadata.generation", 0);
    set_condition(status, status_condition(object), generation, outcome, now_ms);
    json_object_set_new(status, "observedGeneration", json_integer(generation));
    if (spec) {
        json_object_set_new(status, "run", json_string(spec->run));
    }
    if (!json_object_get(status, "startTime")) {
        set_time(status, "startTime", now_ms);
    }
    if (json_is_object(progress)) {
        copy_progress(status, progress);
    }
    if (outcome->state != OUTCOME_UNDER_WAY) {
        json_object_del(status, "secondsLeft");
        json_object_set_new(status, "workers", json_integer(0));
        set_time(status, "completionTime", now_ms);
    } else {
        json_object_del(status, "completionTime");
    }
    return status;
}
