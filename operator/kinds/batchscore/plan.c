// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/plan.h"

#include "lib/clock.h"
#include "operator/kinds/batchscore/begun.h"
#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/batchscore/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGAIN_MAX_MS = 60000 }; /* for an unfinished job: no lost wake-up stops it for good */

static void plan_init(struct plan *plan, const struct batchscore_observed *observed,
                      int64_t now_ms) {
    *plan = (struct plan){.seen = *observed,
                          .observed = &plan->seen,
                          .stored = observed->object,
                          .now_ms = now_ms,
                          .wake_ms = INT64_MAX,
                          .create = json_array(),
                          .apply = json_array(),
                          .delete = json_array(),
                          .events = json_array()};
}

static void plan_release(struct plan *plan) {
    batchscore_spec_release(&plan->spec);
    free(plan->lives);
    json_decref(plan->object);
    json_decref(plan->progress);
    json_decref(plan->create);
    json_decref(plan->apply);
    json_decref(plan->delete);
    json_decref(plan->events);
    json_decref(plan->outcome.credentials);
    json_decref(plan->outcome.runs);
}

void plan_wake(struct plan *plan, int64_t at_ms) {
    if (at_ms > plan->now_ms) {
        plan->wake_ms = MIN(plan->wake_ms, at_ms);
    }
}

static json_t *add_event(struct plan *plan, const char *type, const char *reason,
                         const char *format, va_list arguments) {
    struct outcome note; /* cut and tidied the same way */
    char text[sizeof note.message];
    vsnprintf(text, sizeof text, format, arguments);
    outcome_set(&note, OUTCOME_UNDER_WAY, reason, "%s", text);
    json_t *event =
        json_pack("{s:s, s:s, s:s}", "type", type, "reason", reason, "note", note.message);
    json_array_append_new(plan->events, event);
    return event;
}

void plan_tell(struct plan *plan, const char *type, const char *reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_event(plan, type, reason, format, arguments);
    va_end(arguments);
}

void plan_event(struct plan *plan, const char *type, const char *reason, const char *of,
                const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    json_object_set_new(add_event(plan, type, reason, format, arguments), "of", json_string(of));
    va_end(arguments);
}

static int64_t time_of(const struct plan *plan, const char *path, int64_t fallback) {
    const char *text = tree_text(plan->observed->object, path, NULL);
    int64_t time_ms = text ? clock_parse(text) : -1;
    return time_ms > 0 ? time_ms : fallback;
}

static void delete_service(struct plan *plan) {
    const json_t *service = plan->observed->service;
    if (service) {
        json_array_append_new(plan->delete, json_pack("{s:s, s:s}", "kind", "Service", "name",
                                                      tree_text(service, "metadata.name", "")));
    }
}

/* What a job that has ended leaves: the logs that tell why, for a while. */
static void plan_finished(struct plan *plan) {
    const json_t *object = plan->observed->object;
    int64_t ttl_s = tree_integer(object, "spec.ttlSecondsAfterFinished", -1);
    int64_t over_ms = time_of(plan, "status.completionTime", plan->now_ms) + 1000 * ttl_s;
    const json_t *condition = status_condition(object, "Succeeded");
    bool succeeded = strcmp(tree_text(condition, "status", ""), "True") == 0;
    plan_clean_up(plan, succeeded, ttl_s >= 0 && plan->now_ms >= over_ms);
    delete_service(plan);
    if (ttl_s >= 0 && plan->life_count > 0) {
        plan_wake(plan, over_ms);
    }
}

/* ---- steps 1 to 3: Service and Secret ---- */

static bool has_pods(const struct plan *plan, const char *secret) {
    for (size_t i = 0; i < plan->life_count; i++) {
        const char *theirs = owned_annotation(plan->lives[i].pod, ANNOTATION_SECRET);
        if (theirs && strcmp(theirs, secret) == 0) {
            return true;
        }
    }
    return false;
}

static void record(struct plan *plan, const char *secret, const char *sha256, bool created) {
    plan->outcome.credentials = json_pack("{s:s, s:s, s:b}", "secret", secret, "certificateSHA256",
                                          sha256, "created", created);
    plan->outcome.spec_hash = plan->spec.hash; /* it has started */
    if (!tree_get(plan->observed->object, "spec.image")) {
        plan->outcome.agent_image = plan->spec.image;
    }
}

