/* local_run.h: a BatchScore on this machine: the number of its workers and GPUs, and the text at
 * its end (kinds/kind.h). Each fit changes the spec. */
#pragma once

#include "operator/kinds/kind.h"

/* Sets spec.workers.min and max: as asked, or what the manifest allows, at most one per processor.
 * All workers start at once, whatever workers.min is: the machine is idle while the coordinator
 * lists the input, so they start and read the model meanwhile. Returns how many. */
int64_t batchscore_fit(json_t *spec, int64_t asked, int processors);
/* Sets spec.workers.gpus: as asked, or the manifest's. When the manifest wants GPUs, none were
 * asked for, the scorer is a network and this machine has no GPU, it becomes 0 with a message on
 * standard error, so that the same manifest runs on a laptop. A worker itself reports a GPU without
 * driver or libraries. Several workers, as set by batchscore_fit before, get GPUs of their own when
 * the machine has enough (`there`; 0: unknown): then true is returned. Otherwise all share the same
 * GPUs, with a message on standard error. A manifest that wanted GPUs loses its
 * precision without them. */
bool batchscore_fit_gpus(json_t *spec, int64_t asked, size_t there, const char *job);
/* Refuses model servers of several workers that would have one port. */
NODISCARD int batchscore_check_fit(const json_t *spec, struct error *err);
/* Changes the spec of a series to that of its first run, now; other jobs stay unchanged. */
NODISCARD int batchscore_take_one_run(json_t *object, const struct job_options *options,
                                      struct error *err);
extern const struct ending_kind batchscore_ending;
/* The counters of items, and how many mini-batches were tried again. */
void batchscore_read_numbers(const json_t *status, struct progress_numbers *numbers);
