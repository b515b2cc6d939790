/* service_selector.h: the selector, type and port of a job's Service. Somebody who changes them
 * separates the job's pods, or leads them to a pod that is not the job's. They are put right by the
 * Service's uid and version: at once for the first time; then, if it is changed again and again or
 * cannot be changed, more and more rarely (retry_delay.h), until ten minutes have passed without a
 * change. An Event says so, and another one why the cluster refuses it. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/reconcile/retry_delay.h"

enum { SERVICE_SELECTOR_FORGET_MS = 600000 };

/* Of one job; zero at first. */
struct service_selector {
    struct retry_delay delay; /* by changes that were asked for */
    int64_t changed_ms;       /* when it was last seen to differ; monotonic */
    char *refused;            /* the cluster's answer, until an Event says so; owned; NULL: none */
};

void service_selector_release(struct service_selector *selector);

/* In each pass. service: the job's, as the cache has it; NULL: none. May ask for a write
 * (CLUSTER_MERGE) and an Event. */
void service_selector_settle(struct reconcile *request, struct service_selector *selector,
                             const struct owned_hub *hub, const json_t *service);
/* After a write of the job. */
void service_selector_note(struct service_selector *selector, const struct written *written);
