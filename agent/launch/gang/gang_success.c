// SPDX-License-Identifier: Apache-2.0
/* What counts as success, and as progress. */
#include "agent/launch/gang/gang_state.h"
#include "lib/contract.h"

#include <stdio.h>
#include <stdlib.h>

void gang_rank_reported(struct gang *gang, const struct gang_event *event) {
    const struct gang_rank_report report = {.launch = event->launch ? event->launch : "",
                                            .is_proxy = event->is_proxy,
                                            .rank = event->rank,
                                            .size = event->size,
                                            .index = event->index,
                                            .code = event->code,
                                            .was_signalled = event->was_signalled,
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
    if (gang->is_resumed) {
        *ret_count = gang->options.ended.count;
        return gang->options.ended.by;
    }
    if (gang->options.processes) {
        *ret_count = (int64_t)gang->ranks_done;
        return GANG_PROOF_PROCESSES;
    }
    if (!gang->proof) {
        *ret_count = 0;
        return GANG_PROOF_COMMAND;
    }
    enum gang_proof_by by = gang_proof_find_by(gang->proof, ret_count);
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
    enum gang_proof_state state = gang_proof_find_state(gang->proof, wanted, reason);
    if (state == GANG_PROOF_COMPLETE && gang->open_spawns > 0) { /* ranks may have started there */
        snprintf(reason->detail, sizeof reason->detail,
                 "spec.command ended with 0, but the exit codes of %d of the commands that it "
                 "started on other workers (by ssh) are unknown",
                 gang->open_spawns);
        state = GANG_PROOF_OPEN;
    }
    return state;
}

/* ---- what is kept between rounds ------------------------------------------------------------ */

void gang_note_metric(struct gang *gang) {
    gang->has_done_more = true;
}

void gang_note_checkpoint(struct gang *gang, int64_t step) {
    gang->has_kept |= gang->kept_step >= 0 && step > gang->kept_step;
    gang->kept_step = MAX(gang->kept_step, step);
}

void gang_note_stored_step(struct gang *gang, int64_t round, int64_t step) {
    if (round == 0) { /* nothing that this hub has seen being made */
        gang->kept_step = MAX(gang->kept_step, step);
    } else if (round == gang->round && gang->look_since_ms >= 0) { /* else it is late */
        step >= 0 ? gang_note_checkpoint(gang, step) : (void)0;
        gang->has_looked = true;
    }
}

bool gang_is_looking(struct gang *gang, int64_t now_ms) {
    /* A loss may turn out to be counted when the pod's successor explains it. */
    bool may_count =
        gang_cause_is_counted(gang->failure.cause) ||
        (gang->failure.cause == GANG_CAUSE_LOST && gang->unresponsive == gang->failure.index);
    if (!gang->options.looks_for_kept || !may_count) {
        return false;
    }
    if (gang->look_since_ms < 0) {
        gang->look_since_ms = now_ms;
        gang_queue_action(gang, GANG_ACTION_LOOK);
    }
    return !gang->has_looked && now_ms - gang->look_since_ms < GANG_LOOK_MS;
}

bool gang_count_restart(struct gang *gang) {
    gang->forgiven = gang->has_kept ? gang->counted_restarts : gang->forgiven;
    gang->has_kept = false;
    if (gang->counted_restarts - gang->forgiven >= gang->options.max_restarts ||
        gang->counted_restarts >= CONTRACT_LIFE_RESTARTS(gang->options.max_restarts)) {
        return false;
    }
    gang->counted_restarts++;
    return true;
}
