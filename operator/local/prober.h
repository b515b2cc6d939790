/* prober.h: liveness probes, as a kubelet makes them: of a pod's first container, by httpGet or by
 * exec, a command that must end with 0 (probe_exec.h) within timeoutSeconds. A pod that does not
 * answer failureThreshold times in a row is reported once, and its caller ends it.
 *
 *     local.c -- add, remove --> prober -- GET 127.0.0.1:PORT/healthz --> the pod's event loop
 *        ^                         |
 *        +---- `dead` (uid) -------+  from prober_step
 *
 * A kubelet's rules: the first probe after initialDelaySeconds and a period, any certificate is
 * accepted, a status from 200 to 399 is an answer, the next probe a period after the last one began
 * or, if that took longer, at once. Unlike a kubelet, the prober is itself stopped at times
 * (Ctrl-Z, a laptop's lid): if it has not run for PROBER_GAP_MS all counts begin anew. For one
 * thread; nothing blocks. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"
#include "operator/local/probe_exec.h"

enum { PROBER_GAP_MS = 5000 };

struct prober;

/* why: one line. The pod is not probed any more. */
typedef void prober_dead(void *context, const char *uid, const char *why);

NODISCARD int prober_open(prober_dead *dead, void *context, struct prober **ret_prober,
                          struct error *err);
void prober_free(struct prober *prober); /* accepts NULL */

/* Probes this pod, which has just been started, if its first container has a livenessProbe with
 * httpGet or exec; another one is ignored. place: for exec; NULL: that is ignored, too. now_ms:
 * clock_monotonic_ms. */
void prober_add(struct prober *prober, const json_t *pod, const struct probe_place *place,
                int64_t now_ms);
void prober_remove(struct prober *prober, const char *uid);

/* The processes of commands that run now: children of this process that are not orphans. Returns
 * how many; at most `room` are stored. */
size_t prober_pids(const struct prober *prober, pid_t *pids, size_t room);

/* Reads answers and starts the probes that are due. */
NODISCARD int prober_step(struct prober *prober, int64_t now_ms, struct error *err);
/* The latest time for the next step; INT64_MAX: not before prober_fd is readable. */
int64_t prober_next_ms(const struct prober *prober);
int prober_fd(const struct prober *prober);
