// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/plan_after.h"

#include "operator/kinds/job/after/after.h"

/* What they have is stored before anything is made of it: so it stays the same whatever becomes of
 * them. */
static void accept(struct job_plan *plan, struct after *after) {
    plan->conditions.after = TAKE(after->values);
    conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Pending",
                   "the jobs of spec.after have succeeded");
    job_plan_wake(plan, plan->now_ms + 1);
}

static void report(struct job_plan *plan, const struct after *after) {
    struct conditions *conditions = &plan->conditions;
    if (after->state == AFTER_FAILED) {
        conditions_set(conditions, CONDITIONS_FAILED, "AfterFailed",
                       "%.590s; correct that, then delete this job and apply it again",
                       after->message);
        return;
    }
    bool is_well = after->state == AFTER_WAITS;
    conditions_set(conditions, CONDITIONS_UNDER_WAY, "AfterWaiting", "%s%s",
                   is_well ? "waits for spec.after: " : "", after->message);
    if (!is_well) {
        const char *why = after->state == AFTER_CIRCLE ? "AfterCircle" : "AfterUnclear";
        conditions_stall(conditions, why, after->message);
    }
}

bool plan_after_waits(struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    if (!after_is_open(object) || tree_get(object, "spec.stop")) {
        return false;
    }
    plan->conditions.is_early = true;
    if (tree_bool(object, "spec.suspend", false)) {
        plan->conditions.suspended = true;
        conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Suspended",
                       "it starts when spec.suspend is false, after the jobs of spec.after");
        return true;
    }
    struct after after;
    after_judge(object, plan->observed->others, &after);
    if (after.state == AFTER_DONE) {
        accept(plan, &after);
    } else {
        report(plan, &after);
    }
    after_release(&after);
    return true;
}
