/* job_list.h: `windlass list`: the runs of this machine, or the jobs of a cluster. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int job_list_command(int argc, char **argv);
