/* run_children.h: how `windlass run` shows the jobs that a job has made (a sweep's trials): as a
 * table, and as a page next to their logs. */
#pragma once

#include "operator/cluster.h"
#include "operator/control/cache.h"
#include "operator/kinds/kinds.h"

/* Zero-initialized. All members are owned. */
struct run_children {
    char *table;      /* NULL: nothing to show yet */
    char *page;       /* its path; NULL: there is none, or it could not be written */
    json_t *tree;     /* for the page of `windlass ui`; NULL: the same */
    char *failed_pod; /* the first pod of the job that failed last; NULL: none failed */
};

/* Reads the current state of the jobs that were made, and writes the page to the folder. job: as
 * stored, or NULL. Errors are printed to standard error and do not fail the run. */
void run_children_update(struct run_children *children, const struct cluster *cluster,
                         const struct cache *cache, const json_t *job, const char *folder);
void run_children_release(struct run_children *children);
