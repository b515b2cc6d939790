// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/latest_metrics.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = (LATEST_METRICS_COUNT + LATEST_LOSSES_MAX) * METRIC_TEXT_MAX };

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

static bool add_loss(struct latest_metrics *latest, const struct metric *metric) {
    size_t i = 0, prefix = strlen(LATEST_LOSSES);
    if (strncmp(metric->name, LATEST_LOSSES, prefix) != 0 || !metric->name[prefix]) {
        return false;
    }
    while (i < latest->loss_count && strcmp(latest->losses[i].name, metric->name) != 0) {
        i++;
    }
    if (i == LATEST_LOSSES_MAX) {
        return false;
    }
    snprintf(latest->losses[i].name, sizeof latest->losses[i].name, "%s", metric->name);
    latest->losses[i].value = metric->value;
    latest->loss_count = MAX(latest->loss_count, i + 1);
    note(latest, metric);
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
    return add_loss(latest, metric);
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
    for (size_t i = 0; i < latest->loss_count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.6g", latest->losses[i].value);
        json_object_set_new(part_of(progress, "losses"),
                            latest->losses[i].name + strlen(LATEST_LOSSES), json_string(text));
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

char *latest_metrics_write(const struct latest_metrics *latest) {
    char lines[TEXT_MAX + 1] = "";
    size_t size = 0;
    for (size_t i = 0; i < LATEST_METRICS_COUNT; i++) {
        if (latest->has[i]) {
            size += write_line(latest, kinds[i].name, latest->values[i], lines + size);
        }
    }
    for (size_t i = 0; i < latest->loss_count; i++) {
        size += write_line(latest, latest->losses[i].name, latest->losses[i].value, lines + size);
    }
    return x_strdup(lines);
}

void latest_metrics_read(struct latest_metrics *latest, const char *lines) {
    struct metric metric;
    while (metric_next(&lines, &metric)) {
        latest_metrics_add(latest, &metric);
    }
}
