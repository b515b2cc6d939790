/* metric_line.h: finds metrics in a program's output: lines of its standard output that match the
 * pattern of spec.metrics, and lines of its JSON-lines file. Pure. Fields that are missing are 0,
 * the step -1. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/text/pattern.h"

enum {
    METRIC_LINE_MAX = 4096, /* bytes; a longer line is skipped */
    METRIC_GROUPS_MIN = 2,  /* of a pattern: name and value; the step may be the third */
};

/* Where none is given: "accuracy=0.91", "loss: 1e-3". */
#define METRIC_PATTERN "^([A-Za-z_][A-Za-z0-9_.@=/-]*)[=:] *([-+0-9.eE]+|[-+]?nan|[-+]?inf)$"

/* By name, value and, if there is a third group that took part, step. A number with something
 * around it ("0.5%") is not a value. */
bool metric_line_find(const struct pattern *pattern, const char *line, struct metric *ret_metric);
/* {"name": "accuracy", "value": 0.91, "step": 7}: the value may be a text ("nan", too), the step be
 * left out, and other fields are passed over. */
bool metric_line_read_json(const char *line, size_t size, struct metric *ret_metric);
