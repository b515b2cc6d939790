/* work.h: what of a DistTrain's spec the agent reads, and the hash that names a run. Pure. */
#pragma once

#include "operator/kinds/disttrain/spec.h"

/* WINDLASS_SPEC, owned by the caller: workers, minWorkers, slotsPerWorker, gpus, launcher, command,
 * prepare, inputs, outputs, logs, metrics, restart and trainer as they stand in the spec, with
 * every default filled in: minWorkers is workers, restart.hangSeconds 300 of a trainer and else 0.
 * Of environment and secrets, where there are any, the variables' names alone: ["NAME", ...]; what
 * they hold the pod has in its own. */
json_t *work_of_disttrain(const json_t *spec);
/* Ranks of each worker: of a trainer with gpus one for each, else slotsPerWorker. */
int disttrain_slots(const json_t *spec);

/* RUN: 16 hexadecimal digits over what decides what is trained: of a trainer all but what only says
 * how fast (checkpoint, fusionBufferMB, timeline); of a command that, prepare, inputs, outputs and
 * environment; and what the volumes are that these name. Never how many workers there are. */
void work_run_disttrain(const struct disttrain_spec *spec, const json_t *folders,
                        char ret_run[static 17]);
