/* work.h: the agent's part of a DistTrain's spec, and the hash that names a run. Pure. */
#pragma once

#include "operator/kinds/disttrain/spec.h"

/* WINDLASS_SPEC, owned by the caller: workers, minWorkers, slotsPerWorker, gpus, launcher, command,
 * prepare, inputs, outputs, logs, metrics, restart and trainer from the spec, with every default
 * filled in: minWorkers is workers, restart.hangSeconds is 300 with a trainer and otherwise 0.
 * environment and secrets, if any, are reduced to the variables' names: ["NAME", ...]; the pod's
 * own environment has their values. */
json_t *disttrain_work(const json_t *spec);
/* Ranks of each worker: for a trainer with gpus one per GPU, otherwise slotsPerWorker. */
int disttrain_slots(const json_t *spec);

/* RUN: 16 hexadecimal digits over everything that decides the result: of a trainer all fields but
 * those that only affect speed (checkpoint, fusionBufferMB, timeline); of a command the command,
 * prepare, inputs, outputs and environment; and the identities of the volumes that these use. The
 * number of workers is never part of it. */
void disttrain_work_run(const struct disttrain_spec *spec, const json_t *folders,
                        char ret_run[static 17]);
