// SPDX-License-Identifier: Apache-2.0
/* A line of a program, by the pattern before it (up to the first newline), in the usual forms and
 * as JSON: a metric is a metric again when written. An accepted pattern costs little time and
 * memory. */
#include "agent/launch/rank/metric_line.h"
#include "agent/launch/rank/metric_scan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_one, const struct metric *metric) {
    char text[METRIC_TEXT_MAX];
    struct metric again;
    if (is_one) {
        metric_write(metric, text);
        if (!metric_read(text, &again) || again.step != metric->step ||
            strcmp(again.name, metric->name) != 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    char *newline = strchr(text, '\n');
    const char *line = newline ? newline + 1 : text;
    struct error err = {0};
    struct pattern *pattern = NULL;
    struct metric metric;
    if (newline) {
        *newline = 0;
    }
    if (strlen(line) > METRIC_LINE_MAX) {
        return 0;
    }
    struct metric found[METRIC_SCAN_MAX];
    size_t count = metric_scan(line, found);
    for (size_t i = 0; i < count; i++) {
        check(true, &found[i]);
    }
    if (pattern_new(newline ? text : "(a+)=(.*)", METRIC_GROUPS_MIN, &pattern, &err) == 0) {
        check(metric_line_find(pattern, line, &metric), &metric);
        pattern_free(pattern);
    } else if (err.kind != ERROR_INVALID || !err.text[0]) {
        abort();
    }
    check(metric_line_read_json(line, strlen(line), &metric), &metric);
    return 0;
}
