/* pod.h: what runs in a job's pods. Their job is in the environment (job.h), and each is a file of
 * its own, so that a program has what it needs and no more. */
#pragma once

#include "agent/job.h"

int coordinate_command(int argc, char **argv);
int score_command(int argc, char **argv);
int watch_command(int argc, char **argv);

/* What both do: reads the job, catches signals, runs; returns the exit code. about: for --help. */
int pod_run(int argc, char **argv, const char *about, enum job_role role,
            int (*run)(const struct job *job));
