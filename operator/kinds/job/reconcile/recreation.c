// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/recreation.h"

#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/job/reconcile/status_write.h"

#include <string.h>

enum { LOSSES, LAST_MS, NOT_BEFORE_MS };
enum {
    MANY_LOSSES = 10, /* in a row, of one place */
    MANY_PAUSE_MS = 90000,
    SERVICES_SOON = 2, /* made anew soon */
    SERVICE_PAUSE_MS = 60000,
    SERVICE_PAUSE_MAX_MS = 240000,
};

void recreation_release(struct recreation *recreation) {
    json_decref(recreation->places);
    json_decref(recreation->resting);
    *recreation = (struct recreation){0};
}

static int64_t value_of(const json_t *row, int which) {
    return json_integer_value(json_array_get(row, (size_t)which));
}

static void report_taken_away(struct reconcile *request, const char *name, int64_t losses) {
    AUTO(text_freep)
    char *note = x_printf("pod %.80s was taken away while it lived, as %lld others of its place "
                          "were before; the next ones are made later each time, up to 90 s",
                          name, (long long)losses - 1);
    struct reconcile_event event = {.type = "Warning", .reason = "PodsTakenAway", .note = note};
    event_recorder_add(request, &event);
}

static void note_resumption(const struct reconcile *request, struct recreation *recreation) {
    bool is_suspended = tree_bool(request->object, "spec.suspend", false);
    bool is_resumed = recreation->was_suspended && !is_suspended;
    recreation->was_suspended = is_suspended;
    if (is_resumed) {
        int64_t now_ms = request->monotonic_ms;
        bool is_first = now_ms >= recreation->resumed_ms + RECREATION_FORGET_MS;
        recreation->resumptions = is_first ? 1 : recreation->resumptions + 1;
        recreation->resumed_ms = now_ms;
        recreation->not_before_ms = now_ms + pod_phase_back_off_ms(recreation->resumptions);
    }
}

static void note_resting(struct recreation *recreation, int64_t now_ms) {
    const char *place;
    json_t *value;
    json_decref(TAKE(recreation->resting));
    json_object_foreach(recreation->places, place, value) {
        if (value_of(value, NOT_BEFORE_MS) > now_ms) {
            recreation->resting = recreation->resting ?: json_object();
            json_object_set_new(recreation->resting, place, json_true());
        }
    }
}

void recreation_note(struct reconcile *request, struct recreation *recreation, const json_t *lost) {
    const char *place, *name;
    json_t *value;
    void *next;
    int64_t now_ms = request->monotonic_ms;
    note_resumption(request, recreation);
    json_object_foreach_safe(recreation->places, next, place, value) {
        if (now_ms >= value_of(value, LAST_MS) + RECREATION_FORGET_MS) {
            json_object_del(recreation->places, place);
        }
    }
    json_object_foreach((json_t *)lost, place, value) {
        recreation->places = recreation->places ?: json_object();
        int64_t losses = value_of(json_object_get(recreation->places, place), LOSSES) + 1;
        int64_t pause_ms =
            losses < MANY_LOSSES ? pod_phase_back_off_ms((int)losses) : MANY_PAUSE_MS;
        json_object_set_new(recreation->places, place,
                            json_pack("[I, I, I]", (json_int_t)losses, (json_int_t)now_ms,
                                      (json_int_t)(now_ms + pause_ms)));
        name = json_string_value(value);
        if (losses == RECREATION_EVENT) {
            report_taken_away(request, name, losses);
        }
    }
    note_resting(recreation, now_ms);
}

/* 0: at once. */
static int64_t due_of(const struct recreation *recreation, const json_t *object) {
    AUTO(text_freep) char *place = pod_phase_place(object);
    int64_t due_ms = value_of(json_object_get(recreation->places, place), NOT_BEFORE_MS);
    bool is_pod = strcmp(tree_text(object, "kind", ""), "Pod") == 0;
    return is_pod ? MAX(due_ms, recreation->not_before_ms) : due_ms;
}

void recreation_hold(struct reconcile *request, const struct recreation *recreation,
                     json_t *create) {
    int64_t next_ms = INT64_MAX;
    bool may_wait = recreation->places || recreation->not_before_ms > request->monotonic_ms;
    for (size_t i = json_array_size(create); may_wait && i > 0; i--) {
        int64_t due_ms = due_of(recreation, json_array_get(create, i - 1));
        if (due_ms > request->monotonic_ms) {
            next_ms = MIN(next_ms, due_ms);
            json_array_remove(create, i - 1);
        }
    }
    if (next_ms < INT64_MAX) {
        status_write_requeue(request, next_ms - request->monotonic_ms);
    }
}

static void report_service(struct reconcile *request, int times) {
    AUTO(text_freep)
    char *note = x_printf("the job's Service was deleted, or lost its annotations, as %d times "
                          "before; the next ones, "
                          "with all that belongs to them, are made later each time, up to three "
                          "minutes",
                          times - 1);
    struct reconcile_event event = {.type = "Warning", .reason = "ServiceTakenAway", .note = note};
    event_recorder_add(request, &event);
}

/* With what pods of the job need, which the status names. While the Secret cannot be created it
 * gets another name after each failure, and the Service follows the status. */
static bool is_whole(const json_t *job, const json_t *service) {
    const char *secret = tree_text(job, "status.credentials.secret", NULL);
    const char *sha256 = tree_text(job, "status.credentials.certificateSHA256", NULL);
    bool is_created = tree_bool(job, "status.credentials.created", false);
    return is_created && secret && sha256 ? owned_is_service_of(service, secret, sha256)
                                          : owned_annotation(service, ANNOTATION_SECRET) != NULL;
}

static bool any_whole(const json_t *job, const json_t *services) {
    bool is_there = false;
    for (size_t i = 0; i < json_array_size(services) && !is_there; i++) {
        is_there = is_whole(job, json_array_get(services, i));
    }
    return is_there;
}

/* A Service that is made anew costs a dozen requests, with all that belongs to it: if it is deleted
 * every minute, that must not follow each time. */
static int64_t service_left_ms(const struct retry_delay_repeat *made, int64_t now_ms) {
    int64_t left_ms = retry_delay_repeat_left_ms(made, now_ms);
    if (made->times >= SERVICES_SOON && now_ms < made->last_ms + RECREATION_FORGET_MS) {
        int64_t pause_ms = MIN((int64_t)SERVICE_PAUSE_MS << MIN(made->times - SERVICES_SOON, 8),
                               (int64_t)SERVICE_PAUSE_MAX_MS);
        left_ms = MAX(left_ms, made->last_ms + pause_ms - now_ms);
    }
    return left_ms;
}

int64_t recreation_service_hold_ms(struct reconcile *request, struct recreation *recreation,
                                   const json_t *services) {
    bool is_there = any_whole(request->object, services);
    if (is_there || !recreation->had_service) {
        recreation->had_service |= is_there;
        return 0;
    }
    int64_t left_ms = service_left_ms(&recreation->services, request->monotonic_ms);
    if (left_ms > 0) {
        return left_ms;
    }
    recreation->had_service = false;
    retry_delay_repeat_note(&recreation->services, request->monotonic_ms);
    if (recreation->services.times == RECREATION_EVENT) {
        report_service(request, recreation->services.times);
    }
    return 0;
}

void recreation_note_deleted(struct recreation *recreation, const json_t *object) {
    recreation->had_service &= strcmp(tree_text(object, "kind", ""), "Service") != 0;
}
