// SPDX-License-Identifier: Apache-2.0
/* The steps that the plans of all kinds share. */
#include "operator/kinds/job/plan.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/spec_snapshot.h"

#include <stdio.h>
#include <string.h>

enum { AGAIN_MAX_MS = 60000 }; /* for an unfinished job, in case a wake-up was lost */

static int64_t time_of(const struct job_plan *plan, const char *path, int64_t fallback) {
    const char *text = tree_text(plan->observed->object, path, NULL);
    int64_t time_ms = text ? clock_parse(text) : -1;
    return time_ms > 0 ? time_ms : fallback;
}

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

/* One step towards credentials that are confirmed in the cluster. True when they are. */
static bool credentials(struct job_plan *plan, const char **ret_needs) {
    const struct job_observed *observed = plan->observed;
    const json_t *object = observed->object, *service = observed->service;
    const struct credentials *fresh = observed->credentials;
    const char *recorded = tree_text(object, "status.credentials.secret", "");
    bool placed = owned_endpoint_read(service, &plan->endpoint);
    conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, "Pending", "the job's Service is made");
    if (placed && strcmp(plan->endpoint.secret, recorded) == 0) {
        /* Pods are created only after the Secret is confirmed; so if there is a pod, the Secret
         * exists. */
        bool created = tree_bool(object, "status.credentials.created", false) ||
                       has_pods(plan, recorded) ||
                       (fresh && fresh->is_confirmed && strcmp(fresh->secret, recorded) == 0);
        if (created) {
            record(plan, recorded, plan->endpoint.certificate_sha256, true);
            return true;
        }
    }
    const char *named = service ? owned_annotation(service, ANNOTATION_SECRET) : NULL;
    if (named && !placed && strcmp(named, recorded) == 0) {
        return false; /* its address is not set yet */
    }
    if (!fresh || fresh->is_confirmed) { /* confirmed, and deleted with its Service */
        *ret_needs = "Credentials";
        return false;
    }
    bool is_recorded = strcmp(recorded, fresh->secret) == 0;
    bool says_nothing = !tree_get(object, "status.credentials"); /* nor does the Service */
    AUTO(text_freep) char *begun = spec_snapshot_write(plan->spec);
    record(plan, fresh->secret, fresh->certificate_sha256, false);
    if (!service) {
        json_array_append_new(plan->create, owned_service(object, &plan->words->hub, fresh, begun));
    } else if (!named || strcmp(named, fresh->secret) != 0 || says_nothing) {
        json_array_append_new(plan->apply, owned_service(object, &plan->words->hub, fresh, begun));
    } else if (is_recorded && placed) {
        json_array_append_new(plan->create,
                              owned_secret(object, &plan->words->hub, service, fresh));
    }
    return false;
}

/* ---- write failures ---- */

static const struct {
    const char *why, *reason, *said;
    bool with_text, fails, stalls;
} trouble_kinds[] = {
    {"Leaving", "Pending", " of an earlier job of this name is not gone yet", false, false, false},
    {"Denied", "Denied", " cannot be made now: ", true, false, false},
    {"Taken", "NameTaken", " exists and is not this job's; delete it, or give the job another name",
     false, false, true},
    {"Refused", "ObjectRefused", " is refused by the cluster: ", true, true, false},
};

/* "Pod digits-0"; the caller frees. */
static char *name_of(const json_t *object) {
    return x_printf("%s %s", tree_text(object, "kind", ""), tree_text(object, "metadata.name", ""));
}

const json_t *job_plan_write_failure_of(const struct job_plan *plan, const json_t *object) {
    AUTO(text_freep) char *name = name_of(object);
    return json_object_get(plan->observed->write_failures, name);
}

bool job_plan_apply_unwatched(struct job_plan *plan, json_t *object) {
    AUTO(text_freep) char *name = name_of(object);
    if (json_object_get(plan->observed->applied, name)) {
        return true;
    }
    json_array_append(plan->apply, object);
    return false;
}

