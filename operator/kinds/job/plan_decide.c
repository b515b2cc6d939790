// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan_decide.h"

#include "operator/kinds/job/after/plan_after.h"
#include "operator/kinds/job/guard/job_policy.h"
#include "operator/kinds/job/plan_phases.h"
#include "operator/kinds/job/spec.h"

#include <string.h>

/* A job that has ended keeps, for a while, the logs that explain its end. */
static void decide_finished(struct job_plan *job, const struct job_plan_ops *ops) {
    bool succeeded = false, is_over = job_plan_check_ttl(job, &succeeded);
    ops->clean_up(job, succeeded, is_over);
    job_plan_remove_misplaced(job);
    job_plan_remove_service(job);
}

/* A change that is not accepted, once. */
static void report_change(struct job_plan *job) {
    const char *fields = job->observed->changed_fields;
    const json_t *before = conditions_find(job->observed->object, "SpecChanged");
    if (!fields || !*fields) {
        return;
    }
    conditions_note_change(&job->conditions, fields);
    if (strcmp(tree_text(before, "status", ""), "True") != 0) {
        job_plan_report(job, "Warning", "SpecChanged", "%s", job->conditions.spec_changed);
    }
}

/* Whether nothing speaks against the spec: job->problem otherwise. */
static bool read_spec(struct job_plan *job, const struct job_plan_ops *ops) {
    const struct job_options *options = job->observed->options;
    if (ops->read_spec(job, &job->problem) < 0) {
        return false;
    }
    job->is_refused = job_policy_check(options ? options->policy : NULL, job->observed->object,
                                       &job->problem) < 0;
    return !job->is_refused;
}

static int decide_unfinished(struct job_plan *job, const struct job_plan_ops *ops,
                             struct plan_result *ret_result, struct error *err) {
    const json_t *object = job->observed->object;
    bool is_right = read_spec(job, ops);
    if (!is_right && job->problem.kind != ERROR_INVALID) {
        *err = job->problem;
        return -1;
    }
    bool has_begun = tree_get(object, ops->begun) != NULL;
    if (is_right && !has_begun && plan_after_waits(job)) {
        /* it says so */
    } else if (is_right || has_begun) {
        ops->go_on(job);
    } else {
        conditions_set(&job->conditions, CONDITIONS_FAILED, "SpecInvalid", "%s", job->problem.text);
    }
    report_change(job);
    if (job->conditions.state != CONDITIONS_UNDER_WAY) {
        ops->clean_up(job, job->conditions.state == CONDITIONS_SUCCEEDED, false);
        job_plan_remove_misplaced(job);
    }
    ops->conclude(job);
    /* A specHash in the status fixes the spec; a spec that was changed before that can still be
     * restored. */
    bool is_open = job->is_changed && job->conditions.state == CONDITIONS_UNDER_WAY;
    job_plan_finish(job, ops->status(job, is_open ? job->stored : object), ret_result);
    return 0;
}

int job_plan_decide(struct job_plan *job, const struct job_plan_ops *ops,
                    const struct job_observed *observed, int64_t now_ms,
                    struct plan_result *ret_result, struct error *err) {
    const json_t *object = observed->object;
    bool is_leaving = tree_get(object, "metadata.deletionTimestamp") != NULL;
    bool is_finished = conditions_is_finished(object);
    job_plan_init(job, observed, ops->words, !is_leaving && !is_finished, now_ms);
    ops->read(job);
    if (is_leaving) {
        ops->clean_up(job, false, false);
    } else if (is_finished) {
        decide_finished(job, ops);
    } else {
        return decide_unfinished(job, ops, ret_result, err);
    }
    job_plan_finish(job, conditions_for_new_generation(object), ret_result);
    return 0;
}
