/* plan_gang.h: the part of plan.c that reads a gang's pods and decides about them. Pure. */
#pragma once

#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/status.h"

struct gang {
    struct job_plan job;
    struct disttrain_spec spec;
    const char *not_yet;
    const struct life *hub; /* the newest pod of index 0; NULL: none */
};

/* Fills in lives, hub and progress. */
void gang_read(struct gang *gang);
/* The verdict of a hub that ended, or of an index whose pods die too often, if there is one. */
void gang_verdict(struct gang *gang);
/* What runs, what is missing; what the job says. */
void gang_pods(struct gang *gang);
/* Deletes what lives, and what is not worth keeping: of a success all but the hub's pod; everything
 * when all is true. */
void gang_clean_up(struct gang *gang, bool succeeded, bool all);
bool gang_is_running(const struct gang *gang);
