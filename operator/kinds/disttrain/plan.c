// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/plan.h"

#include "operator/kinds/disttrain/plan_gang.h"
#include "operator/kinds/job/plan_course.h"
#include "operator/kinds/job/plan_decide.h"

#include <string.h>

static const char *const warnings[] = {
    "ImagePullFailed", "VolumeFailed",    "ConfigFailed", "OutOfMemory",      "Denied",
    "QuotaExceeded",   "NameTaken",       "Unreachable",  "CRDOutdated",      "ObjectRefused",
    "GangIncomplete",  "GangUnavailable", "Restarting",   "WaitingForOldPod", NULL};

const struct job_words disttrain_words = {
    .definition = "disttrains.windlass.dev",
    .file = "crds/disttrain.yaml",
    .hub = {.suffix = "hub", .role = ROLE_MEMBER, .index = "0"},
    .warnings = warnings,
};

static void release(struct disttrain_plan *gang) {
    job_plan_release(&gang->job);
    disttrain_spec_release(&gang->spec);
}

/* The job_plan is the first member. */
static struct disttrain_plan *gang_of(struct job_plan *job) {
    return (struct disttrain_plan *)job;
}

static const struct disttrain_plan *gang_seen(const struct job_plan *job) {
    return (const struct disttrain_plan *)job;
}

static void read_gang(struct job_plan *job) {
    disttrain_read_pods(gang_of(job));
}

static int read_spec(struct job_plan *job, struct error *err) {
    struct disttrain_plan *gang = gang_of(job);
    if (disttrain_spec_read(job->observed->object, job->observed->options, &gang->spec, err) < 0) {
        return -1;
    }
    job->spec = &gang->spec.job;
    return 0;
}

/* A gang without pods is not waiting. */
static void clean_up(struct job_plan *job, bool succeeded, bool all) {
    struct disttrain_plan *gang = gang_of(job);
    disttrain_clean_up(gang, succeeded, all);
    gang->wait = (struct gang_wait){0};
}

/* The steps that the hub has reported, now or earlier. */
static int64_t steps(const struct disttrain_plan *gang) {
    return tree_integer(gang->job.progress, "step",
                        tree_integer(gang->job.observed->object, "status.step", 0));
}

static void suspend(struct job_plan *job) {
    struct disttrain_plan *gang = gang_of(job);
    struct conditions *conditions = &job->conditions;
    clean_up(job, false, false);
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

/* By spec.stop, unless the job has already ended in another way. */
static bool is_stopped(struct disttrain_plan *gang) {
    struct conditions *conditions = &gang->job.conditions;
    const char *why = tree_text(gang->job.observed->object, "spec.stop", NULL);
    if (conditions->reason || !why) {
        return false;
    }
    conditions_set(conditions, CONDITIONS_FAILED, "Stopped", "%s", why);
    conditions->is_asked_for = true;
    return true;
}

static void apply_verdict(struct job_plan *job) {
    struct disttrain_plan *gang = gang_of(job);
    disttrain_verdict(gang);
    (void)is_stopped(gang); /* sets the conditions */
}

static char *steps_done(const struct job_plan *job) {
    return x_printf("%lld steps are done", (long long)steps(gang_seen(job)));
}

static void make_gang(struct job_plan *job) {
    disttrain_make_pods(gang_of(job));
}

static bool has_hub(const struct job_plan *job) {
    return gang_seen(job)->hub != NULL;
}

static bool is_running(const struct job_plan *job) {
    return disttrain_is_running(gang_seen(job));
}

static const struct job_plan_course_ops course = {
    .verdict = apply_verdict,
    .how_far = steps_done,
    .suspend = suspend,
    .pods = make_gang,
    .has_hub = has_hub,
    .is_running = is_running,
};

static void go_on(struct job_plan *job) {
    job_plan_follow_course(job, &course);
}

static json_t *make_status(struct job_plan *job, const json_t *object) {
    struct disttrain_plan *gang = gang_of(job);
    json_t *status =
        disttrain_status(object, job->spec ? &gang->spec : NULL, &job->conditions, job->progress,
                         gang->hub ? gang->hub->attempt : 0, job->now_ms);
    disttrain_status_wait(status, &gang->wait);
    disttrain_status_last(status, disttrain_last_restart(gang));
    return status;
}

static const struct job_plan_ops ops = {
    .words = &disttrain_words,
    .begun = "status.credentials",
    .read = read_gang,
    .read_spec = read_spec,
    .go_on = go_on,
    .clean_up = clean_up,
    .conclude = job_plan_conclude,
    .status = make_status,
};

int disttrain_decide(const struct disttrain_observed *observed, int64_t now_ms,
                     struct plan_result *ret_result, struct error *err) {
    AUTO(release) struct disttrain_plan gang = {0};
    return job_plan_decide(&gang.job, &ops, &observed->job, now_ms, ret_result, err);
}
