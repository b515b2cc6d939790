/* metric.h: one value of a training's metric (loss, accuracy), as a rank reports it, and its text
 * form "RANK NAME VALUE STEP". How it gets to the agent of the pod: metric_socket.h. Pure. */
#pragma once

#include "lib/base.h"

enum { METRIC_NAME_MAX = 63 /* bytes */, METRIC_TEXT_MAX = 160 /* bytes, NUL included */ };

struct metric {
    int rank;
    char name[METRIC_NAME_MAX + 1]; /* letters, digits, "_", ".", "-", "/", "@", "=" */
    double value;                   /* may be NaN or infinite */
    int64_t step;                   /* of the training; -1: not given */
};

bool metric_is_name(const char *name);
/* Writes the text form, without a newline. The value keeps all its bits. */
void metric_write(const struct metric *metric, char text[static METRIC_TEXT_MAX]);
/* False: the text is not a metric. */
bool metric_read(const char *text, struct metric *ret_metric);
/* Reads the next of these lines that is a metric, and moves *lines behind it. False: none is left.
 * *lines may be NULL. */
bool metric_next(const char **lines, struct metric *ret_metric);
