// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gang *gang_new(const struct gang_options *options) {
    struct gang *gang = x_calloc(1, sizeof *gang);
    assert(options->workers >= 1 && options->workers <= GANG_MEMBERS_MAX && options->slots >= 1);
    gang->options = *options;
    gang->options.notice_ms = options->notice_ms > 0 ? options->notice_ms : GANG_NOTICE_MS;
    gang->options.deletion_notice_ms =
        options->deletion_notice_ms > 0 ? options->deletion_notice_ms : gang->options.notice_ms;
    gang->counted_restarts = options->counted_restarts;
    gang->uncounted_restarts = options->uncounted_restarts;
    gang->forgiven = options->forgiven;
    gang->kept_step = options->attempt > 1 ? -1 : 0;
    gang->has_progressed = options->counted_restarts + options->uncounted_restarts > 0;
    gang->quorum_since_ms = gang->notice_until_ms = gang->first_call_ms = -1;
    gang->failure = gang->last_failure = (struct gang_failure){.index = -1, .rank = -1, .code = -1};
    gang->unresponsive = -1;
    gang->command_ended_ms = gang->look_since_ms = -1;
    gang->end = &gang->first;
    if (options->ended.round && options->checks_result) {
        gang->is_resumed = true;
        gang->round = options->ended.round;
        gang->state = GANG_STATE_CHECKING;
        gang_queue_action(gang, GANG_ACTION_CHECK);
    }
    if (options->looks_for_kept) {
        gang_queue_action(gang, GANG_ACTION_LOOK);
    }
    return gang;
}

void gang_free(struct gang *gang) {
    if (!gang) {
        return;
    }
    gang_release_actions(gang);
    free(gang->ranks);
    gang_proof_free(gang->proof);
    free(gang);
}