/* Reports the most severe write failure as the job's condition. */
void job_plan_report_write_failures(struct job_plan *plan, bool is_running) {
    size_t worst = 0; /* of trouble_kinds, from 1 */
    AUTO(text_freep) char *what = NULL;
    const char *text = "";
    for (size_t i = 0; i < json_array_size(plan->create); i++) {
        const json_t *object = json_array_get(plan->create, i);
        const json_t *trouble = job_plan_write_failure_of(plan, object);
        for (size_t k = worst; trouble && k < ARRAY_LEN(trouble_kinds); k++) {
            if (strcmp(trouble_kinds[k].why, tree_text(trouble, "why", "")) == 0) {
                worst = k + 1;
                text = tree_text(trouble, "text", "");
                text_freep(&what);
                what = name_of(object);
            }
        }
    }
    /* A job that runs with fewer pods than wanted is running. */
    if (worst == 0 || (!trouble_kinds[worst - 1].fails && is_running)) {
        return;
    }
    const char *reason = trouble_kinds[worst - 1].reason;
    reason = strstr(text, "exceeded quota") ? "QuotaExceeded" : reason;
    conditions_set(&plan->conditions,
                   trouble_kinds[worst - 1].fails ? CONDITIONS_FAILED : CONDITIONS_UNDER_WAY,
                   reason, "%.200s%s%.400s", what, trouble_kinds[worst - 1].said,
                   trouble_kinds[worst - 1].with_text ? text : "");
    plan->conditions.pods_requested = false;
    if (trouble_kinds[worst - 1].stalls) {
        conditions_stall(&plan->conditions, reason, plan->conditions.message);
    }
}

/* ---- an outdated definition ---- */

/* The first field, of those that would be recorded now, that the definition drops. Once reported,
 * this holds until the field is seen in the status. */
static const char *find_dropped(const struct job_plan *plan) {
    const json_t *object = plan->stored;
    const char *told = tree_text(conditions_find(object, "Stalled"), "reason", "");
    if (plan->observed->dropped || strcmp(told, "CRDOutdated") != 0) {
        return plan->observed->dropped;
    }
    const struct conditions *conditions = &plan->conditions;
    AUTO(tree_freep)
    json_t *asked = json_pack("{s:{s:O*, s:s*, s:s*, s:O*}}", "status", "credentials",
                              conditions->credentials, "specHash", conditions->spec_hash,
                              "agentImage", conditions->agent_image, "runs", conditions->runs);
    return conditions_dropped(asked, object);
}

/* The plan creates nothing, because each pass would create again what the status cannot record. It
 * asks for the status as if the definition were current, so that the first write under a new
 * definition ends this state. */
bool job_plan_is_outdated(struct job_plan *plan) {
    const char *dropped = find_dropped(plan);
    if (!dropped) {
        return false;
    }
    json_array_clear(plan->create);
    json_array_clear(plan->apply);
    conditions_set(
        &plan->conditions, CONDITIONS_UNDER_WAY, "CRDOutdated",
        "the CustomResourceDefinition %s is older than the controller and drops %s; upgrade "
        "the chart with crds.install=true, or `kubectl apply --server-side -f %s` of "
        "version %s",
        plan->words->definition, dropped, plan->words->file, WINDLASS_VERSION);
    conditions_stall(&plan->conditions, "CRDOutdated", plan->conditions.message);
    return true;
}

/* ---- a changed spec ---- */

/* A server without CEL accepts a change of a started job; the change is never applied in part. */
bool job_plan_spec_changed(const struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    const char *stored = tree_text(object, "status.specHash", NULL);
    if (!tree_get(object, "status.credentials") || !stored ||
        (plan->spec && strcmp(stored, plan->spec->hash) == 0)) {
        return false;
    }
    /* With the same generation, a new default in the definition has changed it. */
    const char *stalled = tree_text(conditions_find(object, "Stalled"), "reason", "");
    return strcmp(stalled, "SpecChanged") == 0 ||
           tree_integer(object, "metadata.generation", 0) !=
               tree_integer(object, "status.observedGeneration", -1);
}

