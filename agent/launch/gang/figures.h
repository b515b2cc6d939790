/* figures.h: the newest of the figures that a job's status shows, of all that its rank 0 says
 * (metric.h): epoch, loss, accuracy, samplesPerSecond, checkpoint (the value: its step), and the
 * step of the last one. Pure. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/tree.h"

enum { FIGURES_KINDS = 5 };

struct figures { /* {0}: none */
    int64_t step;
    double values[FIGURES_KINDS];
    bool has[FIGURES_KINDS], has_any, has_step;
};

/* False: it is none of these. */
bool figures_add(struct figures *figures, const struct metric *metric);
/* Into what GET /progress says (operator/kinds/disttrain/status.h). */
void figures_tell(const struct figures *figures, json_t *progress);
/* Lines as metric.h has them, from one agent to the hub's; the caller frees. */
char *figures_write(const struct figures *figures);
void figures_read(struct figures *figures, const char *lines);
