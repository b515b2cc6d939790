// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/pods_seen.h"

#include "operator/kinds/job/pod_phase.h"

#include <stdlib.h>

enum {
    STEP_MS = 1000, /* less is a clock that is slewed */
    PLACE = 6,      /* index in times */
};

void pods_seen_release(struct pods_seen *seen) {
    json_decref(seen->ended);
    json_decref(seen->leaving);
    json_decref(seen->set);
    json_decref(seen->over);
    json_decref(seen->since);
    json_decref(seen->times);
    json_decref(seen->vanished);
    json_decref(seen->lost);
    json_decref(seen->dropped);
    *seen = (struct pods_seen){0};
}

/* How much of its grace period a pod that is seen for the first time has had by then. */
static int64_t passed_ms(const struct pod_phase *phase, int64_t wall_ms) {
    if (phase->grace_ms <= PODS_SEEN_GRACE_MS) { /* or it is not known */
        return 0;
    }
    int64_t last_ms = phase->gone_ms + MAX(phase->grace_ms, PODS_SEEN_CLOCKS_MS);
    int64_t left_ms = MAX(last_ms - wall_ms, PODS_SEEN_GRACE_MS);
    return MAX(phase->grace_ms - left_ms, 0);
}

/* Keeps when that was on the monotonic clock, and says it on the wall clock as it is now. */
static void note(json_t *kept, json_t *told, const char *name, int64_t since_ms, int64_t ahead_ms) {
    json_object_set_new(kept, name, json_integer(since_ms));
    json_object_set_new(told, name, json_integer(since_ms + ahead_ms));
}

static json_t *no_times(const struct pod_phase *phase) {
    AUTO(text_freep) char *place = pod_phase_place(phase->pod);
    return json_pack("[i, i, i, i, i, i, s]", 0, 0, 0, 0, 0, 0, place);
}

/* [MADE, AHEAD, PLACED, AHEAD, STARTED, AHEAD, PLACE]; before: of the pass before, which is kept
 * where the times are the same; NULL: there is none. */
static json_t *times_of(json_t *before, const struct pod_phase *phase, int64_t ahead_ms) {
    const int64_t at_ms[] = {phase->born_ms, phase->placed_ms, phase->running_ms};
    json_t *made = NULL;
    for (size_t i = 0; i < ARRAY_LEN(at_ms); i++) {
        bool is_known = json_integer_value(json_array_get(before, 2 * i)) == at_ms[i];
        if (before && is_known) {
            continue;
        }
        made = made ?: before ? json_copy(before) : no_times(phase);
        json_array_set_new(made, 2 * i, json_integer(at_ms[i]));
        json_array_set_new(made, 2 * i + 1, json_integer(ahead_ms));
    }
    return made ?: json_incref(before);
}

/* Of a pod that is alive: how far the wall clock was set since each of its times was seen. */
static void note_times(const struct pods_seen *seen, struct pods_seen *now,
                       const struct pod_phase *phase, int64_t ahead_ms) {
    json_t *times = times_of(json_object_get(seen->times, phase->name), phase, ahead_ms);
    json_t *set = NULL;
    json_object_set_new(now->times, phase->name, times);
    for (size_t i = 0; i < json_array_size(times) / 2; i++) {
        int64_t set_ms = ahead_ms - json_integer_value(json_array_get(times, 2 * i + 1));
        if (llabs(set_ms) < STEP_MS) {
            continue;
        }
        set = set ?: json_pack("[i, i, i]", 0, 0, 0);
        json_array_set_new(set, i, json_integer(set_ms));
    }
    if (set) {
        json_object_set_new(now->set, phase->name, set);
    }
}

void pods_seen_drop(struct pods_seen *seen, const char *name) {
    if (json_object_get(seen->times, name)) {
        seen->dropped = seen->dropped ?: json_object();
        json_object_set_new(seen->dropped, name, json_true());
        json_object_del(seen->times, name);
    }
}

/* Those that lived in the pass before, and neither live nor have ended. */
static void note_lost(const struct pods_seen *before, struct pods_seen *now) {
    const char *name;
    json_t *times;
    json_object_foreach(before->times, name, times) {
        if (json_object_get(now->times, name) || json_object_get(now->over, name)) {
            continue;
        }
        now->lost = now->lost ?: json_object();
        json_object_set_new(now->lost, json_string_value(json_array_get(times, PLACE)),
                            json_string(name));
        if (!json_object_get(now->since, name)) {
            now->vanished = now->vanished ?: json_array();
            json_array_append_new(now->vanished, json_string(name));
        }
    }
}

void pods_seen_note(struct pods_seen *seen, const json_t *pods, int64_t wall_ms,
                    int64_t monotonic_ms) {
    struct pods_seen now = {.ended = json_object(),
                            .leaving = json_object(),
                            .set = json_object(),
                            .over = json_object(),
                            .since = json_object(),
                            .times = json_object()};
    int64_t ahead_ms = wall_ms - monotonic_ms;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const struct pod_phase phase = pod_phase_read(json_array_get(pods, i));
        if (phase.stage == POD_PHASE_DEAD || phase.stage == POD_PHASE_SUCCEEDED) {
            json_t *over = json_object_get(seen->over, phase.name);
            note(now.over, now.ended, phase.name, over ? json_integer_value(over) : monotonic_ms,
                 ahead_ms);
        } else if (phase.gone_ms > 0) {
            json_t *since = json_object_get(seen->since, phase.name);
            int64_t since_ms =
                since ? json_integer_value(since) : monotonic_ms - passed_ms(&phase, wall_ms);
            note(now.since, now.leaving, phase.name, since_ms, ahead_ms);
        } else if (json_object_get(seen->dropped, phase.name)) { /* the watch is late */
            now.dropped = now.dropped ?: json_object();
            json_object_set_new(now.dropped, phase.name, json_true());
        } else {
            note_times(seen, &now, &phase, ahead_ms);
        }
    }
    note_lost(seen, &now);
    pods_seen_release(seen);
    *seen = now;
}
