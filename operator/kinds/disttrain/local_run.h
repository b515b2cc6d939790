/* local_run.h: a DistTrain on this machine and in the commands: its workers, its progress, the pod
 * that made it fail, and the text at its end (kinds/kind.h). */
#pragma once

#include "operator/kinds/kind.h"

/* Sets spec.workers to `asked`, and returns it. KIND_UNSET: the manifest's number stays, whatever
 * the number of processors, since a command line that names the ranks (mpirun -np 4) fits only it.
 */
int64_t disttrain_fit(json_t *spec, int64_t asked, int processors);
/* The index of the pod because of which the last round ended; 0 if it is not known. */
int64_t disttrain_failed_index(const json_t *status);
extern const struct ending_kind disttrain_ending;
/* ": 3 of 4 workers", or ": step 1200, epoch 3, loss 0.31" once the program reports its steps. */
void disttrain_read_numbers(const json_t *status, struct progress_numbers *numbers);
/* "step 1200"; for a program that does not report steps, its workers: "3/4". */
char *disttrain_done_column(const json_t *status);
