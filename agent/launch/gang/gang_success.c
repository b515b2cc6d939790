// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_state.h"

#include <stdio.h>

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

void gang_known_by(const struct gang *gang, struct gang_facts *facts) {
    facts->proof_by = GANG_PROOF_PROCESSES;
    facts->proof_count = (int64_t)gang->ranks_done;
    if (gang->options.processes == 0) {
        facts->proof_by = GANG_PROOF_COMMAND;
        facts->proof_count = 1;
    }
    if (gang->options.processes == 0 && gang->proof) {
        facts->proof_by = gang_proof_by(gang->proof, &facts->proof_count);
        facts->proof_count = MAX(facts->proof_count, (int64_t)1);
    }
}

static void disprove(struct gang *gang, const struct gang_proof_reason *reason, int64_t now_ms) {
    struct gang_failure why = {.cause = GANG_CAUSE_APP,
                               .index = reason->index,
                               .rank = reason->rank,
                               .code = reason->code};
    gang_fail_round(gang, &why, reason->detail, now_ms);
}

void gang_settle(struct gang *gang, int64_t now_ms) {
    struct gang_proof_reason reason;
    int wanted = gang->options.needs_all_slots ? (int)gang->rank_count : 0;
    enum gang_proof_state state = gang_proof_state(gang->proof, wanted, &reason);
    if (state == GANG_PROOF_WHOLE && gang->open_spawns > 0) { /* ranks may have started there */
        snprintf(reason.detail, sizeof reason.detail,
                 "spec.command ended with 0, but the end of %d of the commands that it started on "
                 "other workers (by ssh) is not known",
                 gang->open_spawns);
        state = GANG_PROOF_OPEN;
    }
    bool is_late = now_ms - gang->command_ended_ms >= GANG_EXPLAIN_COMMAND_MS;
    if (state == GANG_PROOF_WHOLE && gang->options.checks_result) {
        gang_enter(gang, GANG_STATE_CHECKING, now_ms);
        gang_queue_action(gang, GANG_ACTION_CHECK);
    } else if (state == GANG_PROOF_WHOLE) {
        gang_finish(gang, 0, now_ms);
    } else if (state == GANG_PROOF_FAILED || (is_late && !gang_is_one_disconnected(gang))) {
        disprove(gang, &reason, now_ms);
    }
}

/* In RUNNING the failure leads to STOPPING. */
void gang_fail_check(struct gang *gang, const char *detail, int64_t now_ms) {
    struct gang_failure why = {.cause = GANG_CAUSE_APP, .index = 0, .rank = 0, .code = -1};
    gang_enter(gang, GANG_STATE_RUNNING, now_ms);
    gang->command_ended_ms = -1;
    gang->progressed_ms = now_ms;
    gang_fail_round(gang, &why, detail, now_ms);
}

void gang_checked(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    if (gang->state != GANG_STATE_CHECKING || event->round != gang->round) {
        return;
    }
    if (event->code == 0) {
        gang_finish(gang, 0, now_ms);
    } else {
        gang_fail_check(gang, event->detail, now_ms);
    }
}
