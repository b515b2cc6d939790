/* local_run.h: a DistTrain on this machine and in the commands: its workers, how far it is, which
 * pod it failed by, and how its end is shown (kinds/kind.h). */
#pragma once

#include "operator/kinds/kind.h"

/* spec.workers. What the command line names as ranks (mpirun -np 4) is for so many: it changes only
 * when that is asked for. */
int64_t disttrain_fit(json_t *spec, int64_t asked, int processors);
int64_t disttrain_failed_index(const json_t *status);
void disttrain_print_success(const struct ending *ending);
/* ": 3 of 4 workers", or ": step 1200, epoch 3, loss 0.31" once the program says its steps. */
void disttrain_read_numbers(const json_t *status, struct progress_numbers *numbers);
/* "step 1200"; of a program that says no steps its workers: "3/4". */
char *disttrain_done_column(const json_t *status);
