/* run_sweep.h: what `windlass run` has of a Sweep besides the job itself: the definition its trials
 * are made by, and, when it has come to an end, what is to be looked at: a table of the trials and
 * sweep.html beside their logs. */
#pragma once

#include "operator/cluster.h"
#include "operator/commands/ending.h"
#include "operator/control/cache.h"
#include "operator/kinds/sweep/reconcile.h"

struct run_sweep {
    struct schema *train; /* DistTrain's definition */
    struct sweep_options options;
    /* Of the end: */
    char *table;      /* NULL: there is nothing to be seen yet */
    char *page;       /* the path of sweep.html; NULL: it could not be written */
    char *failed_pod; /* the first of the trial that failed last; NULL: none did */
};

/* Zero before. */
NODISCARD int run_sweep_open(struct run_sweep *sweep, struct error *err);
/* Looks at the trials as they are now, and writes sweep.html into the folder. sweep: as it is
 * stored. What fails is told on standard error: the work is done all the same. */
void run_sweep_update(struct run_sweep *sweep, const struct cluster *cluster,
                      const struct cache *cache, const json_t *object, const char *folder);
/* The outcome with the table; returns the exit code. */
int run_sweep_print(const struct run_sweep *sweep, const struct ending *ending);
/* Of one that was interrupted: what there is to look at. */
void run_sweep_print_page(const struct run_sweep *sweep);
void run_sweep_release(struct run_sweep *sweep);
