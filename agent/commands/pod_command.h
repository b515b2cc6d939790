/* pod_command.h: the commands that run in a job's pods. The job is in the environment (job.h). Each
 * command is in a separate file, so that a program links only what it needs. */
#pragma once

#include "agent/job.h"
#include "lib/options.h"

int coordinate_command(int argc, char **argv);
int score_command(int argc, char **argv);
int watch_command(int argc, char **argv);

/* Shared by these commands: reads the job, installs the signal handlers, calls `run` and returns
 * the exit code. about: for --help. */
int pod_command_run(int argc, char **argv, const char *about, enum job_role role,
                    int (*run)(const struct job *job));
/* For commands whose job is WINDLASS_SPEC alone: reads it. -1: *ret_spec is set, the caller owns
 * it; otherwise the exit code, after --help or an error. */
int pod_command_read_spec(int argc, char **argv, const struct command_help *help,
                          json_t **ret_spec);
