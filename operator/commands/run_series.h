/* run_series.h: what `windlass run` shows of a job that makes runs (trigger, schedule, rerun): the
 * progress of the one that is under way, the outcome of each that has ended, and what is waited for
 * in between. */
#pragma once

#include "operator/cluster.h"
#include "operator/control/cache.h"
#include "operator/show/ending.h"
#include "operator/show/progress.h"

struct run_series {
    struct ending ending; /* of every run: all but name, spec, status and times */
    struct progress progress;
    progress_reader *read; /* the kind's; NULL: progress_read_items */
    json_t *told;          /* names of runs whose end was told */
    char *shown;           /* the run that `progress` is about */
    char *waits;           /* what is waited for, as it was last told */
};

/* job: as it is stored. A series begins with all but `ending` zero. */
void run_series_show(struct run_series *series, const struct cluster *cluster,
                     const struct cache *cache, const json_t *job, int64_t now_ms);
/* Erases what is redrawn. */
void run_series_clear(struct run_series *series);
void run_series_release(struct run_series *series);
