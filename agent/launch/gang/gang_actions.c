// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_state.h"

#include <stdlib.h>

static void free_queued(struct gang_queued *queued) {
    if (queued) {
        free(queued->members);
        free(queued);
    }
}

static struct gang_queued *enqueue(struct gang *gang, enum gang_action_kind kind) {
    struct gang_queued *queued = x_calloc(1, sizeof *queued);
    queued->members = x_calloc((size_t)gang->options.workers, sizeof *queued->members);
    queued->action = (struct gang_action){.kind = kind, .round = gang->round};
    queued->action.members = queued->members;
    *gang->end = queued;
    gang->end = &queued->next;
    return queued;
}

struct gang_action *gang_act(struct gang *gang, enum gang_action_kind kind) {
    struct gang_queued *queued = enqueue(gang, kind);
    for (int i = 0; i < gang->options.workers; i++) {
        /* DONE goes to every known member. */
        if (kind == GANG_DONE ? gang->members[i].is_known : gang->members[i].is_in_round) {
            queued->members[queued->action.count++] = i;
        }
    }
    return &queued->action;
}

void gang_stop_one(struct gang *gang, int index, int64_t now_ms) {
    struct gang_member *member = &gang->members[index];
    struct gang_queued *queued = enqueue(gang, GANG_STOP);
    queued->members[queued->action.count++] = index;
    queued->action.round = member->stopping = member->runs;
    member->stop_ms = now_ms;
}

bool gang_take_action(struct gang *gang, struct gang_action *ret_action) {
    free_queued(gang->given);
    gang->given = gang->first;
    if (!gang->given) {
        return false;
    }
    gang->first = gang->given->next;
    gang->end = gang->first ? gang->end : &gang->first;
    *ret_action = gang->given->action;
    return true;
}

void gang_release_actions(struct gang *gang) {
    while (gang->first) {
        struct gang_queued *next = gang->first->next;
        free_queued(gang->first);
        gang->first = next;
    }
    free_queued(gang->given);
}
