// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/figures.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = FIGURES_KINDS * METRIC_TEXT_MAX };

static const struct {
    const char *name;
    bool is_integer;
} kinds[FIGURES_KINDS] = {{"epoch", true},
                          {"loss", false},
                          {"accuracy", false},
                          {"samplesPerSecond", false},
                          {"checkpoint", true}};

bool figures_add(struct figures *figures, const struct metric *metric) {
    for (size_t i = 0; i < FIGURES_KINDS; i++) {
        bool is_whole = metric->value >= 0 && metric->value < 1e15;
        if (strcmp(metric->name, kinds[i].name) == 0 && (is_whole || !kinds[i].is_integer)) {
            figures->values[i] = metric->value;
            figures->has[i] = figures->has_any = true;
            figures->has_step |= metric->step >= 0;
            figures->step = metric->step >= 0 ? metric->step : figures->step;
            return true;
        }
    }
    return false;
}

void figures_tell(const struct figures *figures, json_t *progress) {
    if (figures->has_step) {
        json_object_set_new(progress, "step", json_integer(figures->step));
    }
    for (size_t i = 0; i < FIGURES_KINDS; i++) {
        char text[32];
        json_int_t whole =
            figures->has[i] && kinds[i].is_integer ? (json_int_t)figures->values[i] : 0;
        snprintf(text, sizeof text, "%.6g", figures->values[i]);
        if (!figures->has[i]) {
            continue;
        }
        if (strcmp(kinds[i].name, "checkpoint") == 0) {
            json_object_set_new(progress, kinds[i].name, json_pack("{s:I}", "step", whole));
        } else {
            json_object_set_new(progress, kinds[i].name,
                                kinds[i].is_integer ? json_integer(whole) : json_string(text));
        }
    }
}

char *figures_write(const struct figures *figures) {
    char lines[TEXT_MAX] = "";
    size_t size = 0;
    for (size_t i = 0; i < FIGURES_KINDS; i++) {
        struct metric metric = {.value = figures->values[i],
                                .step = figures->has_step ? figures->step : -1};
        char text[METRIC_TEXT_MAX];
        if (figures->has[i]) {
            snprintf(metric.name, sizeof metric.name, "%s", kinds[i].name);
            metric_write(&metric, text);
            size += (size_t)snprintf(lines + size, sizeof lines - size, "%s\n", text);
        }
    }
    return x_strdup(lines);
}

void figures_read(struct figures *figures, const char *lines) {
    for (const char *at = lines; at && *at;) {
        size_t size = strcspn(at, "\n");
        AUTO(text_freep) char *line = x_strndup(at, size);
        struct metric metric;
        if (metric_read(line, &metric)) {
            figures_add(figures, &metric);
        }
        at += size + (at[size] == '\n');
    }
}
