/* metric_scan.h: finds the metrics in a line of a program's output where the job has no
 * spec.metrics.pattern: every NAME=VALUE and NAME: VALUE, as loggers, progress bars and printed
 * dictionaries write them:
 *
 *   accuracy=0.91          loss: 1e-3            INFO loss=0.7         INFO:root:loss=0.7
 *   epoch=1 loss=0.2       loss = 0.4            Epoch 3 - loss: 0.52 - acc: 0.8
 *   {"loss": 0.3}          {'loss': 0.3, 'lr': 1e-4}                   [loss: 0.3, acc: 0.8]
 *
 * A line {"name": "loss", "value": 0.3, "step": 7} is that one metric (metric_line.h). VALUE is a
 * decimal number, nan or inf, and ends before a space, a closing bracket, "|", ";", or a comma that
 * no digit follows: "0.5%", "0.5s", "3/10", "1,234" and "12:30:45" are not values. Escape sequences
 * of a terminal are skipped. If a name occurs twice in a line, the last value counts. Pure. */
#pragma once

#include "agent/launch/rank/metric.h"

enum { METRIC_SCAN_MAX = 32 /* of a line; the names after them are not read */ };

/* line: at most METRIC_LINE_MAX bytes (metric_line.h), NUL-terminated. Returns how many were found.
 * Their rank is 0; their step is -1 (not given), but that of a JSON line. */
size_t metric_scan(const char *line, struct metric ret_found[static METRIC_SCAN_MAX]);
