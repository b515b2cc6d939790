/* figures.h: the newest metrics of rank 0 (metric.h) that a job's status shows: epoch, loss,
 * accuracy, samplesPerSecond, checkpoint (the value: its step), and the step of the last one. Pure.
 */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/tree.h"

enum { FIGURES_KINDS = 5 };

struct figures { /* {0}: none */
    int64_t step;
    double values[FIGURES_KINDS];
    bool has[FIGURES_KINDS], has_any, has_step;
};

/* False: not one of these. */
bool figures_add(struct figures *figures, const struct metric *metric);
/* Adds them to the answer to GET /progress (operator/kinds/disttrain/status.h). */
void figures_tell(const struct figures *figures, json_t *progress);
/* Lines as metric.h has them, from one agent to the hub's; the caller frees. */
char *figures_write(const struct figures *figures);
void figures_read(struct figures *figures, const char *lines);
