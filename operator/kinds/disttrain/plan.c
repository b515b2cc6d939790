// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/plan.h"

#include "operator/kinds/disttrain/plan_gang.h"

#include <string.h>

static const char *const warnings[] = {
    "ImagePullFailed", "VolumeFailed",  "ConfigFailed",     "OutOfMemory",
    "Denied",          "QuotaExceeded", "NameTaken",        "Unreachable",
    "CRDOutdated",     "ObjectRefused", "NotSupported",     "GangIncomplete",
    "GangUnavailable", "Restarting",    "WaitingForOldPod", NULL};

const struct job_words disttrain_words = {
    .definition = "disttrains.windlass.dev",
    .file = "crds/disttrain.yaml",
    .hub = {.suffix = "hub", .role = ROLE_MEMBER, .index = "0"},
    .warnings = warnings,
};

static void release(struct gang *gang) {
    plan_release(&gang->job);
    disttrain_spec_release(&gang->spec);
}

/* What a job that has ended leaves: the logs that tell why, for a while. */
static void plan_finished(struct gang *gang) {
    bool succeeded = false, is_over = plan_is_over(&gang->job, &succeeded);
    gang_clean_up(gang, succeeded, is_over);
    plan_remove_service(&gang->job);
}

/* As far as the hub has told, now or ever. */
static int64_t steps(const struct gang *gang) {
    return tree_integer(gang->job.progress, "step",
                        tree_integer(gang->job.observed->object, "status.step", 0));
}

static void suspend(struct gang *gang) {
    struct conditions *conditions = &gang->job.conditions;
    gang_clean_up(gang, false, false);
    gang->wait = (struct gang_wait){0};
    conditions->suspended = true;
    if (steps(gang) > 0) {
        conditions_set(
            conditions, CONDITIONS_UNDER_WAY, "Suspended",
            "%lld steps are done; it goes on from the newest checkpoint when spec.suspend "
            "is false",
            (long long)steps(gang));
    } else {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "Suspended",
                       "it starts when spec.suspend is false");
    }
}

/* By spec.stop, and behind every end that is there already. */
static bool is_stopped(struct gang *gang) {
    struct conditions *conditions = &gang->job.conditions;
    const char *why = tree_text(gang->job.observed->object, "spec.stop", NULL);
    if (conditions->reason || !why) {
        return false;
    }
    conditions_set(conditions, CONDITIONS_FAILED, "Stopped", "%s", why);
    conditions->is_asked_for = true;
    return true;
}

static void plan_under_way(struct gang *gang, const char **ret_needs) {
    struct job_plan *job = &gang->job;
    job->is_changed = !job->spec || plan_spec_changed(job);
    gang_verdict(gang);
    if (job->conditions.reason || is_stopped(gang)) {
        return;
    }
    AUTO(text_freep) char *how_far = x_printf("%lld steps are done", (long long)steps(gang));
    switch (plan_course(job, how_far, ret_needs)) {
    case PLAN_COURSE_SUSPEND:
        suspend(gang);
        break;
    case PLAN_COURSE_MAKE:
        gang_pods(gang);
        job->conditions.pods_requested = gang->hub || json_array_size(job->create) > 0;
        plan_report_write_failures(job, gang_is_running(gang));
        break;
    case PLAN_COURSE_WAIT:
        plan_report_write_failures(job, gang_is_running(gang));
        break;
    case PLAN_COURSE_HOLD:
        break;
    }
}

/* Nothing is made of it, and nothing is over either: a later version starts it. */
static void refuse(struct gang *gang) {
    struct conditions *conditions = &gang->job.conditions;
    conditions_set(conditions, CONDITIONS_UNDER_WAY, "NotSupported", "%s", gang->not_yet);
    conditions_stall(conditions, "NotSupported", conditions->message);
}

static int plan_unfinished(struct gang *gang, json_t **ret_result, struct error *err) {
    struct job_plan *job = &gang->job;
    const json_t *object = job->observed->object;
    struct error problem = {0};
    const char *needs = NULL;
    bool has_begun = tree_get(object, "status.credentials") != NULL;
    bool readable = disttrain_spec_read(object, job->observed->options, &gang->spec, &problem) == 0;
    if (!readable && problem.kind != ERROR_INVALID) {
        *err = problem;
        return -1;
    }
    if (readable) {
        job->spec = &gang->spec.job;
        plan_pin(job);
    }
    if (!readable && !has_begun) {
        conditions_set(&job->conditions, CONDITIONS_FAILED, "SpecInvalid", "%s", problem.text);
    } else if (gang->not_yet && !has_begun && !is_stopped(gang)) {
        refuse(gang);
    } else {
        plan_under_way(gang, &needs);
    }
    if (job->conditions.state != CONDITIONS_UNDER_WAY) {
        gang_clean_up(gang, job->conditions.state == CONDITIONS_SUCCEEDED, false);
        gang->wait = (struct gang_wait){0};
    }
    plan_conclude(job);
    /* specHash in the status closes the spec: one that was changed before can still be put back. */
    bool is_open = job->is_changed && job->conditions.state == CONDITIONS_UNDER_WAY;
    json_t *status =
        gang_status(is_open ? job->stored : object, readable ? &gang->spec : NULL, &job->conditions,
                    job->progress, gang->hub ? gang->hub->attempt : 0, job->now_ms);
    gang_status_wait(status, &gang->wait);
    gang_status_last(status, gang_last(gang));
    *ret_result = plan_result(job, status, needs);
    return 0;
}

int disttrain_plan(const struct disttrain_observed *observed, int64_t now_ms, json_t **ret_result,
                   struct error *err) {
    AUTO(release) struct gang gang = {.not_yet = observed->not_yet};
    const json_t *object = observed->job.object;
    bool is_leaving = tree_get(object, "metadata.deletionTimestamp") != NULL;
    bool is_finished = conditions_is_finished(object);
    plan_init(&gang.job, &observed->job, &disttrain_words, !is_leaving && !is_finished, now_ms);
    gang_read(&gang);
    if (is_leaving) {
        gang_clean_up(&gang, false, false);
    } else if (is_finished) {
        plan_finished(&gang);
    } else {
        return plan_unfinished(&gang, ret_result, err);
    }
    *ret_result = plan_result(&gang.job, conditions_seen(object), NULL);
    return 0;
}