/* One step towards credentials that are known to be in the cluster. True when they are. */
static bool plan_credentials(struct plan *plan, const char **ret_needs) {
    const struct batchscore_observed *observed = plan->observed;
    const json_t *object = observed->object, *service = observed->service;
    const struct credentials *fresh = observed->credentials;
    const char *recorded = tree_text(object, "status.credentials.secret", "");
    bool placed = endpoint_read(service, &plan->endpoint);
    outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Pending", "the job's Service is made");
    if (placed && strcmp(plan->endpoint.secret, recorded) == 0) {
        /* Pods are made only when the Secret is known to be there: where there is one, it is. */
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
        return false; /* its address comes */
    }
    if (!fresh || fresh->is_confirmed) { /* confirmed, and its Service is gone: so is the Secret */
        *ret_needs = "Credentials";
        return false;
    }
    bool is_recorded = strcmp(recorded, fresh->secret) == 0;
    bool says_nothing = !tree_get(object, "status.credentials"); /* nor does the Service */
    AUTO(text_freep) char *begun = begun_write(&plan->spec);
    record(plan, fresh->secret, fresh->certificate_sha256, false);
    if (!service) {
        json_array_append_new(plan->create, owned_service(object, fresh, begun));
    } else if (!named || strcmp(named, fresh->secret) != 0 || says_nothing) {
        json_array_append_new(plan->apply, owned_service(object, fresh, begun));
    } else if (is_recorded && placed) {
        json_array_append_new(plan->create, owned_secret(object, service, fresh));
    }
    return false;
}

/* ---- what could not be made ---- */

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

/* The gravest trouble with what is to be made becomes what the job says. */
static void tell_troubles(struct plan *plan) {
    size_t worst = 0; /* of trouble_kinds, from 1 */
    AUTO(text_freep) char *what = NULL;
    const char *text = "";
    for (size_t i = 0; i < json_array_size(plan->create); i++) {
        const json_t *object = json_array_get(plan->create, i);
        AUTO(text_freep)
        char *name = x_printf("%s %s", tree_text(object, "kind", ""),
                              tree_text(object, "metadata.name", ""));
        const json_t *trouble = json_object_get(plan->observed->troubles, name);
        for (size_t k = worst; trouble && k < ARRAY_LEN(trouble_kinds); k++) {
            if (strcmp(trouble_kinds[k].why, tree_text(trouble, "why", "")) == 0) {
                worst = k + 1;
                text = tree_text(trouble, "text", "");
                text_freep(&what);
                what = x_strdup(name);
            }
        }
    }
    /* A job that runs with less than it could have runs. */
    if (worst == 0 || (!trouble_kinds[worst - 1].fails && plan_has_running_worker(plan))) {
        return;
    }
    const char *reason = trouble_kinds[worst - 1].reason;
    reason = strstr(text, "exceeded quota") ? "QuotaExceeded" : reason;
    outcome_set(&plan->outcome, trouble_kinds[worst - 1].fails ? OUTCOME_FAILED : OUTCOME_UNDER_WAY,
                reason, "%.200s%s%.400s", what, trouble_kinds[worst - 1].said,
                trouble_kinds[worst - 1].with_text ? text : "");
    plan->outcome.pods_requested = false;
    if (trouble_kinds[worst - 1].stalls) {
        outcome_stall(&plan->outcome, reason, plan->outcome.message);
    }
}

/* ---- a definition that is older than this program ---- */

/* Of what would be recorded now. Once told, it holds until the field is seen in the status. */
static const char *find_dropped(const struct plan *plan) {
    const json_t *object = plan->stored;
    const char *told = tree_text(status_condition(object, "Stalled"), "reason", "");
    if (plan->observed->dropped || strcmp(told, "CRDOutdated") != 0) {
        return plan->observed->dropped;
    }
    const struct outcome *outcome = &plan->outcome;
    AUTO(tree_freep)
    json_t *asked = json_pack("{s:{s:O*, s:s*, s:s*, s:O*}}", "status", "credentials",
                              outcome->credentials, "specHash", outcome->spec_hash, "agentImage",
                              outcome->agent_image, "runs", outcome->runs);
    return status_dropped(asked, object);
}

/* What is not stored would be made anew by every look, so nothing is made. The status is asked for
 * as if all were well: so the first write that the definition has a place for ends this. */
static void stall_outdated(struct plan *plan, const char *dropped) {
    json_array_clear(plan->create);
    json_array_clear(plan->apply);
    outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "CRDOutdated",
                "the CustomResourceDefinition batchscores.windlass.dev is older than the "
                "controller and drops %s; upgrade the chart with crds.install=true, or `kubectl "
                "apply --server-side -f crds/batchscore.yaml` of version %s",
                dropped, WINDLASS_VERSION);
    outcome_stall(&plan->outcome, "CRDOutdated", plan->outcome.message);
}

/* ---- the whole ---- */

