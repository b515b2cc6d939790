// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/plan.h"

#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/job/plan_course.h"
#include "operator/kinds/job/plan_decide.h"

#include <string.h>

static const char *const warnings[] = {
    "ImagePullFailed",  "VolumeFailed",  "ConfigFailed",    "OutOfMemory", "Denied",
    "QuotaExceeded",    "NameTaken",     "Unreachable",     "CRDOutdated", "WaitingForOldPod",
    "QueueUnavailable", "ObjectRefused", "ScheduleInvalid", NULL};

const struct job_words batchscore_words = {
    .definition = "batchscores.windlass.dev",
    .file = "crds/batchscore.yaml",
    .hub = {.suffix = "coordinator", .role = "coordinator", .others = "worker"},
    .warnings = warnings,
};

static void release(struct batchscore_plan *plan) {
    job_plan_release(&plan->job);
    batchscore_spec_release(&plan->spec);
    json_decref(plan->retired);
}

/* The job_plan is the first member. */
static struct batchscore_plan *plan_of(struct job_plan *job) {
    return (struct batchscore_plan *)job;
}

static const struct batchscore_plan *plan_seen(const struct job_plan *job) {
    return (const struct batchscore_plan *)job;
}

static void read_pods(struct job_plan *job) {
    struct batchscore_plan *plan = plan_of(job);
    /* A job that has begun keeps its nature, and reports that its spec was changed. */
    plan->is_series =
        series_is(job->observed->object) && !tree_get(job->observed->object, "status.credentials");
    batchscore_read_pods(plan);
}

static int read_spec(struct job_plan *job, struct error *err) {
    struct batchscore_plan *plan = plan_of(job);
    if (batchscore_spec_read(job->observed->object, job->observed->options, &plan->spec, err) < 0) {
        return -1;
    }
    job->spec = &plan->spec.job;
    return 0;
}

static void clean_up(struct job_plan *job, bool succeeded, bool all) {
    batchscore_clean_up(plan_of(job), succeeded, all);
}

static long long count_items(const struct batchscore_plan *plan, const char *which) {
    AUTO(text_freep) char *now = x_printf("items.%s", which);
    AUTO(text_freep) char *before = x_printf("status.items.%s", which);
    return tree_integer(plan->job.progress, now,
                        tree_integer(plan->job.observed->object, before, 0));
}

static void suspend(struct job_plan *job) {
    struct batchscore_plan *plan = plan_of(job);
    batchscore_clean_up(plan, false, false);
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

static void verdict(struct job_plan *job) {
    batchscore_verdict(plan_of(job));
}

static char *how_far(const struct job_plan *job) {
    const struct batchscore_plan *plan = plan_seen(job);
    return x_printf("%lld of %lld items are done", count_items(plan, "done"),
                    count_items(plan, "total"));
}

static void make_pods(struct job_plan *job) {
    batchscore_make_pods(plan_of(job));
}

static bool has_hub(const struct job_plan *job) {
    return plan_seen(job)->coordinator != NULL;
}

static bool is_running(const struct job_plan *job) {
    return batchscore_has_running_worker(plan_seen(job));
}

/* A series never ends; when the cluster refuses a write, it stalls. */
static void plan_runs(struct batchscore_plan *plan) {
    struct conditions *conditions = &plan->job.conditions;
    series_decide(plan);
    if (job_plan_stop_if_outdated(&plan->job)) {
        return;
    }
    job_plan_report_write_failures(&plan->job, batchscore_has_running_worker(plan));
    if (conditions->state == CONDITIONS_FAILED) {
        conditions->state = CONDITIONS_UNDER_WAY;
        conditions_stall(conditions, conditions->reason, conditions->message);
    }
}

static const struct job_plan_course_ops course = {
    .verdict = verdict,
    .how_far = how_far,
    .suspend = suspend,
    .pods = make_pods,
    .has_hub = has_hub,
    .is_running = is_running,
};

static void go_on(struct job_plan *job) {
    struct batchscore_plan *plan = plan_of(job);
    if (job->spec && plan->is_series) {
        plan_runs(plan);
    } else {
        job_plan_follow_course(job, &course);
    }
}

static json_t *make_status(struct job_plan *job, const json_t *object) {
    struct batchscore_plan *plan = plan_of(job);
    json_t *status = batchscore_status(object, job->spec ? &plan->spec : NULL, &job->conditions,
                                       job->progress, job->now_ms);
    if (plan->retired) { /* else as it was */
        batchscore_status_retired(status, plan->retired, plan->retired_count);
    }
    return status;
}

static const struct job_plan_ops ops = {
    .words = &batchscore_words,
    .begun = "status.credentials",
    .read = read_pods,
    .read_spec = read_spec,
    .go_on = go_on,
    .clean_up = clean_up,
    .conclude = job_plan_conclude,
    .status = make_status,
};

int batchscore_decide(const struct batchscore_observed *observed, int64_t now_ms,
                      struct plan_result *ret_result, struct error *err) {
    AUTO(release)
    struct batchscore_plan plan = {.runs = observed->runs, .schedule = observed->schedule};
    return job_plan_decide(&plan.job, &ops, &observed->job, now_ms, ret_result, err);
}
