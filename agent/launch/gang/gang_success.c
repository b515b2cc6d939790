// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_state.h"

#include <stdio.h>
#include <stdlib.h>

void gang_rank_reported(struct gang *gang, const struct gang_event *event) {
    const struct gang_rank_report report = {.launch = event->launch ? event->launch : "",
                                            .is_proxy = event->is_proxy,
                                            .rank = event->rank,
                                            .size = event->size,
                                            .index = event->index,
                                            .code = event->code,
                                            .is_told = event->is_told,
                                            .detail = event->detail};
    if (event->round != gang->round || gang->state != GANG_STATE_RUNNING) {
        return;
    }
    switch (event->kind) {
    case GANG_EVENT_RANK_STARTED:
        gang_proof_started(gang->proof, &report);
        break;
    case GANG_EVENT_RANK_ENDED:
        gang_proof_ended(gang->proof, &report);
        break;
    default:
        gang->open_spawns += event->kind == GANG_EVENT_SPAWNED ? 1 : -1;
        break;
    }
}

enum gang_proof_by gang_known_by(const struct gang *gang, int64_t *ret_count) {
    if (gang->options.processes) {
        *ret_count = (int64_t)gang->ranks_done;
        return GANG_PROOF_PROCESSES;
    }
    if (!gang->proof) {
        *ret_count = 0;
        return GANG_PROOF_COMMAND;
    }
    enum gang_proof_by by = gang_proof_by(gang->proof, ret_count);
    *ret_count = MAX(*ret_count, (int64_t)1); /* the command */
    return by;
}

int gang_index_of(const struct gang *gang, int rank) {
    size_t members = 0, place = 0;
    for (int i = 0; i < gang->options.workers; i++) {
        members += gang->members[i].is_in_round;
    }
    for (int i = 0; rank >= 0 && members && i < gang->options.workers; i++) {
        place += gang->members[i].is_in_round;
        if (gang->members[i].is_in_round && (size_t)rank < gang->rank_count * place / members) {
            return i;
        }
    }
    return -1;
}

struct gang_exit *gang_exits(const struct gang *gang, size_t *ret_count) {
    bool are_processes = gang->options.processes > 0;
    size_t count = 0;
    const struct gang_exit *known = NULL;
    if (gang->proof && !are_processes) {
        known = gang_proof_exits(gang->proof, &count);
    } else if (are_processes && gang->rank_count <= GANG_EXITS_MAX) {
        count = gang->rank_count;
    }
    struct gang_exit *exits = count ? x_calloc(count, sizeof *exits) : NULL;
    for (size_t i = 0; i < count; i++) {
        exits[i] = known ? known[i]
                         : (struct gang_exit){.rank = (int)i, .index = gang_index_of(gang, (int)i)};
    }
    *ret_count = count;
    return exits;
}

enum gang_proof_state gang_settled(const struct gang *gang, struct gang_proof_reason *reason) {
    int wanted = gang->options.needs_all_slots ? (int)gang->rank_count : 0;
    enum gang_proof_state state = gang_proof_state(gang->proof, wanted, reason);
    if (state == GANG_PROOF_WHOLE && gang->open_spawns > 0) { /* ranks may have started there */
        snprintf(reason->detail, sizeof reason->detail,
                 "spec.command ended with 0, but the end of %d of the commands that it started on "
                 "other workers (by ssh) is not known",
                 gang->open_spawns);
        state = GANG_PROOF_OPEN;
    }
    return state;
}
