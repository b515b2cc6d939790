// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan_course.h"

#include "operator/cluster.h"
#include "operator/kinds/job/guard/network_policy.h"
#include "operator/kinds/job/plan_phases.h"
#include "operator/kinds/job/spec_snapshot.h"

#include <stdio.h>
#include <string.h>

enum {
    AGAIN_MAX_MS = 60000, /* for an unfinished job, in case a wake-up was lost */
    POLICY_AGAIN_MS = 1000,
};

/* ---- Service and Secret ---- */

static bool has_pods(const struct job_plan *plan, const char *secret) {
    for (size_t i = 0; i < plan->phase_count; i++) {
        const char *theirs = owned_annotation(plan->phases[i].pod, ANNOTATION_SECRET);
        if (theirs && strcmp(theirs, secret) == 0) {
            return true;
        }
    }
    return false;
}

static void record(struct job_plan *plan, const char *secret, const char *sha256, bool created) {
    plan->conditions.credentials = json_pack("{s:s, s:s, s:b}", "secret", secret,
                                             "certificateSHA256", sha256, "created", created);
    plan->conditions.spec_hash = plan->spec->hash; /* it has started */
    if (!plan->spec->is_image_given) {
        plan->conditions.agent_image = plan->spec->image;
    }
}

/* The change of the existing Service, and of no other that has its name by then; or the one that is
 * to be made, under the first name that is free. */
static json_t *make_service(struct job_plan *plan, const struct credentials *fresh) {
    const struct job_observed *observed = plan->observed;
    AUTO(text_freep) char *begun = spec_snapshot_write(plan->spec);
    json_t *service = owned_service(observed->object, &plan->words->hub, fresh, begun);
    json_t *metadata = json_object_get(service, "metadata");
    if (observed->service) {
        json_object_set(metadata, "name", tree_get(observed->service, "metadata.name"));
        json_object_set(metadata, "uid", tree_get(observed->service, "metadata.uid"));
    } else {
        job_plan_choose_name(plan, service);
    }
    return service;
}

/* ---- NetworkPolicy ---- */

static const struct network_policy_options *policy_of(const struct job_plan *plan) {
    const struct job_options *options = plan->observed->options;
    return options ? options->network_policy : NULL;
}

/* Asks for it unless it is settled. */
static bool makes_policy(struct job_plan *plan, const struct credentials *fresh) {
    const struct network_policy_options *options = policy_of(plan);
    if (!options || network_policy_is_settled(fresh)) {
        return false;
    }
    const struct job_observed *observed = plan->observed;
    json_array_append_new(plan->result.create,
                          network_policy_make(observed->object, &plan->words->hub,
                                              observed->service, fresh->secret, options));
    job_plan_wake(plan, plan->now_ms + POLICY_AGAIN_MS);
    return true;
}

static void report_refused_policy(struct job_plan *plan, const struct credentials *fresh) {
    if (policy_of(plan) && fresh && fresh->policy_refused) {
        job_plan_report(
            plan, "Warning", "NetworkPolicyRefused",
            "the job has no NetworkPolicy, and every pod may connect to its pods: %.300s; "
            "allow the controller to create networkpolicies, or start it with "
            "--no-network-policy",
            fresh->policy_refused);
    }
}

/* Not so of a Service whose certificate is another one than the status has: pods would trust it. */
static bool has_recorded(const json_t *object, const json_t *service) {
    const char *recorded = tree_text(object, "status.credentials.certificateSHA256", NULL);
    const char *theirs = owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256);
    return !recorded || (theirs && strcmp(recorded, theirs) == 0);
}

