/* local_run.h: a BatchScore on this machine: how many workers and GPUs it gets, and how its end is
 * shown (kinds/kind.h). Each fit changes the spec. */
#pragma once

#include "operator/kinds/kind.h"

/* spec.workers.min and max: as asked, else what the manifest allows, at most one per processor. All
 * start at once, whatever workers.min says: the machine has nothing else to do while the
 * coordinator lists the input, so they come up and read the model meanwhile. Returns how many. */
int64_t batchscore_fit(json_t *spec, int64_t asked, int processors);
/* spec.workers.gpus: as asked, else the manifest's. Where it wants some, nothing was asked, the
 * scorer is a network and this machine has no GPU, it becomes 0, and standard error says so: the
 * same manifest runs on a laptop. A GPU without its driver or libraries is the worker's to complain
 * of. Several workers, as batchscore_fit made them before, have some each where the machine has as
 * many (`there`; 0: not known): then true is returned. Else all use the same ones, which standard
 * error says, too. Without GPUs there is no precision. */
bool batchscore_fit_gpus(json_t *spec, int64_t asked, size_t there, const char *job);
/* The spec of a series becomes that of its first run, now; of another job nothing changes. */
NODISCARD int batchscore_take_one_run(json_t *object, const struct job_options *options,
                                      struct error *err);
void batchscore_print_success(const struct ending *ending);
