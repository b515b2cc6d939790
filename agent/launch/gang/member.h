/* member.h: a pod of a gang: it registers with the hub, prepares, and starts and ends what the hub
 * says. In every pod, in the one of index 0 beside the hub. The thread that calls it starts the
 * programs, which die with it. */
#pragma once

#include "agent/launch/gang/hub.h"
#include "agent/launch/gang/launch_job.h"

#include <signal.h>

/* Until the end: 0; on index 0 the job's code; 3: another pod has its place, or the hub gives way;
 * 130: told to stop. hub: of index 0, else NULL. */
NODISCARD int member_run(const struct launch_job *job, struct hub *hub,
                         const volatile sig_atomic_t *is_interrupted, int *ret_code,
                         struct error *err);
