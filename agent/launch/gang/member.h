/* member.h: the agent of one pod of a gang: connects to the hub, runs spec.prepare, and starts and
 * stops the pod's programs as the hub says. Every pod has one; in the pod of index 0 it runs beside
 * the hub. The kernel kills the programs if the thread that called member_run ends. */
#pragma once

#include "agent/launch/gang/hub.h"
#include "agent/launch/gang/launch_job.h"

#include <signal.h>

/* Blocks until the job or the pod ends. hub: in the pod of index 0, else NULL. *is_interrupted: set
 * by a signal handler when the pod must leave. *ret_code: the exit code of the pod: 0 (on index 0
 * the job's); 1: the hub refused the token; 3: another pod has taken over; 130: interrupted. Fails
 * if this machine fails. */
NODISCARD int member_run(const struct launch_job *job, struct hub *hub,
                         const volatile sig_atomic_t *is_interrupted, int *ret_code,
                         struct error *err);