/* One step towards credentials that are confirmed in the cluster. True when they are. */
static bool credentials(struct job_plan *plan) {
    const struct job_observed *observed = plan->observed;
    const json_t *object = observed->object, *service = observed->service;
    const struct credentials *fresh = observed->credentials;
    const char *recorded = tree_text(object, "status.credentials.secret", "");
    bool is_recorded_one = has_recorded(object, service);
    bool placed = is_recorded_one && owned_endpoint_read(service, &plan->endpoint);
    conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Pending", "the job's Service is made");
    if (placed && strcmp(plan->endpoint.secret, recorded) == 0) {
        /* Pods are created only after the Secret is confirmed; so if there is a pod, the Secret
         * exists. */
        bool created = tree_bool(object, "status.credentials.created", false) ||
                       has_pods(plan, recorded) ||
                       (fresh && fresh->is_confirmed && strcmp(fresh->secret, recorded) == 0);
        bool is_fresh = fresh && fresh->is_confirmed && strcmp(fresh->secret, recorded) == 0;
        if (is_fresh && makes_policy(plan, fresh)) {
            record(plan, recorded, plan->endpoint.certificate_sha256, false);
            return false;
        }
        if (created) {
            report_refused_policy(plan, is_fresh ? fresh : NULL);
            record(plan, recorded, plan->endpoint.certificate_sha256, true);
            return true;
        }
    }
    if (observed->taken_away_ms > 0) {
        conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Pending",
                       "the job's Service was deleted or changed again and again; it is made anew "
                       "within three minutes");
    }
    if (observed->taken_away_ms > 0 || observed->hold_ms > 0) {
        job_plan_wake(plan, plan->now_ms + MAX(observed->taken_away_ms, observed->hold_ms));
        return false;
    }
    const char *named = service ? owned_annotation(service, ANNOTATION_SECRET) : NULL;
    if (named && is_recorded_one && !placed && strcmp(named, recorded) == 0) {
        return false; /* its address is not set yet */
    }
    if (!fresh || fresh->is_confirmed) { /* confirmed, and deleted with its Service */
        plan->result.needs_credentials = true;
        return false;
    }
    bool is_recorded = strcmp(recorded, fresh->secret) == 0;
    bool says_nothing = !tree_get(object, "status.credentials"); /* nor does the Service */
    record(plan, fresh->secret, fresh->certificate_sha256, false);
    if (!service) {
        json_array_append_new(plan->result.create, make_service(plan, fresh));
    } else if (!named || strcmp(named, fresh->secret) != 0 || says_nothing) {
        json_array_append_new(plan->result.apply, make_service(plan, fresh));
    } else if (is_recorded && placed) {
        json_array_append_new(plan->result.create,
                              owned_secret(object, &plan->words->hub, service, fresh));
        makes_policy(plan, fresh);
    }
    return false;
}

/* ---- a changed spec ---- */

/* A server without CEL accepts a change of a started job; the change is never applied in part. */
static bool is_changed(const struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    const char *stored = tree_text(object, "status.specHash", NULL);
    if (!tree_get(object, "status.credentials") || !stored || plan->observed->is_accepted ||
        (plan->spec && strcmp(stored, plan->spec->hash) == 0)) {
        return false;
    }
    /* With the same generation, a new default in the definition has changed it. */
    const char *stalled = tree_text(conditions_find(object, "Stalled"), "reason", "");
    return strcmp(stalled, "SpecChanged") == 0 ||
           tree_integer(object, "metadata.generation", 0) !=
               tree_integer(object, "status.observedGeneration", -1);
}

static void keep_going(struct job_plan *plan, const char *why, const char *text) {
    const json_t *before = conditions_find(plan->observed->object, "Succeeded");
    const char *reason = tree_text(before, "reason", "Pending");
    reason = strcmp(reason, "Suspended") == 0 ? "Pending" : reason;
    conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, reason, "%.600s",
                   tree_text(before, "message", ""));
    conditions_stall(&plan->conditions, why, text);
}

/* A job keeps the run and image that it began with: another controller's default image, or its rule
 * for the name of the parts' folder, is only for new jobs. Pods of two versions may be
 * incompatible. */
static void pin(struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    const char *run = tree_text(object, "status.run", "");
    struct job_spec *spec = plan->spec;
    if (!tree_get(object, "status.credentials")) {
        return;
    }
    if (*run && strlen(run) < sizeof spec->run) {
        snprintf(spec->run, sizeof spec->run, "%s", run);
    }
    if (!spec->is_image_given) {
        const char *image = tree_text(object, "status.agentImage", spec->image);
        spec->is_image_older = strcmp(image, spec->image) != 0;
        spec->image = image;
    }
}

/* True once spec.activeDeadlineSeconds have passed; how_far: its part of the message. */
static bool is_too_late(struct job_plan *plan, const char *how_far) {
    int64_t limit_s = tree_integer(plan->observed->object, "spec.activeDeadlineSeconds", 0);
    if (limit_s <= 0) {
        return false;
    }
    int64_t over_ms = job_plan_time_of(plan, "status.startTime", plan->now_ms) + 1000 * limit_s +
                      plan->observed->set_ms;
    job_plan_wake(plan, over_ms);
    if (plan->now_ms < over_ms) {
        return false;
    }
    conditions_set(&plan->conditions, CONDITIONS_FAILED, "DeadlineExceeded",
                   "not done within spec.activeDeadlineSeconds (%lld s): %s", (long long)limit_s,
                   how_far);
    return true;
}

/* ---- the course ---- */

enum course {
    COURSE_SUSPEND, /* spec.suspend */
    COURSE_HOLD,    /* nothing: too late, a changed spec, an outdated definition */
    COURSE_WAIT,    /* for the credentials; write failures are reported */
    COURSE_MAKE,    /* pods; then write failures are reported */
};

static enum course choose(struct job_plan *plan, const char *how_far) {
    if (tree_bool(plan->observed->object, "spec.suspend", false)) {
        return COURSE_SUSPEND;
    }
    if (is_too_late(plan, how_far)) {
        return COURSE_HOLD;
    }
    if (plan->is_changed) {
        keep_going(plan, "SpecChanged",
                   "spec was changed while the job ran; put it back, or delete the job and apply "
                   "it again");
        return COURSE_HOLD;
    }
    if (plan->is_refused) { /* a policy of after its beginning: what runs ends, nothing is made */
        keep_going(plan, "SpecInvalid", plan->problem.text);
        return COURSE_HOLD;
    }
    bool ready = credentials(plan);
    if (job_plan_stop_if_outdated(plan)) {
        return COURSE_HOLD;
    }
    return ready ? COURSE_MAKE : COURSE_WAIT;
}

