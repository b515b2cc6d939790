/* run_made.h: what `windlass run` shows of the jobs that a job has made (a sweep's trials): a
 * table, and a page beside their logs. */
#pragma once

#include "operator/cluster.h"
#include "operator/control/cache.h"
#include "operator/kinds/kinds.h"

/* Zero before. All owned. */
struct run_made {
    char *table;      /* NULL: there is nothing to be seen yet */
    char *page;       /* its path; NULL: there is none, or it could not be written */
    char *failed_pod; /* the first of the one that failed last; NULL: none did */
};

/* Reads what was made as it is now, and writes the page into the folder. job: as it is stored, or
 * NULL. What fails goes to standard error: the work is done all the same. */
void run_made_update(struct run_made *made, const struct cluster *cluster,
                     const struct cache *cache, const json_t *job, const char *folder);
void run_made_release(struct run_made *made);
