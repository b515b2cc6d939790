// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/recreation.h"

#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/job/reconcile/status_write.h"

enum { LOSSES, LAST_MS, NOT_BEFORE_MS };

void recreation_release(struct recreation *recreation) {
    json_decref(recreation->places);
    *recreation = (struct recreation){0};
}

static int64_t value_of(const json_t *row, int which) {
    return json_integer_value(json_array_get(row, (size_t)which));
}

static void report_taken_away(struct reconcile *request, const char *name, int64_t losses) {
    AUTO(text_freep)
    char *note = x_printf("pod %.80s was taken away while it lived, as %lld others of its place "
                          "were before; the next ones are made later each time, up to a minute",
                          name, (long long)losses - 1);
    struct reconcile_event event = {.type = "Warning", .reason = "PodsTakenAway", .note = note};
    event_recorder_add(request, &event);
}

void recreation_note(struct reconcile *request, struct recreation *recreation, const json_t *lost) {
    const char *place, *name;
    json_t *value;
    void *next;
    int64_t now_ms = request->monotonic_ms;
    json_object_foreach_safe(recreation->places, next, place, value) {
        if (now_ms >= value_of(value, LAST_MS) + RECREATION_FORGET_MS) {
            json_object_del(recreation->places, place);
        }
    }
    json_object_foreach((json_t *)lost, place, value) {
        recreation->places = recreation->places ?: json_object();
        int64_t losses = value_of(json_object_get(recreation->places, place), LOSSES) + 1;
        int64_t pause_ms = pod_phase_back_off_ms((int)MIN(losses, INT32_MAX));
        json_object_set_new(recreation->places, place,
                            json_pack("[I, I, I]", (json_int_t)losses, (json_int_t)now_ms,
                                      (json_int_t)(now_ms + pause_ms)));
        name = json_string_value(value);
        if (losses == RECREATION_EVENT) {
            report_taken_away(request, name, losses);
        }
    }
}

void recreation_hold(struct reconcile *request, const struct recreation *recreation,
                     json_t *create) {
    int64_t next_ms = INT64_MAX;
    for (size_t i = json_array_size(create); recreation->places && i > 0; i--) {
        AUTO(text_freep) char *place = pod_phase_place(json_array_get(create, i - 1));
        int64_t due_ms = value_of(json_object_get(recreation->places, place), NOT_BEFORE_MS);
        if (due_ms > request->monotonic_ms) {
            next_ms = MIN(next_ms, due_ms);
            json_array_remove(create, i - 1);
        }
    }
    if (next_ms < INT64_MAX) {
        status_write_requeue(request, next_ms - request->monotonic_ms);
    }
}
