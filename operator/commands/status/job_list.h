/* job_list.h: `windlass list`: the runs of this machine, or the jobs of a cluster. */
#pragma once

#include "lib/error.h"

/* Returns the exit code (docs/errors.md). */
int job_list_command(int argc, char **argv);
/* Prints the newest run of each name on this machine. */
NODISCARD int job_list_here(struct error *err);
