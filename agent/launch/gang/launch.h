/* launch.h: runs a pod of a DistTrain: hub and member in the pod of index 0, a member in all
 * others. */
#pragma once

#include "agent/launch/gang/launch_job.h"

/* Returns the exit code: the job's on index 0, else 0; 130 after a signal to end; 3 when another
 * pod has taken over or this machine fails. *ret_words: on index 0 the termination message, JSON as
 * in GET /progress, which the caller frees; else NULL. It installs handlers of SIGTERM, SIGINT,
 * SIGHUP and SIGQUIT, which make the pod leave. */
int launch_run(const struct launch_job *job, char **ret_words);
