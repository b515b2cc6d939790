/* run_series.h: how `windlass run` shows a job that makes runs (trigger, schedule, rerun): the
 * progress of the current run, the outcome of each finished run, and the reason for waiting between
 * two runs. */
#pragma once

#include "operator/cluster.h"
#include "operator/control/cache.h"
#include "operator/show/ending.h"
#include "operator/show/progress_line.h"

struct run_series {
    struct ending ending; /* for every run, without name, spec, status and times */
    struct progress_line progress;
    progress_reader *read; /* the kind's; NULL: progress_line_read_items */
    json_t *printed;       /* names of the runs whose end was printed */
    char *shown;           /* the run that `progress` shows */
    char *waits;           /* the reason for waiting that was printed last */
};

/* Shows what has changed. job: as stored. Before the first call set `ending` and `read`; the other
 * fields are zero. */
void run_series_show(struct run_series *series, const struct cluster *cluster,
                     const struct cache *cache, const json_t *job, int64_t now_ms);
/* Erases the line that is redrawn. */
void run_series_clear(struct run_series *series);
void run_series_release(struct run_series *series);
