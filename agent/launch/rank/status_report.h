/* status_report.h: what a program posts about its training by the status protocol of Kubeflow
 * Trainer v2 (status_server.h), as lines of metric.h. Pure.
 *
 *   {"trainerStatus": {"progressPercentage": 42, "estimatedRemainingSeconds": 120,
 *    "metrics": [{"name": "loss", "value": "0.123"}], "lastUpdatedTime": "2026-11-30T10:00:00Z"}}
 *
 * All fields are optional, and others are ignored. The lines have rank 0, and these names:
 * progressPercentage is windlass.percent, estimatedRemainingSeconds windlass.secondsLeft; metrics
 * keep theirs. A metric current_step, or step, is the step of all lines; current_epoch, or epoch,
 * is rounded up to the pass that is under way and named epoch. total_steps, total_epochs, values
 * that are not numbers and invalid names (metric.h) are left out.
 *
 * Hugging Face's callback posts every 5 s all that was logged last, so a metric whose value has the
 * text that it had in the post before does not count as a report, and is left out, too. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/error.h"
#include "lib/tree.h"

enum {
    STATUS_REPORT_BODY_MAX = 64 << 10, /* bytes, as Kubeflow's server takes */
    STATUS_REPORT_METRICS_MAX = 256,   /* as its schema has it */
};

/* What a training has posted last: STATUS_REPORT_NOTHING before the first time. A post without a
 * step, such as the last one, is of the step before it. If the percentage is lower, that is another
 * start: the step before and the metrics before do not count. */
struct status_report_before {
    int64_t percent, step; /* -1: not known */
    json_t *metrics;       /* owned; NULL: none */
};
#define STATUS_REPORT_NOTHING ((struct status_report_before){-1, -1, NULL})
/* Makes it STATUS_REPORT_NOTHING. */
void status_report_forget(struct status_report_before *before);

/* The caller frees *ret_lines, which may be "". INVALID: names the field, and *before is unchanged.
 */
NODISCARD int status_report_read(const char *body, size_t size, struct status_report_before *before,
                                 char **ret_lines, struct error *err);
