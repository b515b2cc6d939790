// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/plan.h"

#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/batchscore/series.h"

#include <string.h>

static const char *const warnings[] = {"ImagePullFailed",
                                       "VolumeFailed",
                                       "ConfigFailed",
                                       "OutOfMemory",
                                       "Denied",
                                       "QuotaExceeded",
                                       "NameTaken",
                                       "Unreachable",
                                       "CRDOutdated",
                                       "WaitingForOldPod",
                                       "ObjectRefused",
                                       "ScheduleInvalid",
                                       NULL};

const struct job_words batchscore_words = {
    .definition = "batchscores.windlass.dev",
    .file = "crds/batchscore.yaml",
    .hub = {.suffix = "coordinator", .role = "coordinator"},
    .warnings = warnings,
};

static void release(struct plan *plan) {
    plan_release(&plan->job);
    batchscore_spec_release(&plan->spec);
}

/* What a job that has ended leaves: the logs that tell why, for a while. */
static void plan_finished(struct plan *plan) {
    bool succeeded = false, is_over = plan_is_over(&plan->job, &succeeded);
    plan_clean_up(plan, succeeded, is_over);
    plan_remove_service(&plan->job);
}

static long long count_items(const struct plan *plan, const char *which) {
    AUTO(text_freep) char *now = x_printf("items.%s", which);
    AUTO(text_freep) char *before = x_printf("status.items.%s", which);
    return tree_integer(plan->job.progress, now,
                        tree_integer(plan->job.observed->object, before, 0));
}

static void suspend(struct plan *plan) {
    plan_clean_up(plan, false, false);
    plan->job.conditions.suspended = true;
    if (count_items(plan, "total") > 0) {
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Suspended",
                       "%lld of %lld items are done; it goes on when spec.suspend is false",
                       count_items(plan, "done"), count_items(plan, "total"));
    } else {
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Suspended",
                       "it starts when spec.suspend is false");
    }
}

static void plan_under_way(struct plan *plan, const char **ret_needs) {
    struct job_plan *job = &plan->job;
    job->is_changed = !job->spec || plan_spec_changed(job);
    plan_verdict(plan);
    if (job->conditions.reason) {
        return;
    }
    AUTO(text_freep)
    char *how_far = x_printf("%lld of %lld items are done", count_items(plan, "done"),
                             count_items(plan, "total"));
    switch (plan_course(job, how_far, ret_needs)) {
    case PLAN_COURSE_SUSPEND:
        suspend(plan);
        break;
    case PLAN_COURSE_MAKE:
        plan_pods(plan);
        job->conditions.pods_requested = plan->coordinator || json_array_size(job->create) > 0;
        plan_report_write_failures(job, plan_has_running_worker(plan));
        break;
    case PLAN_COURSE_WAIT:
        plan_report_write_failures(job, plan_has_running_worker(plan));
        break;
    case PLAN_COURSE_HOLD:
        break;
    }
}

/* A series never ends; what the cluster will not take stalls it. */
static void plan_runs(struct plan *plan) {
    struct conditions *conditions = &plan->job.conditions;
    plan_series(plan);
    if (plan_is_outdated(&plan->job)) {
        return;
    }
    plan_report_write_failures(&plan->job, plan_has_running_worker(plan));
    if (conditions->state == CONDITIONS_FAILED) {
        conditions->state = CONDITIONS_UNDER_WAY;
        conditions_stall(conditions, conditions->reason, conditions->message);
    }
}

static int plan_unfinished(struct plan *plan, json_t **ret_result, struct error *err) {
    struct job_plan *job = &plan->job;
    const json_t *object = job->observed->object;
    struct error problem = {0};
    const char *needs = NULL;
    bool readable =
        batchscore_spec_read(object, job->observed->options, &plan->spec, &problem) == 0;
    if (!readable && problem.kind != ERROR_INVALID) {
        *err = problem;
        return -1;
    }
    if (readable) {
        job->spec = &plan->spec.job;
        plan_pin(job);
    }
    if (readable && plan->is_series) {
        plan_runs(plan);
    } else if (readable || tree_get(object, "status.credentials")) {
        plan_under_way(plan, &needs);
    } else {
        conditions_set(&job->conditions, CONDITIONS_FAILED, "SpecInvalid", "%s", problem.text);
    }
    if (job->conditions.state != CONDITIONS_UNDER_WAY) {
        plan_clean_up(plan, job->conditions.state == CONDITIONS_SUCCEEDED, false);
    }
    plan_conclude(job);
    /* specHash in the status closes the spec: one that was changed before can still be put back. */
    bool is_open = job->is_changed && job->conditions.state == CONDITIONS_UNDER_WAY;
    json_t *status = status_next(is_open ? job->stored : object, readable ? &plan->spec : NULL,
                                 &job->conditions, job->progress, job->now_ms);
    *ret_result = plan_result(job, status, needs);
    return 0;
}

int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms, json_t **ret_result,
                    struct error *err) {
    AUTO(release)
    struct plan plan = {.runs = observed->runs, .schedule = observed->schedule};
    const json_t *object = observed->job.object;
    bool is_leaving = tree_get(object, "metadata.deletionTimestamp") != NULL;
    bool is_finished = conditions_is_finished(object);
    plan_init(&plan.job, &observed->job, &batchscore_words, !is_leaving && !is_finished, now_ms);
    /* One that has begun goes on as what it was, and says that its spec was changed. */
    plan.is_series = series_is(plan.job.observed->object) &&
                     !tree_get(plan.job.observed->object, "status.credentials");
    plan_read_pods(&plan);
    if (is_leaving) {
        plan_clean_up(&plan, false, false);
    } else if (is_finished) {
        plan_finished(&plan);
    } else {
        return plan_unfinished(&plan, ret_result, err);
    }
    *ret_result = plan_result(&plan.job, conditions_seen(object), NULL);
    return 0;
}
