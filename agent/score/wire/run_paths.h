/* run_paths.h: the targets of those paths of a BatchScore's spec that may change while a run
 * goes on: links and `latest` (moving_paths.h). The first coordinator of a run resolves them and
 * stores them in the run's file; later ones read them there, and workers ask their coordinator. So
 * a network that is registered during the run, or a tag that is moved, changes nothing. */
#pragma once

#include "agent/job.h"

/* Resolves them now; owned by the caller. */
NODISCARD int run_paths_find(const json_t *spec, json_t **ret_paths, struct error *err);
/* Whether one of them is of a file that was published (published.h), which always has a target:
 * workers ask the coordinator, and no registry. Pure. */
bool run_paths_has_published(const json_t *spec);
/* Replaces the paths in the spec by their targets. */
void run_paths_apply(json_t *spec, const json_t *paths);
