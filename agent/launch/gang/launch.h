/* launch.h: the life of a pod of a DistTrain: hub and member in the one of index 0, a member in all
 * others. */
#pragma once

#include "agent/launch/gang/launch_job.h"

/* The exit code: of the job on index 0 (its last words, JSON as GET /progress has it, go to
 * *ret_words, which the caller frees; NULL on others), 0, 130 when told to end, 3 when another pod
 * has taken over or this machine fails. From its call on SIGTERM, SIGINT, SIGHUP and SIGQUIT mean
 * to leave. */
int launch_run(const struct launch_job *job, char **ret_words);
