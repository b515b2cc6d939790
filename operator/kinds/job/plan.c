// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan.h"

#include "lib/time/clock.h"
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

int64_t job_plan_time_of(const struct job_plan *plan, const char *path, int64_t fallback) {
    const char *text = tree_text(plan->observed->object, path, NULL);
    int64_t time_ms = text ? clock_parse(text) : -1;
    return time_ms > 0 ? time_ms : fallback;
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

json_t *job_plan_result(struct job_plan *plan, json_t *status_new, const char *needs) {
    json_t *result =
        json_pack("{s:O, s:O, s:O, s:o, s:O}", "create", plan->create, "apply", plan->apply,
                  "delete", plan->delete, "status", status_new, "events", plan->events);
    if (needs) {
        json_object_set_new(result, "needs", json_string(needs));
    }
    if (plan->has_more) {
        json_object_set_new(result, "more", json_true());
    }
    if (plan->wake_ms != INT64_MAX) {
        json_object_set_new(result, "again_ms", json_integer(plan->wake_ms - plan->now_ms));
    }
    return result;
}
