/* latest_metrics.h: the newest metrics of rank 0 (metric.h) that a job's status shows: epoch, loss,
 * accuracy, samplesPerSecond and checkpoint (its value is a step), how much of the network is
 * trained (windlass.trained.*), bad samples (windlass.badSamples), the losses of several outputs
 * (windlass.losses.NAME) and of the first step (windlass.firstLoss), how far the program says it is
 * (windlass.percent, windlass.secondsLeft), the newest step, and further metrics that a program
 * reports (windlass.metrics.NAME). Pure. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/tree.h"

enum { LATEST_METRICS_COUNT = 13, LATEST_LOSSES_MAX = 8, LATEST_OTHERS_MAX = 16 };
#define LATEST_LOSSES "windlass.losses."  /* then the output's name */
#define LATEST_OTHERS "windlass.metrics." /* then the metric's name */

struct latest_named {
    char name[METRIC_NAME_MAX + 1]; /* with LATEST_LOSSES or LATEST_OTHERS */
    double value;
};

struct latest_metrics { /* {0}: none */
    int64_t step;       /* if has_step */
    double values[LATEST_METRICS_COUNT];
    bool has[LATEST_METRICS_COUNT], has_any, has_step;
    size_t loss_count, other_count; /* further ones are ignored */
    struct latest_named losses[LATEST_LOSSES_MAX], others[LATEST_OTHERS_MAX];
};

/* False: it is not one of these, and was ignored. */
bool latest_metrics_add(struct latest_metrics *latest, const struct metric *metric);
/* The same of a metric that a program reports: what is not one of these is kept as one of
 * LATEST_OTHERS, unless its name is too long for that. */
void latest_metrics_report(struct latest_metrics *latest, const struct metric *metric);
/* The newest metric `checkpoint`: how far what rank 0 has stored has come; 0: none yet. */
int64_t latest_metrics_checkpoint(const struct latest_metrics *latest);
/* Adds them to the answer to GET /progress (operator/kinds/disttrain/status.h). */
void latest_metrics_add_json(const struct latest_metrics *latest, json_t *progress);
/* As lines of metric.h, for a message from a member to the hub; the caller frees. */
char *latest_metrics_write(const struct latest_metrics *latest);
/* Adds the metrics of such lines; others are ignored. */
void latest_metrics_read(struct latest_metrics *latest, const char *lines);