/* A job that is suspended, and a pod of it whose deletion the cluster refuses. */
static void report_kept(struct job_plan *plan) {
    for (size_t i = 0; i < plan->result.delete_count; i++) {
        const struct object_key object = plan->result.delete[i].object;
        const struct write_failure *failure =
            write_failure_find_deletion(plan->observed->write_failures, object);
        if (failure) {
            AUTO(text_freep) char *what = object_key_format(object);
            conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Denied",
                           "%.200s cannot be deleted now, and may run on: %.400s", what,
                           failure->text);
            return;
        }
    }
}

void job_plan_follow_course(struct job_plan *plan, const struct job_plan_course_ops *ops) {
    if (plan->spec) {
        pin(plan);
    }
    plan->is_changed = !plan->spec || is_changed(plan);
    ops->verdict(plan);
    if (plan->conditions.reason) {
        return;
    }
    AUTO(text_freep) char *how_far = ops->how_far(plan);
    enum course course = choose(plan, how_far);
    plan->conditions.progresses =
        !plan->is_changed && !plan->is_refused && ops->has_hub(plan) && ops->is_running(plan);
    switch (course) {
    case COURSE_SUSPEND:
        ops->suspend(plan);
        job_plan_remove_misplaced(plan);
        if (plan->observed->is_change_late) {
            conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Suspended",
                           "spec was changed again and again while the job was suspended; the last "
                           "change is taken, and the job goes on, within three minutes");
        }
        report_kept(plan);
        break;
    case COURSE_MAKE:
        ops->pods(plan);
        plan->conditions.pods_requested =
            ops->has_hub(plan) || json_array_size(plan->result.create) > 0;
        job_plan_report_write_failures(plan, ops->is_running(plan));
        break;
    case COURSE_WAIT:
        job_plan_report_write_failures(plan, ops->is_running(plan));
        break;
    case COURSE_HOLD:
        break;
    }
}

/* ---- the end of a pass ---- */

/* Another state, or another reason to wait. The events of its pods report a job that starts again.
 */
static bool is_news(const struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    const struct conditions *conditions = &plan->conditions;
    const char *state = tree_text(conditions_find(object, "Succeeded"), "reason", "");
    const char *cause = tree_text(conditions_before(object), "reason", "");
    if (strcmp(conditions->reason, "Pending") == 0) {
        return false;
    }
    return strcmp(conditions_shown(object, conditions), state) != 0 ||
           (conditions_waits(object, conditions) && strcmp(cause, conditions->reason) != 0);
}

/* A trial or a run that goes well: what made it has that in its status. */
static bool is_told_by_maker(const struct job_plan *plan, bool is_warning) {
    const json_t *object = plan->observed->object;
    return !is_warning && owned_label(object, LABEL_JOB) &&
           tree_get(object, "metadata.ownerReferences[0]") &&
           !conditions_waits(object, &plan->conditions);
}

/* One event per transition. */
static void report_transitions(struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    const struct conditions *conditions = &plan->conditions;
    const char *before = tree_text(conditions_find(object, "Succeeded"), "reason", "");
    bool warning = conditions->state == CONDITIONS_FAILED && !conditions->is_asked_for;
    for (const char *const *each = plan->words->warnings; *each; each++) {
        warning |= strcmp(conditions->reason, *each) == 0;
    }
    if (strcmp(before, "Suspended") == 0 && !conditions->suspended) {
        job_plan_report(plan, "Normal", "Resumed", "spec.suspend is false: the job goes on");
    }
    if (is_news(plan) && !is_told_by_maker(plan, warning)) {
        job_plan_report(plan, warning ? "Warning" : "Normal", conditions->reason, "%s",
                        conditions->message);
    }
    const char *stalled = tree_text(conditions_find(object, "Stalled"), "reason", "");
    if (conditions->stalled && strcmp(conditions->stalled, stalled) != 0 &&
        strcmp(conditions->stalled, conditions->reason) != 0) {
        job_plan_report(plan, "Warning", conditions->stalled, "%s", conditions->stalled_message);
    }
}

void job_plan_conclude(struct job_plan *plan) {
    if (plan->conditions.state != CONDITIONS_UNDER_WAY) {
        int64_t ttl_s = tree_integer(plan->observed->object, "spec.ttlSecondsAfterFinished", -1);
        job_plan_remove_service(plan);
        plan->wake_ms = ttl_s < 0 ? INT64_MAX : plan->now_ms + 1000 * MAX(ttl_s, 1);
    } else {
        job_plan_wake(plan, plan->now_ms + AGAIN_MAX_MS);
    }
    report_transitions(plan);
}
