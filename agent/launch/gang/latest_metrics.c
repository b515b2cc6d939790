// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/latest_metrics.h"

#include <stdio.h>
#include <string.h>

enum {
    NAMED_MAX = LATEST_LOSSES_MAX + LATEST_OTHERS_MAX,
    TEXT_MAX = (LATEST_METRICS_COUNT + NAMED_MAX) * METRIC_TEXT_MAX
};

static const struct {
    const char *name;
    bool is_integer;
    const char *part, *field; /* where it is shown, if not under its name; part NULL: as field */
} kinds[LATEST_METRICS_COUNT] = {
    {"epoch", true, NULL, NULL},
    {"loss", false, NULL, NULL},
    {"accuracy", false, NULL, NULL},
    {"samplesPerSecond", false, NULL, NULL},
    {"checkpoint", true, "checkpoint", "step"},
    {"windlass.firstLoss", false, NULL, "firstLoss"},
    {"windlass.badSamples", true, "badSamples", "count"},
    {"windlass.percent", true, NULL, "percent"},
    {"windlass.secondsLeft", true, NULL, "secondsLeft"},
    {"windlass.trained.tensors", true, "trained", "tensors"},
    {"windlass.trained.ofTensors", true, "trained", "ofTensors"},
    {"windlass.trained.parameters", true, "trained", "parameters"},
    {"windlass.trained.ofParameters", true, "trained", "ofParameters"},
};

static void note(struct latest_metrics *latest, const struct metric *metric) {
    latest->has_any = true;
    latest->has_step |= metric->step >= 0;
    latest->step = metric->step >= 0 ? metric->step : latest->step;
}

/* A list of metrics that have a name each. */
struct named_list {
    const char *prefix, *field; /* of the names; where they are shown */
    struct latest_named *items;
    size_t *count, max;
};

enum { LISTS = 2 };

static void find_lists(struct latest_metrics *latest, struct named_list lists[static LISTS]) {
    lists[0] = (struct named_list){LATEST_LOSSES, "losses", latest->losses, &latest->loss_count,
                                   LATEST_LOSSES_MAX};
    lists[1] = (struct named_list){LATEST_OTHERS, "metrics", latest->others, &latest->other_count,
                                   LATEST_OTHERS_MAX};
}

static bool add_named(const struct named_list *list, const struct metric *metric) {
    size_t i = 0, prefix = strlen(list->prefix);
    if (strncmp(metric->name, list->prefix, prefix) != 0 || !metric->name[prefix]) {
        return false;
    }
    while (i < *list->count && strcmp(list->items[i].name, metric->name) != 0) {
        i++;
    }
    if (i == list->max) {
        return false;
    }
    snprintf(list->items[i].name, sizeof list->items[i].name, "%s", metric->name);
    list->items[i].value = metric->value;
    *list->count = MAX(*list->count, i + 1);
    return true;
}

bool latest_metrics_add(struct latest_metrics *latest, const struct metric *metric) {
    for (size_t i = 0; i < LATEST_METRICS_COUNT; i++) {
        bool is_whole = metric->value >= 0 && metric->value < 1e15;
        if (strcmp(metric->name, kinds[i].name) == 0 && (is_whole || !kinds[i].is_integer)) {
            latest->values[i] = metric->value;
            latest->has[i] = true;
            note(latest, metric);
            return true;
        }
    }
    struct named_list lists[LISTS];
    find_lists(latest, lists);
    for (size_t i = 0; i < LISTS; i++) {
        if (add_named(&lists[i], metric)) {
            note(latest, metric);
            return true;
        }
    }
    return false;
}

void latest_metrics_report(struct latest_metrics *latest, const struct metric *metric) {
    struct metric other = *metric;
    int size = snprintf(other.name, sizeof other.name, LATEST_OTHERS "%s", metric->name);
    if (!latest_metrics_add(latest, metric) && size < (int)sizeof other.name &&
        !text_starts(metric->name, "windlass.")) {
        latest_metrics_add(latest, &other);
    }
}

int64_t latest_metrics_checkpoint(const struct latest_metrics *latest) {
    for (size_t i = 0; i < LATEST_METRICS_COUNT; i++) {
        if (strcmp(kinds[i].name, "checkpoint") == 0 && latest->has[i]) {
            return (int64_t)latest->values[i];
        }
    }
    return 0;
}

static json_t *part_of(json_t *progress, const char *name) {
    if (!json_object_get(progress, name)) {
        json_object_set_new(progress, name, json_object());
    }
    return json_object_get(progress, name);
}

static void add_named_json(const struct named_list *list, json_t *progress) {
    for (size_t i = 0; i < *list->count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.6g", list->items[i].value);
        json_object_set_new(part_of(progress, list->field),
                            list->items[i].name + strlen(list->prefix), json_string(text));
    }
}

void latest_metrics_add_json(const struct latest_metrics *latest, json_t *progress) {
    if (latest->has_step) {
        json_object_set_new(progress, "step", json_integer(latest->step));
    }
    for (size_t i = 0; i < LATEST_METRICS_COUNT; i++) {
        char text[32];
        json_int_t whole =
            latest->has[i] && kinds[i].is_integer ? (json_int_t)latest->values[i] : 0;
        snprintf(text, sizeof text, "%.6g", latest->values[i]);
        if (!latest->has[i]) {
            continue;
        }
        if (kinds[i].part) {
            json_object_set_new(part_of(progress, kinds[i].part), kinds[i].field,
                                json_integer(whole));
        } else {
            json_object_set_new(progress, kinds[i].field ? kinds[i].field : kinds[i].name,
                                kinds[i].is_integer ? json_integer(whole) : json_string(text));
        }
    }
    struct named_list lists[LISTS];
    find_lists((struct latest_metrics *)latest, lists);
    for (size_t i = 0; i < LISTS; i++) {
        add_named_json(&lists[i], progress);
    }
}

static size_t write_line(const struct latest_metrics *latest, const char *name, double value,
                         char line[static METRIC_TEXT_MAX + 1]) {
    struct metric metric = {.value = value, .step = latest->has_step ? latest->step : -1};
    char text[METRIC_TEXT_MAX];
    snprintf(metric.name, sizeof metric.name, "%s", name);
    metric_write(&metric, text);
    return (size_t)snprintf(line, METRIC_TEXT_MAX + 1, "%s\n", text);
}

static size_t write_named(const struct latest_metrics *latest, const struct named_list *list,
                          char *lines) {
    size_t size = 0;
    for (size_t i = 0; i < *list->count; i++) {
        size += write_line(latest, list->items[i].name, list->items[i].value, lines + size);
    }
    return size;
}

char *latest_metrics_write(const struct latest_metrics *latest) {
    char lines[TEXT_MAX + 1] = "";
    size_t size = 0;
    for (size_t i = 0; i < LATEST_METRICS_COUNT; i++) {
        if (latest->has[i]) {
            size += write_line(latest, kinds[i].name, latest->values[i], lines + size);
        }
    }
    struct named_list lists[LISTS];
    find_lists((struct latest_metrics *)latest, lists);
    for (size_t i = 0; i < LISTS; i++) {
        size += write_named(latest, &lists[i], lines + size);
    }
    return x_strdup(lines);
}

void latest_metrics_read(struct latest_metrics *latest, const char *lines) {
    struct metric metric;
    while (metric_next(&lines, &metric)) {
        latest_metrics_add(latest, &metric);
    }
}
