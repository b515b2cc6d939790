/* member.h: a pod of a gang: registers with the hub, prepares, and starts and stops programs as the
 * hub says. It runs in every pod; in the pod of index 0 beside the hub. The calling thread starts
 * the programs, which die with it. */
#pragma once

#include "agent/launch/gang/hub.h"
#include "agent/launch/gang/launch_job.h"

#include <signal.h>

/* Runs until the end. *ret_code: 0; on index 0 the job's code; 3: another pod has taken over, or
 * the hub gives way; 130: stopped by a signal. hub: of index 0, else NULL. */
NODISCARD int member_run(const struct launch_job *job, struct hub *hub,
                         const volatile sig_atomic_t *is_interrupted, int *ret_code,
                         struct error *err);
