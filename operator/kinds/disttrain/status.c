// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/status.h"

#include "lib/number/curve.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/progress_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS_MAX = 16, ALSO_MAX = 3, OTHER_MAX_BYTES = 63 };
enum { LOSSES_MAX = 8, LOSS_NAME_MAX_BYTES = 40, METRICS_MAX = 16, METRIC_NAME_MAX_BYTES = 46 };
enum {
    NUMBER_MAX_BYTES = 32,
    LINE_MAX_BYTES = 160,
    MESSAGE_MAX_BYTES = 640,
    SHA256_BYTES = 64,
    RESULT_MESSAGE_BYTES = 300
};

/* Copies numbers of an object to the object of that name; missing ones stay unchanged. */
static void copy_numbers(json_t *status, const json_t *progress, const char *name,
                         const char *const *numbers) {
    const json_t *from = json_object_get(progress, name);
    if (!json_is_object(from)) {
        return;
    }
    json_t *to = json_object_get(status, name);
    if (!json_is_object(to)) {
        to = json_object();
        json_object_set_new(status, name, to);
    }
    for (; *numbers; numbers++) {
        progress_fields_number(to, from, *numbers);
    }
}

static void copy_last(json_t *status, const json_t *progress) {
    static const char *const numbers[] = {"index", "rank", "exitCode", NULL};
    const json_t *from = tree_get(progress, "restarts.last");
    json_t *restarts = json_object_get(status, "restarts");
    if (!json_is_object(from) || !restarts) {
        return;
    }
    AUTO(tree_freep) json_t *holder = json_object();
    AUTO(tree_freep) json_t *told = json_pack("{s:O}", "last", from);
    copy_numbers(holder, told, "last", numbers);
    json_t *last = json_object_get(holder, "last");
    progress_fields_text(last, from, "cause", NUMBER_MAX_BYTES);
    progress_fields_text(last, from, "message", MESSAGE_MAX_BYTES);
    json_object_set(restarts, "last", last);
}

static void copy_also(json_t *to, const json_t *from) {
    json_t *also = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)from, name, value) {
        const char *text = json_string_value(value);
        if (json_object_size(also) < ALSO_MAX && strlen(name) <= OTHER_MAX_BYTES && text &&
            strlen(text) <= NUMBER_MAX_BYTES) {
            json_object_set(also, name, value);
        }
    }
    if (json_object_size(also) > 0) {
        json_object_set(to, "also", also);
    }
    json_decref(also);
}

/* Copied as a whole, because it is one text of the hub's. */
static void copy_objective(json_t *status, const json_t *progress) {
    static const char *const numbers[] = {"reports", "step", "otherReports"};
    static const char *const texts[] = {"last", "best", "mean"};
    const json_t *from = json_object_get(progress, "objective");
    const json_t *others = json_object_get(from, "others");
    if (!json_is_object(from)) {
        return;
    }
    json_t *to = json_object(), *names = json_array();
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        progress_fields_number(to, from, numbers[i]);
        progress_fields_text(to, from, texts[i], NUMBER_MAX_BYTES);
    }
    AUTO(curve_release) struct curve curve = curve_read(tree_text(from, "at", ""));
    char at[CURVE_TEXT_MAX];
    curve_write(&curve, at);
    if (*at) {
        json_object_set_new(to, "at", json_string(at));
    }
    for (size_t i = 0; i < json_array_size(others) && json_array_size(names) < OTHERS_MAX; i++) {
        const char *name = json_string_value(json_array_get(others, i));
        if (name && *name && strlen(name) <= OTHER_MAX_BYTES) {
            json_array_append_new(names, json_string(name));
        }
    }
    if (json_array_size(names) > 0) {
        json_object_set(to, "others", names);
    }
    json_decref(names);
    copy_also(to, json_object_get(from, "also"));
    json_object_set_new(status, "objective", to);
}

/* Names with numbers as texts, at most `count`, as in the schema. */
static void copy_named(json_t *status, const json_t *progress, const char *field, size_t count,
                       size_t name_max) {
    json_t *named = json_object(), *value;
    const char *name;
    json_object_foreach(json_object_get(progress, field), name, value) {
        const char *text = json_string_value(value);
        bool fits =
            text && *text && strlen(text) <= NUMBER_MAX_BYTES && *name && strlen(name) <= name_max;
        if (fits && json_object_size(named) < count) {
            json_object_set(named, name, value);
        }
    }
    if (json_object_size(named) > 0) {
        json_object_set(status, field, named);
    }
    json_decref(named);
}

static void copy_percent(json_t *status, const json_t *progress) {
    if (tree_integer(progress, "percent", 101) <= 100) {
        progress_fields_number(status, progress, "percent");
    }
}

