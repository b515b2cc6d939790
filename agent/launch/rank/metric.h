/* metric.h: a figure of a training (loss, accuracy) as one of its ranks reports it, and its text
 * "RANK NAME VALUE STEP". How it gets to the agent of the pod: metric_socket.h. Pure. */
#pragma once

#include "lib/base.h"

enum { METRIC_NAME_MAX = 63, METRIC_TEXT_MAX = 160 };

struct metric {
    int rank;
    char name[METRIC_NAME_MAX + 1]; /* letters, digits, "_", ".", "-", "/", "@", "=" */
    double value;                   /* may be NaN or infinite */
    int64_t step;                   /* -1: not given */
};

bool metric_is_name(const char *name);
/* A datagram, or one line of several. The value keeps all its bits. */
void metric_write(const struct metric *metric, char text[static METRIC_TEXT_MAX]);
/* False: text is not a metric. */
bool metric_read(const char *text, struct metric *ret_metric);
