// SPDX-License-Identifier: Apache-2.0
/* Where fewer than all may start (spec.minWorkers), the cluster chooses which pods get the
 * available nodes, and it does not know that no gang starts without NAME-0. So at most minWorkers
 * pods are created before NAME-0 has a node (a gang scheduler counts that many, and places all of
 * them or none). When the successor of NAME-0 finds no node, because another pod took its place,
 * one of the others makes room.
 *
 * Kueue requires all pods of a group before it releases any, so for Kueue all are created at once.
 */
#include "operator/kinds/disttrain/plan_gang.h"

enum {
    ROOM_MS = 20000, /* until then it may be the scheduler's own delay: it tries again after 10 s */
    ROOM_AGAIN_MS = 60000, /* the same when a free place exists that NAME-0 could take by now ... */
    ROOM_WINDOW_MS = 5000, /* ... each time for this long: see room_due_ms */
};

static bool has_node(const struct pod_phase *phase) {
    return phase->attempt > 0 && pod_phase_is_alive(phase) &&
           (phase->stage == POD_PHASE_RUNNING || phase->placed_ms > 0);
}

bool disttrain_lacks_lead(const struct disttrain_plan *gang, const struct gang_place *places) {
    return gang->spec.min_workers < gang->spec.workers && gang->spec.gang != GANG_KUEUE &&
           !has_node(&places[0].newest);
}

bool disttrain_may_create(const struct disttrain_plan *gang, const struct gang_place *places,
                          int index) {
    int others = 0;
    for (int i = 1; i < gang->spec.workers; i++) {
        others += places[i].is_alive;
    }
    return index == 0 || !disttrain_lacks_lead(gang, places) || others < gang->spec.min_workers - 1;
}

/* A pod without a node competes with NAME-0 for every node that becomes free. */
static void dismiss_waiting(struct disttrain_plan *gang, struct gang_place *places, int others) {
    for (int i = gang->spec.workers - 1; i > 0 && others > gang->spec.min_workers - 1; i--) {
        if (places[i].is_alive && places[i].newest.is_unscheduled) {
            disttrain_dismiss(gang, &places[i]);
            others--;
        }
    }
}

static void dismiss_one(struct disttrain_plan *gang, struct gang_place *places) {
    int i = gang->spec.workers - 1;
    while (i > 1 && !has_node(&places[i].newest)) {
        i--;
    }
    disttrain_dismiss(gang, &places[i]);
}

/* When the next pod makes room. A deleted pod leaves no record of its time. With only the time
 * since NAME-0's creation, the next pod would be deleted in the very pass that sees the last one
 * gone, before the scheduler has used the room. So each full minute has a short window in which one
 * pod is deleted. */
static int64_t room_due_ms(const struct pod_phase *hub, bool is_free, int64_t now_ms) {
    int64_t minutes = (now_ms - hub->born_ms) / ROOM_AGAIN_MS;
    int64_t due_ms = hub->born_ms + minutes * ROOM_AGAIN_MS;
    if (!is_free) {
        return hub->born_ms + ROOM_MS;
    }
    return minutes > 0 && now_ms - due_ms < ROOM_WINDOW_MS ? due_ms : due_ms + ROOM_AGAIN_MS;
}

void disttrain_make_room(struct disttrain_plan *gang, struct gang_place *places) {
    const struct pod_phase *hub = &places[0].newest;
    if (!disttrain_lacks_lead(gang, places) || hub->stage != POD_PHASE_WAITING ||
        !hub->is_unscheduled) {
        return;
    }
    int others = 0, placed = 0;
    bool is_free = false, is_leaving = false;
    for (int i = 1; i < gang->spec.workers; i++) {
        others += places[i].is_alive;
        placed += has_node(&places[i].newest);
        is_free |= !places[i].is_alive;
        is_leaving |= places[i].is_here && !places[i].is_alive;
    }
    int64_t due_ms = room_due_ms(hub, is_free, gang->job.now_ms);
    if (others < gang->spec.min_workers || is_leaving) {
        return; /* no pod to spare, or one makes room already */
    }
    job_plan_wake(&gang->job, due_ms);
    if (gang->job.now_ms < due_ms) {
        return;
    }
    dismiss_waiting(gang, places, others);
    if (placed >= gang->spec.min_workers) {
        dismiss_one(gang, places);
    }
}
