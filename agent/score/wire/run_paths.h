/* run_paths.h: the targets of those paths of a BatchScore's spec that may change while a run
 * goes on: links and `latest` (moving_paths.h). The first coordinator of a run resolves them and
 * stores them in the run's file; later ones read them there, and workers ask their coordinator. So
 * a network that is registered during the run changes nothing. */
#pragma once

#include "agent/job.h"

/* Resolves them now; owned by the caller. */
NODISCARD int run_paths_find(const json_t *spec, json_t **ret_paths, struct error *err);
/* Replaces the paths in the spec by their targets. */
void run_paths_apply(json_t *spec, const json_t *paths);
