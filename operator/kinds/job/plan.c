// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/plan.h"

#include "lib/time/clock.h"
#include "operator/cluster.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/spec_snapshot.h"
#include "operator/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_ID_MAX = 512, ROLES_MAX = 8 };

/* What runs, as the nodes report it: role -> imageID, for status.images. */
static json_t *read_images(const json_t *pods) {
    json_t *images = json_object();
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        const char *role = owned_label(pod, LABEL_ROLE);
        const json_t *agent = object_agent(tree_get(pod, "status.containerStatuses"));
        const char *id = tree_text(agent, "imageID", "");
        if (role && *id && strlen(id) <= IMAGE_ID_MAX && json_object_size(images) < ROLES_MAX) {
            json_object_set_new(images, role, json_string(id));
        }
    }
    return images;
}

void job_plan_init(struct job_plan *plan, const struct job_observed *observed,
                   const struct job_words *words, bool is_under_way, int64_t now_ms) {
    *plan = (struct job_plan){.words = words,
                              .seen = *observed,
                              .observed = &plan->seen,
                              .stored = observed->object,
                              .now_ms = now_ms,
                              .wake_ms = INT64_MAX,
                              .result = {.create = json_array(), .apply = json_array()}};
    plan->conditions.images = read_images(observed->pods);
    if (is_under_way) {
        const struct spec_snapshot_known known = {observed->object, observed->pods,
                                                  observed->credentials};
        plan->object = spec_snapshot_restore(&known, observed->service);
        plan->seen.object = plan->object;
    }
}

void job_plan_release(struct job_plan *plan) {
    free(plan->phases);
    json_decref(plan->object);
    json_decref(plan->progress);
    plan_result_release(&plan->result);
    json_decref(plan->conditions.credentials);
    json_decref(plan->conditions.runs);
    json_decref(plan->conditions.after);
    json_decref(plan->conditions.images);
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

static void add_event(struct job_plan *plan, const struct plan_event *event, const char *format,
                      va_list arguments) {
    struct conditions note; /* truncated and cleaned the same way */
    char text[sizeof note.message];
    vsnprintf(text, sizeof text, format, arguments);
    conditions_set(&note, CONDITIONS_UNDER_WAY, event->reason, "%s", text);
    struct plan_event told = *event;
    told.note = note.message;
    plan_result_add_event(&plan->result, &told);
}

void job_plan_report(struct job_plan *plan, const char *type, const char *reason,
                     const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_event(plan, &(struct plan_event){.type = type, .reason = (char *)reason}, format,
              arguments);
    va_end(arguments);
}

void job_plan_event(struct job_plan *plan, const char *type, const char *reason, const char *of,
                    const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_event(plan, &(struct plan_event){.type = type, .reason = (char *)reason, .of = (char *)of},
              format, arguments);
    va_end(arguments);
}

void job_plan_remove_pod(struct job_plan *plan, const struct pod_phase *phase) {
    plan_result_delete(&plan->result, NULL, (struct object_key){"Pod", phase->name});
}

void job_plan_remove_service(struct job_plan *plan) {
    const json_t *service = plan->observed->service;
    if (service) {
        const char *name = tree_text(service, "metadata.name", "");
        plan_result_delete(&plan->result, NULL, (struct object_key){"Service", name});
    }
}

void job_plan_fail(struct job_plan *plan, const char *reason, const char *cause,
                   const struct pod_phase *phase) {
    conditions_set(&plan->conditions, CONDITIONS_FAILED, reason,
                   "%.400s; more is in the log of pod %.80s", cause, phase->name);
}

void job_plan_finish(struct job_plan *plan, json_t *status_new, struct plan_result *ret_result) {
    *ret_result = plan->result;
    plan->result = (struct plan_result){0};
    ret_result->status = status_new;
    ret_result->again_ms = plan->wake_ms != INT64_MAX ? plan->wake_ms - plan->now_ms : 0;
}
