/* plan.h: what a DistTrain should look like now. PURE: every decision is a row in
 * tests/data/plan-dt/. What all kinds share, and the result: kinds/job/plan.h.
 *
 * A gang is all pods at once: NAME-0, the hub, decides when the program starts, why it failed and
 * when it is over (agent/launch/gang/gang.h); the plan makes pods, replaces what is gone, and takes
 * them all away at the end. */
#pragma once

#include "operator/kinds/job/plan.h"

/* What the controller has seen of one DistTrain. All borrowed. */
struct disttrain_observed {
    struct job_observed job;
    const char *not_yet; /* what this version does not carry out of it; NULL: all is well */
};

extern const struct job_words disttrain_words;

/* The result is owned by the caller. */
NODISCARD int disttrain_plan(const struct disttrain_observed *observed, int64_t now_ms,
                             json_t **ret_result, struct error *err);
