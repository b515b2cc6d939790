// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_row.h"

#include "lib/time/clock.h"
#include "operator/commands/ui/ui_text.h"
#include "operator/kinds/kinds.h"
#include "operator/object.h"

#include <string.h>

enum { SHORT_MAX = 64, MESSAGE_MAX = 160, AFTER_MAX = 8 };

static bool is_one_of(const char *word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

const char *ui_row_tone(const json_t *status) {
    static const char *const stopped[] = {"Suspended", "Cancelled", "Interrupted"};
    static const char *const waiting[] = {"Pending", "Scheduled", "Armed"};
    const json_t *condition = object_succeeded(status);
    const char *value = tree_text(condition, "status", "Unknown"), *state = object_state(status);
    if (strcmp(value, "True") == 0) {
        return "good";
    }
    if (is_one_of(state, stopped, ARRAY_LEN(stopped))) {
        return "stopped";
    }
    bool waits = strcmp(state, tree_text(condition, "reason", "Pending")) != 0;
    return strcmp(value, "False") == 0                              ? "bad"
           : waits || is_one_of(state, waiting, ARRAY_LEN(waiting)) ? "wait"
                                                                    : "busy";
}

/* In seconds; -1: unknown. */
static json_t *seconds(const char *given, const json_t *status, const char *member) {
    int64_t ms = clock_parse(given ? given : tree_text(status, member, ""));
    return json_integer(ms < 0 ? -1 : ms / 1000);
}

/* NULL: none. */
static json_t *after_of(const struct ui_job *job) {
    const json_t *entries = tree_get(job->job, "spec.after");
    json_t *list = json_array();
    const char *name;
    json_t *id;
    json_object_foreach((json_t *)job->earlier, name, id) {
        AUTO(text_freep) char *key = x_printf("run/%.200s", json_string_value(id));
        if (json_array_size(list) < AFTER_MAX) {
            json_array_append_new(list, ui_text(key, UI_TEXT_MESSAGE));
        }
    }
    for (size_t i = 0; !job->earlier && i < json_array_size(entries) && i < AFTER_MAX; i++) {
        const json_t *entry = json_array_get(entries, i);
        AUTO(text_freep)
        char *key =
            x_printf("%.63s/%.63s", tree_text(entry, "kind", ""), tree_text(entry, "name", ""));
        json_array_append_new(list, ui_text(key, UI_TEXT_MESSAGE));
    }
    if (json_array_size(list) == 0) {
        json_decref(TAKE(list));
    }
    return list ? list : json_null();
}

json_t *ui_row(const struct ui_job *job) {
    const json_t *status = json_object_get(job->job, "status");
    const struct kind_row *kind = kinds_of(job->job);
    struct progress_numbers numbers = {.left_s = -1};
    (kind->read_progress ? kind->read_progress : progress_line_read_items)(status, &numbers);
    const char *said = tree_text(status, "progress", "");
    const char *rate = numbers.rate ? numbers.rate : tree_text(status, "samplesPerSecond", "");
    json_t *row = json_array();
    json_array_append_new(row, json_string(job->key));
    json_array_append_new(row, ui_text(job->place, UI_TEXT_NAME));
    json_array_append_new(row, ui_text_at(job->job, "metadata.name", UI_TEXT_NAME));
    json_array_append_new(row, json_string(kind->loop->name));
    json_array_append_new(row, ui_text(object_state(status), SHORT_MAX));
    json_array_append_new(row, json_string(ui_row_tone(status)));
    json_array_append_new(row, json_integer(numbers.done));
    json_array_append_new(row, json_integer(numbers.total));
    json_array_append_new(row, ui_text(*numbers.place ? numbers.place : said, SHORT_MAX));
    json_array_append_new(row, ui_text(rate, SHORT_MAX));
    json_array_append_new(row, json_integer(numbers.left_s));
    json_array_append_new(row, seconds(job->start, status, "startTime"));
    json_array_append_new(row, seconds(job->end, status, "completionTime"));
    json_array_append_new(row, json_integer(numbers.retried + numbers.restarts));
    json_array_append_new(row, ui_text_at(status, "requests.cost", SHORT_MAX));
    json_array_append_new(row, ui_text_at(object_succeeded(status), "message", MESSAGE_MAX));
    json_array_append_new(row, after_of(job));
    return row;
}
