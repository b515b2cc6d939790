// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan.h"

#include "operator/kinds/job/plan_phases.h"

#include "operator/kinds/job/spec_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_plan_init(struct job_plan *plan, const struct job_observed *observed,
                   const struct job_words *words, bool recall, int64_t now_ms) {
    *plan = (struct job_plan){.words = words,
                              .seen = *observed,
                              .observed = &plan->seen,
                              .stored = observed->object,
                              .now_ms = now_ms,
                              .wake_ms = INT64_MAX,
                              .create = json_array(),
                              .apply = json_array(),
                              .delete = json_array(),
                              .events = json_array()};
    if (recall) {
        plan->object = spec_snapshot_restore(observed->object, observed->service,
                                             json_array_size(observed->pods) > 0);
        plan->seen.object = plan->object;
    }
}

void job_plan_release(struct job_plan *plan) {
    free(plan->phases);
    json_decref(plan->object);
    json_decref(plan->progress);
    json_decref(plan->create);
    json_decref(plan->apply);
    json_decref(plan->delete);
    json_decref(plan->events);
    json_decref(plan->conditions.credentials);
    json_decref(plan->conditions.runs);
}

void job_plan_wake(struct job_plan *plan, int64_t at_ms) {
    if (at_ms > plan->now_ms) {
        plan->wake_ms = MIN(plan->wake_ms, at_ms);
    }
}

static json_t *add_event(struct job_plan *plan, const char *type, const char *reason,
                         const char *format, va_list arguments) {
    struct conditions note; /* truncated and cleaned the same way */
    char text[sizeof note.message];
    vsnprintf(text, sizeof text, format, arguments);
    conditions_set(&note, CONDITIONS_UNDER_WAY, reason, "%s", text);
    json_t *event =
        json_pack("{s:s, s:s, s:s}", "type", type, "reason", reason, "note", note.message);
    json_array_append_new(plan->events, event);
    return event;
}

void job_plan_tell(struct job_plan *plan, const char *type, const char *reason, const char *format,
                   ...) {
    va_list arguments;
    va_start(arguments, format);
    add_event(plan, type, reason, format, arguments);
    va_end(arguments);
}

void job_plan_event(struct job_plan *plan, const char *type, const char *reason, const char *of,
                    const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    json_object_set_new(add_event(plan, type, reason, format, arguments), "of", json_string(of));
    va_end(arguments);
}

void job_plan_remove_pod(struct job_plan *plan, const struct pod_phase *phase) {
    json_array_append_new(plan->delete,
                          json_pack("{s:s, s:s}", "kind", "Pod", "name", phase->name));
}

void job_plan_remove_service(struct job_plan *plan) {
    const json_t *service = plan->observed->service;
    if (service) {
        json_array_append_new(plan->delete, json_pack("{s:s, s:s}", "kind", "Service", "name",
                                                      tree_text(service, "metadata.name", "")));
    }
}

void job_plan_fail(struct job_plan *plan, const char *reason, const char *cause,
                   const struct pod_phase *phase) {
    conditions_set(&plan->conditions, CONDITIONS_FAILED, reason,
                   "%.400s; more is in the log of pod %.80s", cause, phase->name);
}

/* One event for each pod that is replaced, with its end. */
static void tell_replaced(struct job_plan *plan, const struct pod_phase *phase,
                          const json_t *pod_new) {
    const char *next = tree_text(pod_new, "metadata.name", "");
    if (phase->stage == POD_PHASE_SUCCEEDED) {
        return;
    }
    if (phase->stage == POD_PHASE_DEAD && phase->exit_code >= 0) {
        AUTO(text_freep) char *words = job_plan_find_message(phase);
        job_plan_event(plan, "Warning", "PodFailed", next,
                       "pod %.80s ended with exit code %d%s%.40s%s%.350s; %.80s takes its place",
                       phase->name, phase->exit_code, *phase->reason ? ", " : "", phase->reason,
                       words ? ": " : "", words ? words : "", next);
        return;
    }
    job_plan_event(plan, "Normal", "PodReplaced", next, "pod %.80s %s%s%s; %.80s takes its place",
                   phase->name, phase->stage == POD_PHASE_DEAD ? "was taken away" : "is leaving",
                   *phase->reason ? ": " : "", phase->reason, next);
}

/* Takes the pod over. before: the pod that it replaces, NULL if none. deaths: in its place so far.
 */
void job_plan_make_pod(struct job_plan *plan, json_t *pod_new, const struct pod_phase *before,
                       int deaths) {
    json_t *metadata = json_object_get(pod_new, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");
    if (!annotations) {
        annotations = json_object();
        json_object_set_new(metadata, "annotations", annotations);
    }
    json_object_set_new(annotations, ANNOTATION_SECRET, json_string(plan->endpoint.secret));
    if (deaths > 0) {
        json_object_set_new(annotations, ANNOTATION_DEATHS, json_sprintf("%d", deaths));
    }
    if (before) {
        tell_replaced(plan, before, pod_new);
    }
    json_array_append_new(plan->create, pod_new);
}

json_t *job_plan_result(struct job_plan *plan, json_t *status_new, const char *needs) {
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