/* A server without CEL lets a change of what has started through; half of it is never used. */
static bool is_changed(const struct plan *plan, bool readable) {
    const json_t *object = plan->observed->object;
    const char *stored = tree_text(object, "status.specHash", NULL);
    if (!tree_get(object, "status.credentials") || !stored ||
        (readable && strcmp(stored, plan->spec.hash) == 0)) {
        return false;
    }
    /* When nobody wrote it, the definition has got a new default, say. */
    const char *stalled = tree_text(status_condition(object, "Stalled"), "reason", "");
    return strcmp(stalled, "SpecChanged") == 0 ||
           tree_integer(object, "metadata.generation", 0) !=
               tree_integer(object, "status.observedGeneration", -1);
}

static void keep_going(struct plan *plan) {
    const json_t *before = status_condition(plan->observed->object, "Succeeded");
    const char *reason = tree_text(before, "reason", "Pending");
    reason = strcmp(reason, "Suspended") == 0 ? "Pending" : reason;
    outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, reason, "%.600s",
                tree_text(before, "message", ""));
    outcome_stall(&plan->outcome, "SpecChanged",
                  "spec was changed while the job ran; put it back, or delete the job and apply it "
                  "anew");
}

static long long count_items(const struct plan *plan, const char *which) {
    AUTO(text_freep) char *now = x_printf("items.%s", which);
    AUTO(text_freep) char *before = x_printf("status.items.%s", which);
    return tree_integer(plan->progress, now, tree_integer(plan->observed->object, before, 0));
}

static bool has_passed_deadline(struct plan *plan) {
    const json_t *object = plan->observed->object;
    int64_t limit_s = tree_integer(object, "spec.activeDeadlineSeconds", 0);
    if (limit_s <= 0) {
        return false;
    }
    int64_t over_ms = time_of(plan, "status.startTime", plan->now_ms) + 1000 * limit_s;
    plan_wake(plan, over_ms);
    if (plan->now_ms < over_ms) {
        return false;
    }
    outcome_set(&plan->outcome, OUTCOME_FAILED, "DeadlineExceeded",
                "not done within spec.activeDeadlineSeconds (%lld s): %lld of %lld items are done",
                (long long)limit_s, count_items(plan, "done"), count_items(plan, "total"));
    return true;
}

static void suspend(struct plan *plan) {
    plan_clean_up(plan, false, false);
    plan->outcome.suspended = true;
    if (count_items(plan, "total") > 0) {
        outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Suspended",
                    "%lld of %lld items are done; it goes on when spec.suspend is false",
                    count_items(plan, "done"), count_items(plan, "total"));
    } else {
        outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Suspended",
                    "it starts when spec.suspend is false");
    }
}

static void plan_under_way(struct plan *plan, bool readable, const char **ret_needs) {
    plan->is_changed = !readable || is_changed(plan, readable);
    bool suspended = tree_bool(plan->observed->object, "spec.suspend", false);
    plan_verdict(plan);
    if (plan->outcome.reason) {
        return;
    }
    if (suspended) {
        suspend(plan);
    } else if (has_passed_deadline(plan)) {
        return;
    } else if (plan->is_changed) {
        keep_going(plan);
    } else {
        bool ready = plan_credentials(plan, ret_needs);
        const char *dropped = find_dropped(plan);
        if (dropped) {
            stall_outdated(plan, dropped);
            return;
        }
        if (ready) {
            plan_pods(plan);
            plan->outcome.pods_requested = plan->coordinator || json_array_size(plan->create) > 0;
        }
        tell_troubles(plan);
    }
}

/* A series never ends; what the cluster will not take stalls it. */
static void plan_runs(struct plan *plan) {
    struct outcome *outcome = &plan->outcome;
    plan_series(plan);
    const char *dropped = find_dropped(plan);
    if (dropped) {
        stall_outdated(plan, dropped);
        return;
    }
    tell_troubles(plan);
    if (outcome->state == OUTCOME_FAILED) {
        outcome->state = OUTCOME_UNDER_WAY;
        outcome_stall(outcome, outcome->reason, outcome->message);
    }
}

/* One event per transition. */
static void tell_transitions(struct plan *plan) {
    static const char *const warnings[] = {"ImagePullFailed",  "VolumeFailed",  "ConfigFailed",
                                           "OutOfMemory",      "Denied",        "QuotaExceeded",
                                           "NameTaken",        "Unreachable",   "CRDOutdated",
                                           "WaitingForOldPod", "ObjectRefused", "ScheduleInvalid"};
    const json_t *object = plan->observed->object;
    const struct outcome *outcome = &plan->outcome;
    const char *before = tree_text(status_condition(object, "Succeeded"), "reason", "");
    bool warning = outcome->state == OUTCOME_FAILED;
    for (size_t i = 0; i < ARRAY_LEN(warnings); i++) {
        warning |= strcmp(outcome->reason, warnings[i]) == 0;
    }
    if (strcmp(before, "Suspended") == 0 && !outcome->suspended) {
        plan_tell(plan, "Normal", "Resumed", "spec.suspend is false: the job goes on");
    }
    if (strcmp(before, outcome->reason) != 0 && strcmp(outcome->reason, "Pending") != 0) {
        plan_tell(plan, warning ? "Warning" : "Normal", outcome->reason, "%s", outcome->message);
    }
    const char *stalled = tree_text(status_condition(object, "Stalled"), "reason", "");
    if (outcome->stalled && strcmp(outcome->stalled, stalled) != 0 &&
        strcmp(outcome->stalled, outcome->reason) != 0) {
        plan_tell(plan, "Warning", outcome->stalled, "%s", outcome->stalled_message);
    }
}