bool gang_next_action(struct gang *gang, int64_t now_ms, struct gang_action *ret_action) {
    gang_advance(gang, now_ms);
    return gang_take_action(gang, ret_action);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Another pod, or the same one after its agent has ended: its programs have ended with it. */
static void replace(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    struct gang_member *member = &gang->members[event->index];
    bool was_in_round = member->is_in_round, is_memory = member->is_known && event->is_memory;
    struct gang_failure why = {.cause = is_memory ? GANG_CAUSE_MEMORY : GANG_CAUSE_DISRUPTION,
                               .index = event->index,
                               .rank = -1,
                               .code = -1};
    *member = (struct gang_member){.is_known = true, .attempt = event->attempt};
    snprintf(member->incarnation, sizeof member->incarnation, "%s", event->incarnation);
    if (was_in_round) {
        gang_fail_round(gang, &why, is_memory ? event->detail : "another pod has replaced it",
                        now_ms);
    }
    if (is_memory) {
        gang_explain_loss(gang, event, now_ms);
    }
    /* It stays in the round and gets a STOP although it runs nothing: it is ready for the next
     * round only after its response. */
    member->is_in_round = was_in_round && gang->state != GANG_STATE_STOPPING;
    member->running_round = member->is_in_round ? gang->round : 0;
}

static bool hello(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    struct gang_member *member = &gang->members[event->index];
    bool is_same = member->is_known && strcmp(member->incarnation, event->incarnation) == 0;
    if (event->seen > gang->options.attempt) {
        gang->state = GANG_STATE_FINISHED;
        gang_queue_action(gang, GANG_ACTION_STEP_DOWN);
        return true;
    }
    if (member->is_known && !is_same && event->attempt < member->attempt) {
        return false;
    }
    if (!is_same) {
        replace(gang, event, now_ms);
    }
    member->is_connected = true;
    member->is_lost = false;
    member->is_prepared = event->is_prepared;
    bool belongs = member->is_in_round && member->running_round == gang->round;
    if (belongs && event->round != gang->round && is_same && member->ready_round == gang->round &&
        !member->stopping_round) {
        /* It was without the hub for too long and has ended its programs. */
        struct gang_failure why = {
            .cause = GANG_CAUSE_LOST, .index = event->index, .rank = -1, .code = -1};
        gang_fail_round(gang, &why, "it lost its hub for too long and ended its programs", now_ms);
    } else if (!belongs && event->round) {
        member->running_round = MAX(event->round, member->running_round);
        gang_queue_stop(gang, event->index, now_ms);
    } else if (!belongs) {
        member->running_round = member->stopping_round = 0;
    } else if (member->stopping_round) {
        member->stop_sent_ms = now_ms; /* STOP may reach it only now */
    }
    if (gang->state == GANG_STATE_CHECKING && gang->options.may_lack_result && event->index > 0 &&
        !is_same) {
        gang_queue_release(gang, event->index); /* it has come for nothing */
    }
    return true;
}

bool gang_is_hello_early(const struct gang *gang, const struct gang_event *hello) {
    if (hello->index < 0 || hello->index >= gang->options.workers) {
        return false;
    }
    const struct gang_member *member = &gang->members[hello->index];
    bool is_next = member->is_known && hello->attempt > member->attempt &&
                   hello->seen <= gang->options.attempt;
    bool leaves_orderly =
        member->is_leaving && member->is_connected && !member->is_lost && member->running_round;
    bool has_time = gang->state == GANG_STATE_STOPPING ||
                    (gang->state == GANG_STATE_RUNNING && gang->notice_until_ms >= 0);
    return is_next && leaves_orderly && has_time;
}

static void note_stopped(struct gang_member *member, int64_t round) {
    if (round >= member->running_round) {
        member->running_round = member->stopping_round = 0;
        member->is_lost = false; /* slow, but it has responded */
    }
}

static void handle_known(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    struct gang_member *member = &gang->members[event->index];
    struct gang_failure why = {.index = event->index, .rank = event->rank, .code = event->code};
    switch (event->kind) {
    case GANG_EVENT_HELLO:
        break;
    case GANG_EVENT_PREPARED:
        member->is_prepared = true;
        break;
    case GANG_EVENT_READY:
        member->ready_round = event->round == gang->round ? event->round : member->ready_round;
        break;
    case GANG_EVENT_UNREACHABLE:
        why = (struct gang_failure){
            .cause = GANG_CAUSE_LOST, .index = event->index, .rank = -1, .code = -1};
        if (member->is_in_round && event->round == gang->round) {
            gang_fail_round(gang, &why, event->detail, now_ms);
        }
        break;
    case GANG_EVENT_EXITED:
        gang_exited(gang, event, now_ms);
        break;
    case GANG_EVENT_STOPPED:
        note_stopped(member, event->round);
        break;
    case GANG_EVENT_LEAVING:
        member->is_leaving = true;
        if (member->is_in_round) {
            gang_leaving(gang, event, now_ms);
        }
        break;
    case GANG_EVENT_DISCONNECTED:
        member->disconnected_ms = member->is_connected ? now_ms : member->disconnected_ms;
        member->is_connected = false;
        gang_disconnected(gang, event->index, now_ms);
        break;
    case GANG_EVENT_HEARTBEAT:
        if (member->is_in_round) {
            gang_heartbeat(gang, event, now_ms);
        }
        break;
    case GANG_EVENT_OOM_KILLED:
        why.cause = GANG_CAUSE_MEMORY;
        if (member->is_in_round) {
            gang_fail_round(gang, &why, event->detail, now_ms);
        }
        break;
    case GANG_EVENT_SUSPENDED:
        gang_suspended(gang, event);
        break;
    case GANG_EVENT_RANK_STARTED:
    case GANG_EVENT_RANK_ENDED:
    case GANG_EVENT_SPAWNED:
    case GANG_EVENT_SPAWN_ENDED:
        gang_rank_reported(gang, event);
        break;
    case GANG_EVENT_CHECKED:
        gang_checked(gang, event, now_ms);
        break;
    case GANG_EVENT_FATAL:
        why.cause = GANG_CAUSE_FATAL;
        gang_fail_round(gang, &why, event->detail, now_ms);
        break;
    }
}

bool gang_handle(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    bool is_current = false;
    if (event->index < 0 || event->index >= gang->options.workers ||
        gang->state == GANG_STATE_FINISHED) {
        return false;
    }
    if (event->kind == GANG_EVENT_HELLO) {
        is_current = hello(gang, event, now_ms);
    } else {
        const struct gang_member *member = &gang->members[event->index];
        is_current = member->is_known && strcmp(member->incarnation, event->incarnation) == 0;
        if (is_current) {
            handle_known(gang, event, now_ms);
        }
    }
    gang_advance(gang, now_ms);
    return is_current;
}

void gang_read_facts(struct gang *gang, struct gang_facts *ret_facts) {
    struct gang_facts facts = {.state = gang->state,
                               .round = gang->round,
                               .counted_restarts = gang->counted_restarts,
                               .uncounted_restarts = gang->uncounted_restarts,
                               .forgiven = gang->forgiven,
                               .last_failure = gang->last_failure,
                               .lost = gang->lost};
    bool are_released = gang->state == GANG_STATE_CHECKING && gang->options.may_lack_result;
    facts.proof_by = gang_known_by(gang, &facts.proof_count);
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        facts.registered += member->is_connected;
        facts.prepared += member->is_connected && member->is_prepared;
        facts.members += member->is_in_round;
        if (member->is_lost && !member->is_leaving && !are_released) {
            gang->lost[facts.lost_count++] = i;
        }
    }
    /* With only one other member, that one is chosen. */
    size_t others = (size_t)gang->options.workers - 1;
    if (others > 1 && facts.lost_count * 2 > others) {
        gang->lost[0] = 0;
        facts.lost_count = 1;
    }
    *ret_facts = facts;
}
