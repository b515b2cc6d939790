// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/metric_line.h"

#include "lib/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 64 };

static bool copy_part(const char *line, struct pattern_part part, char *text, size_t size) {
    size_t length = part.start >= 0 ? (size_t)(part.end - part.start) : 0;
    if (length < 1 || length >= size) {
        return false;
    }
    memcpy(text, line + part.start, length);
    text[length] = 0;
    return true;
}

static bool read_value(const char *text, double *ret_value) {
    char *end = NULL;
    double value = strtod(text, &end);
    *ret_value = value;
    return end != text && !*end;
}

static bool read_step(const char *text, int64_t *ret_step) {
    char *end = NULL;
    errno = 0;
    int64_t step = strtoll(text, &end, 10);
    *ret_step = step;
    return end != text && !*end && !errno && step >= 0;
}

bool metric_line_find(const struct pattern *pattern, const char *line, struct metric *ret_metric) {
    struct pattern_part parts[PATTERN_GROUPS_MAX + 1];
    struct metric metric = {.step = -1};
    char value[VALUE_MAX], step[VALUE_MAX];
    if (!pattern_find(pattern, line, parts) ||
        !copy_part(line, parts[1], metric.name, sizeof metric.name) ||
        !metric_is_name(metric.name) || !copy_part(line, parts[2], value, sizeof value) ||
        !read_value(value, &metric.value)) {
        return false;
    }
    if (copy_part(line, parts[3], step, sizeof step) && !read_step(step, &metric.step)) {
        return false;
    }
    *ret_metric = metric;
    return true;
}

/* Python writes NaN, Infinity and -Infinity, which are not JSON; they are converted to strings. */
static size_t quote_words(const char *line, size_t size, char quoted[static 2 * METRIC_LINE_MAX]) {
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    size_t used = 0;
    bool is_text = false;
    for (size_t i = 0; i < size;) {
        size_t length = 1;
        for (size_t k = 0; k < ARRAY_LEN(words) && !is_text; k++) {
            size_t all = strlen(words[k]);
            length = all <= size - i && memcmp(line + i, words[k], all) == 0 ? all : length;
        }
        bool is_escaped = is_text && line[i] == '\\' && i + 1 < size;
        length += is_escaped;
        is_text ^= line[i] == '"';
        if (length > 1 && !is_escaped) {
            quoted[used++] = '"';
        }
        memcpy(quoted + used, line + i, length);
        used += length;
        if (length > 1 && !is_escaped) {
            quoted[used++] = '"';
        }
        i += length;
    }
    return used;
}

bool metric_line_read_json(const char *line, size_t size, struct metric *ret_metric) {
    struct error ignored = {0};
    struct metric metric = {.step = -1};
    char quoted[2 * METRIC_LINE_MAX];
    AUTO(tree_freep) json_t *tree = NULL;
    if (size > METRIC_LINE_MAX ||
        tree_parse(quoted, quote_words(line, size, quoted), sizeof quoted, &tree, &ignored) < 0) {
        return false;
    }
    const char *name = tree_text(tree, "name", "");
    const json_t *value = json_object_get(tree, "value"), *step = json_object_get(tree, "step");
    if (!metric_is_name(name)) {
        return false;
    }
    snprintf(metric.name, sizeof metric.name, "%s", name);
    metric.value = json_number_value(value);
    if (!json_is_number(value) &&
        (!json_is_string(value) || !read_value(json_string_value(value), &metric.value))) {
        return false;
    }
    if (json_is_integer(step) && json_integer_value(step) >= 0) {
        metric.step = json_integer_value(step);
    } else if (step && !json_is_null(step)) {
        return false;
    }
    *ret_metric = metric;
    return true;
}
