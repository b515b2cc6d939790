/* plan.h: the desired state of a DistTrain. Pure: every decision is a row in tests/data/plan-dt/.
 * The part that all kinds share, and the result, are in kinds/job/plan.h.
 *
 * All pods of a gang exist at the same time. NAME-0, the hub, decides when the program starts, why
 * it failed and when it is over (agent/launch/gang/gang.h). The plan creates pods, replaces those
 * that are gone, and deletes all of them at the end. */
#pragma once

#include "operator/kinds/job/plan.h"

/* What the controller has observed of one DistTrain. All borrowed. */
struct disttrain_observed {
    struct job_observed job;
};

extern const struct job_words disttrain_words;

/* The result is owned by the caller. */
NODISCARD int disttrain_decide(const struct disttrain_observed *observed, int64_t now_ms,
                               struct plan_result *ret_result, struct error *err);
