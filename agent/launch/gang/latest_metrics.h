/* latest_metrics.h: the newest metrics of rank 0 (metric.h) that a job's status shows: epoch, loss,
 * accuracy, samplesPerSecond and checkpoint (its value is a step), how much of the network is
 * trained (windlass.trained.*), bad samples (windlass.badSamples), the losses of several outputs
 * (windlass.losses.NAME) and of the first step (windlass.firstLoss), and the newest step. Pure. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/tree.h"

enum { LATEST_METRICS_COUNT = 11, LATEST_LOSSES_MAX = 8 };
#define LATEST_LOSSES "windlass.losses." /* then the output's name */

struct latest_metrics { /* {0}: none */
    int64_t step;       /* if has_step */
    double values[LATEST_METRICS_COUNT];
    bool has[LATEST_METRICS_COUNT], has_any, has_step;
    size_t loss_count; /* further ones are ignored */
    struct {
        char name[METRIC_NAME_MAX + 1]; /* with LATEST_LOSSES */
        double value;
    } losses[LATEST_LOSSES_MAX];
};

/* False: it is not one of these, and was ignored. */
bool latest_metrics_add(struct latest_metrics *latest, const struct metric *metric);
/* The newest metric `checkpoint`: how far what rank 0 has stored has come; 0: none yet. */
int64_t latest_metrics_checkpoint(const struct latest_metrics *latest);
/* Adds them to the answer to GET /progress (operator/kinds/disttrain/status.h). */
void latest_metrics_add_json(const struct latest_metrics *latest, json_t *progress);
/* As lines of metric.h, for a message from a member to the hub; the caller frees. */
char *latest_metrics_write(const struct latest_metrics *latest);
/* Adds the metrics of such lines; others are ignored. */
void latest_metrics_read(struct latest_metrics *latest, const char *lines);
