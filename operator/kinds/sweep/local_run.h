/* local_run.h: a Sweep on this machine and in the commands: how many trials there are at once, how
 * far it is, and what is shown of its trials (kinds/kind.h). */
#pragma once

#include "operator/kinds/kind.h"

/* spec.maxConcurrentTrials: as many trials as so many worker processes (as asked, else one per
 * processor) are enough for, at least one, at most what the manifest allows; one at a time where
 * spec.trial.workers depends on a parameter. No trial is deleted before the run ends, whatever its
 * ttlSecondsAfterFinished says: they are shown then. Returns how many worker processes there are at
 * once. */
int64_t sweep_fit(json_t *spec, int64_t asked, int processors);
/* ", 2 run, 1 stopped, best 0.93 (job-0001)". */
void sweep_read_numbers(const json_t *status, struct progress_numbers *numbers);

int sweep_made_table(const json_t *job, const json_t *made, int width, char **ret_text,
                     struct error *err);
int sweep_made_page(const json_t *job, const json_t *made, char **ret_html, struct error *err);
char *sweep_failed_pod(const json_t *job, const json_t *made);