static void keep_going(struct job_plan *plan) {
    const json_t *before = conditions_find(plan->observed->object, "Succeeded");
    const char *reason = tree_text(before, "reason", "Pending");
    reason = strcmp(reason, "Suspended") == 0 ? "Pending" : reason;
    conditions_set(&plan->conditions, CONDITIONS_UNDER_WAY, reason, "%.600s",
                   tree_text(before, "message", ""));
    conditions_stall(
        &plan->conditions, "SpecChanged",
        "spec was changed while the job ran; put it back, or delete the job and apply it "
        "again");
}

/* A job keeps the run and image that it began with: another controller's default image, or its rule
 * for the name of the parts' folder, is only for new jobs. Pods of two versions may be
 * incompatible. */
void job_plan_pin(struct job_plan *plan) {
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
        spec->image = tree_text(object, "status.agentImage", spec->image);
    }
}

/* ---- time ---- */

/* True once spec.activeDeadlineSeconds have passed; how_far: its part of the message. */
static bool is_too_late(struct job_plan *plan, const char *how_far) {
    int64_t limit_s = tree_integer(plan->observed->object, "spec.activeDeadlineSeconds", 0);
    if (limit_s <= 0) {
        return false;
    }
    int64_t over_ms = time_of(plan, "status.startTime", plan->now_ms) + 1000 * limit_s;
    job_plan_wake(plan, over_ms);
    if (plan->now_ms < over_ms) {
        return false;
    }
    conditions_set(&plan->conditions, CONDITIONS_FAILED, "DeadlineExceeded",
                   "not done within spec.activeDeadlineSeconds (%lld s): %s", (long long)limit_s,
                   how_far);
    return true;
}

bool job_plan_is_over(struct job_plan *plan, bool *ret_succeeded) {
    const json_t *object = plan->observed->object;
    int64_t ttl_s = tree_integer(object, "spec.ttlSecondsAfterFinished", -1);
    *ret_succeeded =
        strcmp(tree_text(conditions_find(object, "Succeeded"), "status", ""), "True") == 0;
    if (ttl_s < 0) {
        return false;
    }
    int64_t over_ms = time_of(plan, "status.completionTime", plan->now_ms) + 1000 * ttl_s;
    if (plan->phase_count > 0) {
        job_plan_wake(plan, over_ms);
    }
    return plan->now_ms >= over_ms;
}

/* ---- the course of a job -------------------------------------------------------------------- */

enum job_plan_course job_plan_course(struct job_plan *plan, const char *how_far,
                                     const char **ret_needs) {
    if (tree_bool(plan->observed->object, "spec.suspend", false)) {
        return JOB_PLAN_SUSPEND;
    }
    if (is_too_late(plan, how_far)) {
        return JOB_PLAN_HOLD;
    }
    if (plan->is_changed) {
        keep_going(plan);
        return JOB_PLAN_HOLD;
    }
    bool ready = credentials(plan, ret_needs);
    if (job_plan_is_outdated(plan)) {
        return JOB_PLAN_HOLD;
    }
    return ready ? JOB_PLAN_MAKE : JOB_PLAN_WAIT;
}

/* One event per transition. */
static void tell_transitions(struct job_plan *plan) {
    const json_t *object = plan->observed->object;
    const struct conditions *conditions = &plan->conditions;
    const char *before = tree_text(conditions_find(object, "Succeeded"), "reason", "");
    bool warning = conditions->state == CONDITIONS_FAILED && !conditions->is_asked_for;
    for (const char *const *each = plan->words->warnings; *each; each++) {
        warning |= strcmp(conditions->reason, *each) == 0;
    }
    if (strcmp(before, "Suspended") == 0 && !conditions->suspended) {
        job_plan_tell(plan, "Normal", "Resumed", "spec.suspend is false: the job goes on");
    }
    if (strcmp(before, conditions->reason) != 0 && strcmp(conditions->reason, "Pending") != 0) {
        job_plan_tell(plan, warning ? "Warning" : "Normal", conditions->reason, "%s",
                      conditions->message);
    }
    const char *stalled = tree_text(conditions_find(object, "Stalled"), "reason", "");
    if (conditions->stalled && strcmp(conditions->stalled, stalled) != 0 &&
        strcmp(conditions->stalled, conditions->reason) != 0) {
        job_plan_tell(plan, "Warning", conditions->stalled, "%s", conditions->stalled_message);
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
    tell_transitions(plan);
}
