// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/status_report.h"

#include "lib/buffer.h"
#include "lib/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = (STATUS_REPORT_METRICS_MAX + 2) * (METRIC_TEXT_MAX + 1) };

/* A whole number from 0 on; -1: it is missing. */
static int read_count(const json_t *status, const char *name, int64_t most, int64_t *ret_count,
                      struct error *err) {
    const json_t *value = json_object_get(status, name);
    int64_t count = json_integer_value(value);
    *ret_count = -1;
    if (!value || json_is_null(value)) {
        return 0;
    }
    if (!json_is_integer(value) || count < 0 || count > most) {
        return error_set(err, ERROR_INVALID,
                         "trainerStatus.%s is not a whole number from 0 to %lld", name,
                         (long long)most);
    }
    *ret_count = count;
    return 0;
}

static int check_metrics(const json_t *metrics, struct error *err) {
    if (metrics && !json_is_null(metrics) && !json_is_array(metrics)) {
        return error_set(err, ERROR_INVALID, "trainerStatus.metrics is not a list");
    }
    if (json_array_size(metrics) > STATUS_REPORT_METRICS_MAX) {
        return error_set(err, ERROR_INVALID, "trainerStatus.metrics has more than %d entries",
                         STATUS_REPORT_METRICS_MAX);
    }
    for (size_t i = 0; i < json_array_size(metrics); i++) {
        const json_t *metric = json_array_get(metrics, i);
        if (!*tree_text(metric, "name", "") || !*tree_text(metric, "value", "")) {
            return error_set(err, ERROR_INVALID,
                             "trainerStatus.metrics[%zu] has no name and value, both texts", i);
        }
    }
    return 0;
}

static bool read_value(const json_t *metric, double *ret_value) {
    const char *text = tree_text(metric, "value", "");
    char *end = NULL;
    *ret_value = strtod(text, &end);
    return end != text && !*end;
}

/* False: no metric of that name is a number. */
static bool find_value(const json_t *metrics, const char *name, double *ret_value) {
    const json_t *metric = tree_find(metrics, "name", name);
    return metric && read_value(metric, ret_value);
}

/* -1: it is not given. */
static int64_t find_step(const json_t *metrics) {
    static const char *const names[] = {"current_step", "step"};
    double value = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (find_value(metrics, names[i], &value) && value >= 0 && value < 1e15) {
            return (int64_t)value;
        }
    }
    return -1;
}

static void add_line(struct buffer *lines, const char *name, double value, int64_t step) {
    struct metric metric = {.value = value, .step = step};
    struct error err = {0};
    char text[METRIC_TEXT_MAX];
    if (!metric_is_name(name)) {
        return;
    }
    snprintf(metric.name, sizeof metric.name, "%s", name);
    metric_write(&metric, text);
    if (buffer_printf(lines, &err, "%s\n", text) < 0) {
        abort(); /* there is room for STATUS_REPORT_METRICS_MAX */
    }
}

static bool is_repeated(const json_t *metric, const json_t *before) {
    const json_t *earlier = tree_find(before, "name", tree_text(metric, "name", ""));
    return earlier && strcmp(tree_text(earlier, "value", ""), tree_text(metric, "value", "")) == 0;
}

/* before: NULL: all of them are new. */
static void add_metrics(struct buffer *lines, const json_t *metrics, const json_t *before,
                        int64_t step) {
    static const char *const others[] = {"current_step", "step",        "current_epoch",
                                         "epoch",        "total_steps", "total_epochs"};
    double epoch = 0, value = 0;
    if (find_value(metrics, "current_epoch", &epoch) || find_value(metrics, "epoch", &epoch)) {
        add_line(lines, "epoch", ceil(epoch), step);
    }
    for (size_t i = 0; i < json_array_size(metrics); i++) {
        const json_t *metric = json_array_get(metrics, i);
        const char *name = tree_text(metric, "name", "");
        bool is_own = !text_starts(name, "windlass.");
        for (size_t k = 0; k < ARRAY_LEN(others); k++) {
            is_own &= strcmp(name, others[k]) != 0;
        }
        if (is_own && !is_repeated(metric, before) && read_value(metric, &value)) {
            add_line(lines, name, value, step);
        }
    }
}

void status_report_forget(struct status_report_before *before) {
    json_decref(before->metrics);
    *before = STATUS_REPORT_NOTHING;
}

int status_report_read(const char *body, size_t size, struct status_report_before *before,
                       char **ret_lines, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    AUTO(buffer_release) struct buffer lines;
    int64_t percent = 0, left_s = 0;
    buffer_init(&lines, LINES_MAX);
    if (tree_parse(body, size, STATUS_REPORT_BODY_MAX, &tree, err) < 0) {
        return -1;
    }
    const json_t *status = json_object_get(tree, "trainerStatus");
    json_t *metrics = json_object_get(status, "metrics");
    if (!json_is_object(tree) || (status && !json_is_object(status) && !json_is_null(status))) {
        return error_set(err, ERROR_INVALID, "%s is not an object",
                         json_is_object(tree) ? "trainerStatus" : "the body");
    }
    if (read_count(status, "progressPercentage", 100, &percent, err) < 0 ||
        read_count(status, "estimatedRemainingSeconds", INT32_MAX, &left_s, err) < 0 ||
        check_metrics(metrics, err) < 0) {
        return -1;
    }
    int64_t step = find_step(metrics);
    bool is_further = percent < 0 || percent >= before->percent;
    before->step = step >= 0 || !is_further ? step : before->step;
    before->percent = percent >= 0 ? percent : before->percent;
    if (percent >= 0) {
        add_line(&lines, "windlass.percent", (double)percent, before->step);
    }
    if (left_s >= 0) {
        add_line(&lines, "windlass.secondsLeft", (double)left_s, before->step);
    }
    add_metrics(&lines, metrics, is_further ? before->metrics : NULL, before->step);
    json_decref(before->metrics);
    before->metrics = json_incref(metrics);
    *ret_lines = buffer_take(&lines, NULL);
    return 0;
}