static void copy_proof(json_t *status, const json_t *progress) {
    static const char *const ways[] = {"Ranks", "Processes", "Proxies", "Command"};
    const json_t *from = json_object_get(progress, "proof");
    const char *by = tree_text(from, "by", "");
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (strcmp(by, ways[i]) == 0) {
            json_t *proof = json_pack("{s:s}", "by", by);
            progress_fields_number(proof, from, "count");
            progress_fields_text(proof, from, "modelSHA256", SHA256_BYTES);
            progress_fields_text(proof, from, "resultSHA256", SHA256_BYTES);
            progress_fields_text(proof, from, "resultMessage", RESULT_MESSAGE_BYTES);
            json_object_set_new(status, "proof", proof);
        }
    }
}

bool disttrain_loss_has_grown(const char *first, const char *last) {
    char *first_end = NULL, *last_end = NULL;
    double from = first ? strtod(first, &first_end) : 0, to = last ? strtod(last, &last_end) : 0;
    bool are_numbers = first_end != first && last_end != last && !*first_end && !*last_end;
    return are_numbers && to > from;
}

void disttrain_status_live(json_t *status, const json_t *progress) {
    static const char *const texts[] = {"loss", "firstLoss", "accuracy", "samplesPerSecond"};
    static const char *const step[] = {"step", NULL}, *const workers[] = {"registered", "prepared",
                                                                          NULL};
    static const char *const restarts[] = {"counted", "sinceProgress", "disrupted", NULL};
    static const char *const trained[] = {"tensors", "ofTensors", "parameters", "ofParameters",
                                          NULL};
    progress_fields_number(status, progress, "step");
    progress_fields_number(status, progress, "epoch");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        progress_fields_text(status, progress, texts[i], NUMBER_MAX_BYTES);
    }
    progress_fields_text(status, progress, "lastLine", LINE_MAX_BYTES);
    copy_numbers(status, progress, "checkpoint", step);
    copy_numbers(status, progress, "workers", workers);
    copy_numbers(status, progress, "restarts", restarts);
    copy_numbers(status, progress, "trained", trained);
    copy_numbers(status, progress, "badSamples", (const char *const[]){"count", NULL});
    copy_percent(status, progress);
    progress_fields_number(status, progress, "secondsLeft");
    copy_named(status, progress, "losses", LOSSES_MAX, LOSS_NAME_MAX_BYTES);
    copy_named(status, progress, "metrics", METRICS_MAX, METRIC_NAME_MAX_BYTES);
    copy_last(status, progress);
    copy_objective(status, progress);
    copy_proof(status, progress);
    progress_fields_outputs(status, progress);
}

static void set_workers(json_t *status, const struct disttrain_spec *spec, bool none_run) {
    json_t *workers = json_object_get(status, "workers");
    if (!json_is_object(workers)) {
        workers = json_object();
        json_object_set_new(status, "workers", workers);
    }
    if (spec) {
        json_object_set_new(workers, "wanted", json_integer(spec->workers));
    }
    if (none_run) {
        json_object_set_new(workers, "registered", json_integer(0));
        json_object_set_new(workers, "prepared", json_integer(0));
    }
}

json_t *disttrain_status(const json_t *object, const struct disttrain_spec *spec,
                         const struct conditions *conditions, const json_t *progress, int attempt,
                         int64_t now_ms) {
    json_t *status = conditions_status(object, spec ? &spec->job : NULL, conditions, now_ms);
    bool none_run = conditions->state != CONDITIONS_UNDER_WAY || conditions->suspended;
    if (json_is_object(progress)) {
        disttrain_status_live(status, progress);
    }
    if (attempt > tree_integer(status, "attempt", 0)) {
        json_object_set_new(status, "attempt", json_integer(attempt));
    }
    set_workers(status, spec, none_run);
    if (none_run) {
        json_object_del(status, "samplesPerSecond");
        json_object_del(status, "secondsLeft");
    }
    return status;
}

void disttrain_status_wait(json_t *status, const struct gang_wait *wait) {
    const struct {
        const char *name;
        int64_t time_ms;
    } times[] = {{"since", wait->since_ms}, {"againTime", wait->again_ms}};
    json_t *gathering = json_object();
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        char text[21];
        clock_format(times[i].time_ms, text);
        if (times[i].time_ms > 0) {
            json_object_set_new(gathering, times[i].name, json_string(text));
        }
    }
    json_object_del(status, "gathering");
    if (json_object_size(gathering) > 0) {
        json_object_set(status, "gathering", gathering);
    }
    json_decref(gathering);
    if (wait->again_ms > 0) {
        set_workers(status, NULL, true);
        json_object_del(status, "samplesPerSecond");
    }
}

void disttrain_status_last(json_t *status, json_t *last) {
    json_t *restarts = json_object_get(status, "restarts");
    if (!last) {
        return;
    }
    if (!json_is_object(restarts)) {
        restarts = json_object();
        json_object_set_new(status, "restarts", restarts);
    }
    json_object_set_new(restarts, "last", last);
}
