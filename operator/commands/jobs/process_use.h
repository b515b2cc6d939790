/* process_use.h: what the processes of a run of this machine use, by pod, from /proc. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

#include <sys/types.h>

/* {POD: {"ms": processor time of its living processes, "bytes": their memory, "count"}}, owned. A
 * process belongs to the pod in whose folder STATE/pods/POD its oldest ancestor below `run` was
 * started. */
NODISCARD int process_use_read(pid_t run, const char *state, json_t **ret_use, struct error *err);
