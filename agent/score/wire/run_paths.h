/* run_paths.h: the paths of a BatchScore's spec that may lead elsewhere (moving_paths.h). The
 * coordinator resolves them, or finds in the run's file what they led to when the run began; it
 * stores them there, and its workers ask for them before they open anything: a network that is
 * registered while the run goes on changes nothing. */
#pragma once

#include "agent/job.h"

/* As of now; owned by the caller. */
NODISCARD int run_paths_find(const json_t *spec, json_t **ret_paths, struct error *err);
/* From here on the spec names what the paths led to. */
void run_paths_apply(json_t *spec, const json_t *paths);
