/* hub_progress.h: asks a job's hub, the pod behind its Service, how far it is. Never waits: answers
 * come by the poller (control/poller.h), and begin a pass of their own. */
#pragma once

#include "operator/kinds/job/reconcile/reconcile.h"

/* The hub's last answer, owned by the caller. NULL without a valid one: the hub may be starting,
 * gone or unreachable, and a plan then uses only the pods. service: known to be the job's, or NULL
 * if there is none; pods: an array. */
json_t *hub_progress_ask(const struct job_ops *ops, struct reconcile *request,
                         const json_t *service, const json_t *pods);
