/* launch.h: runs a pod of a DistTrain: hub and member in the pod of index 0, a member in all
 * others. */
#pragma once

#include "agent/launch/gang/launch_job.h"

/* Returns the pod's exit code: 0 (on index 0 the job's code); 130 after a signal; 3 if another pod
 * has taken over or this machine fails. *ret_message: on index 0 the termination message, JSON as
 * in GET /progress, which the caller frees; else NULL. Installs handlers of SIGTERM, SIGINT, SIGHUP
 * and SIGQUIT, which make the pod leave. */
int launch_run(const struct launch_job *job, char **ret_message);
