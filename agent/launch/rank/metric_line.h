/* metric_line.h: finds metrics in what a program writes: lines of its standard output that match
 * the pattern of spec.metrics, and lines of its JSON-lines file. Results have rank 0; the step is
 * -1 if there is none. Pure. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/text/pattern.h"

enum {
    METRIC_LINE_MAX = 4096, /* bytes; a longer line is skipped */
    METRIC_GROUPS_MIN = 2,  /* of a pattern: name and value; a third one is the step */
};

/* In place of a pattern: the usual forms (metric_scan.h). */
#define METRIC_PATTERN_NONE ""

/* Matches one line: group 1 is the name, 2 the value, 3 (if it matched) the step. The value must be
 * a number and nothing else ("0.5%" is not). False: not a metric. */
bool metric_line_find(const struct pattern *pattern, const char *line, struct metric *ret_metric);
/* {"name": "accuracy", "value": 0.91, "step": 7}. The value may be a text (as "nan"), the step may
 * be missing, and other fields are ignored. False: not a metric. */
bool metric_line_read_json(const char *line, size_t size, struct metric *ret_metric);
