/* run_fit.h: what the numbers of a spec become where `windlass run` carries it out, on one machine.
 * Each changes the spec. */
#pragma once

#include "lib/tree.h"

#define RUN_FIT_UNASKED INT64_MIN /* the command's option was not given */
enum { RUN_FIT_GPUS_MAX = 16 };   /* as in the schema */

/* spec.workers.min and max, of a BatchScore: as asked, else what the manifest allows, at most one
 * per processor. All start at once, whatever workers.min says: the machine has nothing else to do
 * while the coordinator lists the input, so they come up and read the model meanwhile. Returns how
 * many. */
int64_t run_fit_workers(json_t *spec, int64_t asked, int processors);
/* spec.workers of a DistTrain. What the command says of its ranks (mpirun -np 4) is for so many:
 * nobody changes it unasked. */
int64_t run_fit_gang(json_t *spec, int64_t asked);
/* spec.maxConcurrentTrials of a Sweep: as many trials as so many worker processes (as asked, else
 * one per processor) are enough for, at least one, at most what the manifest allows; one at a time
 * where spec.trial.workers depends on a parameter. No trial is deleted before the run ends,
 * whatever its ttlSecondsAfterFinished says: they are shown then. Returns how many worker processes
 * there are at once. */
int64_t run_fit_sweep(json_t *spec, int64_t asked, int processors);
/* spec.workers.gpus: as asked, else the manifest's. Where it wants some, nobody asked, the scorer
 * is a network and this machine has no GPU, it becomes 0, and standard error is told so: the same
 * manifest runs on a laptop. A GPU without its driver or libraries is the worker's to complain of.
 * Several workers, as run_fit_workers made them before, have some each where the machine has as
 * many (`there`; 0: not known): then true is returned. Else all use the same ones, which is said,
 * too. Without GPUs there is no precision. */
bool run_fit_gpus(json_t *spec, int64_t asked, size_t there, const char *job);
