// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/metric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 1 << 20 };

static const char letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/@=";

void metric_write(const struct metric *metric, char text[static METRIC_TEXT_MAX]) {
    snprintf(text, METRIC_TEXT_MAX, "%d %s %.17g %lld", metric->rank, metric->name, metric->value,
             (long long)metric->step);
}

bool metric_is_name(const char *name) {
    size_t size = strspn(name, letters);
    return size >= 1 && size <= METRIC_NAME_MAX && !name[size];
}

bool metric_read(const char *text, struct metric *ret_metric) {
    struct metric metric = {0};
    char *end = NULL;
    long rank = strtol(text, &end, 10);
    if (end == text || *end != ' ' || rank < 0 || rank >= RANKS_MAX) {
        return false;
    }
    const char *name = end + 1;
    size_t size = strspn(name, letters);
    if (size < 1 || size > METRIC_NAME_MAX || name[size] != ' ') {
        return false;
    }
    const char *value = name + size + 1;
    metric.value = strtod(value, &end);
    if (end == value || *end != ' ') {
        return false;
    }
    const char *step = end + 1;
    errno = 0;
    metric.step = strtoll(step, &end, 10);
    if (end == step || errno || metric.step < -1 || (*end && strcmp(end, "\n") != 0)) {
        return false;
    }
    metric.rank = (int)rank;
    memcpy(metric.name, name, size);
    *ret_metric = metric;
    return true;
}

bool metric_next(const char **lines, struct metric *ret_metric) {
    bool found = false;
    while (!found && *lines && **lines) {
        size_t size = strcspn(*lines, "\n");
        AUTO(text_freep) char *line = x_strndup(*lines, size);
        found = metric_read(line, ret_metric);
        *lines += size + ((*lines)[size] == '\n');
    }
    return found;
}
