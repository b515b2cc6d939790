/* local_run.h: a Sweep on this machine and in the commands: the number of concurrent trials, its
 * progress, and how its trials are shown (kinds/kind.h). */
#pragma once

#include "operator/kinds/kind.h"

/* Sets spec.maxConcurrentTrials: as many trials as the worker processes (as asked, or one per
 * processor) are enough for, at least one, at most what the manifest allows; one at a time when
 * spec.trial.workers depends on a parameter. No trial is deleted before the run ends, whatever its
 * ttlSecondsAfterFinished is, because all trials are shown then. Returns how many worker processes
 * run at the same time. */
int64_t sweep_fit(json_t *spec, int64_t asked, int processors);
extern const struct ending_kind sweep_ending;
/* ", 2 run, 1 stopped, best 0.93 (job-0001)". */
void sweep_read_numbers(const json_t *status, struct progress_numbers *numbers);

int sweep_made_table(const json_t *job, const json_t *made, int width, char **ret_text,
                     struct error *err);
int sweep_made_page(const json_t *job, const json_t *made, char **ret_html, struct error *err);
json_t *sweep_made_tree(const json_t *job, const json_t *made);
char *sweep_failed_pod(const json_t *job, const json_t *made);
