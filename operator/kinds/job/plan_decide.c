// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan_decide.h"

/* A job that has ended keeps, for a while, the logs that explain its end. */
static void decide_finished(struct job_plan *job, const struct job_plan_ops *ops) {
    bool succeeded = false, is_over = job_plan_is_over(job, &succeeded);
    ops->clean_up(job, succeeded, is_over);
    job_plan_remove_service(job);
}

static void decide_under_way(struct job_plan *job, const struct job_plan_ops *ops,
                             const char **ret_needs) {
    job->is_changed = !job->spec || job_plan_spec_changed(job);
    ops->verdict(job);
    if (job->conditions.reason) {
        return;
    }
    AUTO(text_freep) char *how_far = ops->how_far(job);
    switch (job_plan_course(job, how_far, ret_needs)) {
    case JOB_PLAN_SUSPEND:
        ops->suspend(job);
        break;
    case JOB_PLAN_MAKE:
        ops->pods(job);
        job->conditions.pods_requested = ops->has_hub(job) || json_array_size(job->create) > 0;
        job_plan_report_write_failures(job, ops->is_running(job));
        break;
    case JOB_PLAN_WAIT:
        job_plan_report_write_failures(job, ops->is_running(job));
        break;
    case JOB_PLAN_HOLD:
        break;
    }
}

static int decide_unfinished(struct job_plan *job, const struct job_plan_ops *ops,
                             json_t **ret_result, struct error *err) {
    const json_t *object = job->observed->object;
    struct error problem = {0};
    const char *needs = NULL;
    bool is_readable = ops->read_spec(job, &problem) == 0;
    bool is_known = is_readable || tree_get(object, "status.credentials");
    if (!is_readable && problem.kind != ERROR_INVALID) {
        *err = problem;
        return -1;
    }
    if (is_readable) {
        job_plan_pin(job);
    }
    if (ops->divert && ops->divert(job, is_known)) {
        /* the kind has decided */
    } else if (is_known) {
        decide_under_way(job, ops, &needs);
    } else {
        conditions_set(&job->conditions, CONDITIONS_FAILED, "SpecInvalid", "%s", problem.text);
    }
    if (job->conditions.state != CONDITIONS_UNDER_WAY) {
        ops->clean_up(job, job->conditions.state == CONDITIONS_SUCCEEDED, false);
    }
    job_plan_conclude(job);
    /* A specHash in the status fixes the spec; a spec that was changed before that can still be
     * restored. */
    bool is_open = job->is_changed && job->conditions.state == CONDITIONS_UNDER_WAY;
    *ret_result = job_plan_result(job, ops->status(job, is_open ? job->stored : object), needs);
    return 0;
}

int job_plan_decide(struct job_plan *job, const struct job_plan_ops *ops,
                    const struct job_observed *observed, int64_t now_ms, json_t **ret_result,
                    struct error *err) {
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
    *ret_result = job_plan_result(job, conditions_seen(object), NULL);
    return 0;
}
