// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/pods_seen.h"

#include "operator/kinds/job/pod_phase.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEP_MS = 1000, /* less is a clock that is slewed */
    MANY = 64,
    PASS_MAX_MS = 1000,
};

static void release_alive(struct pod_alive *pod) {
    free(pod->name);
    free(pod->place);
}

void pods_seen_release(struct pods_seen *seen) {
    for (size_t i = 0; i < seen->alive_count; i++) {
        release_alive(&seen->alive[i]);
    }
    free(seen->alive);
    json_decref(seen->ended);
    json_decref(seen->leaving);
    json_decref(seen->set);
    json_decref(seen->over);
    json_decref(seen->since);
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

/* map: made when it gets its first member. */
static void put(json_t **map, const char *name, json_t *value_new) {
    *map = *map ?: json_object();
    json_object_set_new(*map, name, value_new);
}

/* Keeps when that was on the monotonic clock, and says it on the wall clock as it is now. */
static void note(json_t **kept, json_t **told, const char *name, int64_t since_ms,
                 int64_t ahead_ms) {
    put(kept, name, json_integer(since_ms));
    put(told, name, json_integer(since_ms + ahead_ms));
}

/* ---- those that are alive ---- */

static int by_name(const void *left, const void *right) {
    const struct pod_alive *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* Among the first `count`; NULL: it is not there. */
static struct pod_alive *find(const struct pods_seen *seen, size_t count, const char *name) {
    const struct pod_alive like = {.name = (char *)name};
    return count > 0 ? bsearch(&like, seen->alive, count, sizeof like, by_name) : NULL;
}

static struct pod_alive *add(struct pods_seen *seen, const struct pod_phase *phase) {
    seen->alive = x_realloc_array(seen->alive, seen->alive_count + 1, sizeof *seen->alive);
    struct pod_alive *pod = &seen->alive[seen->alive_count++];
    *pod = (struct pod_alive){
        .name = x_strdup(phase->name), .place = pod_phase_place(phase->pod), .at_ms = {-1, -1, -1}};
    return pod;
}

/* How far the wall clock was set since each of its times was seen. known: of the pass before. */
static void note_alive(struct pods_seen *seen, size_t known, const struct pod_phase *phase,
                       int64_t ahead_ms) {
    const int64_t at_ms[] = {phase->born_ms, phase->placed_ms, phase->running_ms};
    struct pod_alive *pod = find(seen, known, phase->name) ?: add(seen, phase);
    json_t *set = NULL;
    pod->is_there = true;
    for (size_t i = 0; i < ARRAY_LEN(at_ms); i++) {
        pod->ahead_ms[i] = pod->at_ms[i] == at_ms[i] ? pod->ahead_ms[i] : ahead_ms;
        pod->at_ms[i] = at_ms[i];
        int64_t set_ms = ahead_ms - pod->ahead_ms[i];
        if (llabs(set_ms) >= STEP_MS) {
            set = set ?: json_pack("[i, i, i]", 0, 0, 0);
            json_array_set_new(set, i, json_integer(set_ms));
        }
    }
    if (set) {
        put(&seen->set, phase->name, set);
    }
}

static void remove_alive(struct pods_seen *seen, struct pod_alive *pod) {
    size_t after = (size_t)(seen->alive + --seen->alive_count - pod);
    release_alive(pod);
    memmove(pod, pod + 1, after * sizeof *pod);
}

void pods_seen_drop(struct pods_seen *seen, const char *name) {
    struct pod_alive *pod = find(seen, seen->alive_count, name);
    if (pod) {
        put(&seen->dropped, name, json_true());
        remove_alive(seen, pod);
    }
}

/* It lived in the pass before, and neither lives nor has ended. */
static void note_lost(struct pods_seen *seen, const struct pod_alive *pod) {
    put(&seen->lost, pod->place, json_string(pod->name));
    if (!json_object_get(seen->since, pod->name)) {
        seen->vanished = seen->vanished ?: json_array();
        json_array_append_new(seen->vanished, json_string(pod->name));
    }
}

/* Evicted, preempted, its node lost: it lived in the pass before, and has ended through no fault of
 * its own. */
static void note_evicted(struct pods_seen *seen, size_t known, const struct pod_phase *phase) {
    const struct pod_alive *pod = find(seen, known, phase->name);
    if (pod && phase->stage == POD_PHASE_DEAD && !phase->is_fault) {
        put(&seen->lost, pod->place, json_string(pod->name));
    }
}

static void remove_gone(struct pods_seen *seen) {
    for (size_t i = 0; i < seen->alive_count;) {
        struct pod_alive *pod = &seen->alive[i];
        if (pod->is_there) {
            pod->is_there = false;
            i++;
            continue;
        }
        if (!json_object_get(seen->over, pod->name)) {
            note_lost(seen, pod);
        }
        remove_alive(seen, pod);
    }
}

/* ---- a pass ---- */

/* With 1,000 pods a pass every half a second. */
static int64_t pause_ms(size_t pods) {
    return pods < MANY ? 0 : (int64_t)MIN(pods / 2, (size_t)PASS_MAX_MS);
}

bool pods_seen_lately(const struct pods_seen *seen, struct reconcile *request) {
    int64_t left_ms = seen->next_ms - request->monotonic_ms;
    if (left_ms > 0) {
        request->again_ms = left_ms;
        request->is_postponed = true;
    }
    return left_ms > 0;
}

void pods_seen_note(struct pods_seen *seen, const json_t *pods, int64_t wall_ms,
                    int64_t monotonic_ms) {
    struct pods_seen before = *seen;
    size_t known = seen->alive_count;
    int64_t ahead_ms = wall_ms - monotonic_ms;
    *seen = (struct pods_seen){.alive = TAKE(before.alive),
                               .alive_count = known,
                               .next_ms = monotonic_ms + pause_ms(json_array_size(pods))};
    before.alive_count = 0;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const struct pod_phase phase = pod_phase_read(json_array_get(pods, i));
        if (phase.stage == POD_PHASE_DEAD || phase.stage == POD_PHASE_SUCCEEDED) {
            json_t *over = json_object_get(before.over, phase.name);
            note(&seen->over, &seen->ended, phase.name,
                 over ? json_integer_value(over) : monotonic_ms, ahead_ms);
            note_evicted(seen, known, &phase);
        } else if (phase.gone_ms > 0) {
            json_t *since = json_object_get(before.since, phase.name);
            int64_t since_ms =
                since ? json_integer_value(since) : monotonic_ms - passed_ms(&phase, wall_ms);
            note(&seen->since, &seen->leaving, phase.name, since_ms, ahead_ms);
        } else if (json_object_get(before.dropped, phase.name)) { /* the watch is late */
            put(&seen->dropped, phase.name, json_true());
        } else {
            note_alive(seen, known, &phase, ahead_ms);
        }
    }
    bool has_new = seen->alive_count > known;
    remove_gone(seen);
    if (has_new) {
        qsort(seen->alive, seen->alive_count, sizeof *seen->alive, by_name);
    }
    pods_seen_release(&before);
}