static json_t *finish(struct plan *plan, json_t *status_new, const char *needs) {
    json_t *result =
        json_pack("{s:O, s:O, s:O, s:o, s:O}", "create", plan->create, "apply", plan->apply,
                  "delete", plan->delete, "status", status_new, "events", plan->events);
    if (needs) {
        json_object_set_new(result, "needs", json_string(needs));
    }
    if (plan->wake_ms != INT64_MAX) {
        json_object_set_new(result, "again_ms", json_integer(plan->wake_ms - plan->now_ms));
    }
    return result;
}

/* A job ends with what it began with: another controller's default image, or its way to name the
 * folder of the parts, is for jobs that begin with it. Pods of two versions need not understand
 * each other. */
static void pin(struct plan *plan) {
    const json_t *object = plan->observed->object;
    const char *run = tree_text(object, "status.run", "");
    if (!tree_get(object, "status.credentials")) {
        return;
    }
    if (*run && strlen(run) < sizeof plan->spec.run) {
        snprintf(plan->spec.run, sizeof plan->spec.run, "%s", run);
    }
    if (!tree_get(object, "spec.image")) {
        plan->spec.image = tree_text(object, "status.agentImage", plan->spec.image);
    }
}

static int plan_unfinished(struct plan *plan, json_t **ret_result, struct error *err) {
    const json_t *object = plan->observed->object;
    const struct batchscore_options *options = plan->observed->options;
    struct error problem = {0};
    const char *needs = NULL;
    bool readable = batchscore_spec_read(object, options, &plan->spec, &problem) == 0;
    if (!readable && problem.kind != ERROR_INVALID) {
        *err = problem;
        return -1;
    }
    if (readable) {
        pin(plan);
    }
    if (readable && plan->is_series) {
        plan_runs(plan);
    } else if (readable || tree_get(object, "status.credentials")) {
        plan_under_way(plan, readable, &needs);
    } else {
        outcome_set(&plan->outcome, OUTCOME_FAILED, "SpecInvalid", "%s", problem.text);
    }
    if (plan->outcome.state != OUTCOME_UNDER_WAY) {
        plan_clean_up(plan, plan->outcome.state == OUTCOME_SUCCEEDED, false);
        delete_service(plan);
        int64_t ttl_s = tree_integer(object, "spec.ttlSecondsAfterFinished", -1);
        plan->wake_ms = ttl_s < 0 ? INT64_MAX : plan->now_ms + 1000 * MAX(ttl_s, 1);
    } else {
        plan_wake(plan, plan->now_ms + AGAIN_MAX_MS);
    }
    tell_transitions(plan);
    /* specHash in the status closes the spec: one that was changed before can still be put back. */
    bool is_open = plan->is_changed && plan->outcome.state == OUTCOME_UNDER_WAY;
    json_t *status = status_next(is_open ? plan->stored : object, readable ? &plan->spec : NULL,
                                 &plan->outcome, plan->progress, plan->now_ms);
    *ret_result = finish(plan, status, needs);
    return 0;
}

int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms, json_t **ret_result,
                    struct error *err) {
    AUTO(plan_release) struct plan plan;
    const json_t *object = observed->object;
    bool is_leaving = tree_get(object, "metadata.deletionTimestamp") != NULL;
    bool is_finished = batchscore_is_finished(object);
    plan_init(&plan, observed, now_ms);
    if (!is_leaving && !is_finished) {
        plan.object = begun_recall(object, observed->service, json_array_size(observed->pods) > 0);
        plan.seen.object = plan.object;
    }
    /* One that has begun goes on as what it was, and says that its spec was changed. */
    plan.is_series =
        series_is(plan.observed->object) && !tree_get(plan.observed->object, "status.credentials");
    plan_read_pods(&plan);
    if (is_leaving) {
        plan_clean_up(&plan, false, false);
    } else if (is_finished) {
        plan_finished(&plan);
    } else {
        return plan_unfinished(&plan, ret_result, err);
    }
    *ret_result = finish(&plan, status_seen(object), NULL);
    return 0;
}
