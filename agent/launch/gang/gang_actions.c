// SPDX-License-Identifier: Apache-2.0
/* The queue of actions for the hub. */
#include "agent/launch/gang/gang_state.h"

#include <stdlib.h>

static void free_queued(struct queued_action *queued) {
    if (queued) {
        free(queued->members);
        free(queued);
    }
}

static struct queued_action *enqueue(struct gang *gang, enum gang_action_kind kind) {
    struct queued_action *queued = x_calloc(1, sizeof *queued);
    queued->members = x_calloc((size_t)gang->options.workers, sizeof *queued->members);
    queued->action = (struct gang_action){.kind = kind, .round = gang->round};
    queued->action.members = queued->members;
    *gang->end = queued;
    gang->end = &queued->next;
    return queued;
}

struct gang_action *gang_queue_action(struct gang *gang, enum gang_action_kind kind) {
    struct queued_action *queued = enqueue(gang, kind);
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        /* DONE goes to every known member. */
        if (kind == GANG_ACTION_FINISH    ? member->is_known
            : kind == GANG_ACTION_RELEASE ? member->is_in_round && i > 0
                                          : member->is_in_round) {
            queued->members[queued->action.count++] = i;
        }
    }
    return &queued->action;
}

void gang_queue_stop(struct gang *gang, int index, int64_t now_ms) {
    struct gang_member *member = &gang->members[index];
    struct queued_action *queued = enqueue(gang, GANG_ACTION_STOP);
    queued->members[queued->action.count++] = index;
    queued->action.round = member->stopping_round = member->running_round;
    member->stop_sent_ms = now_ms;
}

void gang_queue_release(struct gang *gang, int index) {
    struct queued_action *queued = enqueue(gang, GANG_ACTION_RELEASE);
    queued->members[queued->action.count++] = index;
}

bool gang_take_action(struct gang *gang, struct gang_action *ret_action) {
    free_queued(gang->taken);
    gang->taken = gang->first;
    if (!gang->taken) {
        return false;
    }
    gang->first = gang->taken->next;
    gang->end = gang->first ? gang->end : &gang->first;
    *ret_action = gang->taken->action;
    return true;
}

void gang_release_actions(struct gang *gang) {
    while (gang->first) {
        struct queued_action *next = gang->first->next;
        free_queued(gang->first);
        gang->first = next;
    }
    free_queued(gang->taken);
}
