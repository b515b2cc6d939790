// SPDX-License-Identifier: Apache-2.0
/* The course of a round: who came, who ended, why it failed. */
#include "agent/launch/gang/gang_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void enter(struct gang *gang, enum gang_state state, int64_t now_ms) {
    gang->state = state;
    gang->since_ms = now_ms;
    gang->quorum_since_ms = -1;
}

static void finish(struct gang *gang, int code, int64_t now_ms) {
    enter(gang, GANG_STATE_FINISHED, now_ms);
    gang_queue_action(gang, GANG_ACTION_FINISH)->code = code;
}

/* ---- why a round has failed ----------------------------------------------------------------- */

/* An exit may be the consequence of an event that is reported later; these causes are not. */
static bool is_conclusive(const struct gang_failure *failure) {
    bool is_exit = failure->cause == GANG_CAUSE_APP ||
                   (failure->cause == GANG_CAUSE_HANG && failure->code >= 0);
    return failure->cause != GANG_CAUSE_NONE && !is_exit;
}

void gang_fail_round(struct gang *gang, const struct gang_failure *why, const char *detail,
                     int64_t now_ms) {
    struct gang_failure *failure = &gang->failure;
    bool is_round = gang->state >= GANG_STATE_CONFIGURING && gang->state <= GANG_STATE_STOPPING;
    bool is_better =
        failure->cause == GANG_CAUSE_NONE ||
        (!is_conclusive(failure) && (is_conclusive(why) || (failure->rank < 0 && why->rank >= 0)));
    if (gang->state == GANG_STATE_CHECKING) {
        return; /* nothing runs any more, so nothing can fail */
    }
    if (!is_round && why->cause == GANG_CAUSE_FATAL) { /* `prepare` failed */
        gang->last_failure = *why;
        snprintf(gang->last_failure.detail, sizeof gang->last_failure.detail, "%s",
                 detail ? detail : "");
        finish(gang, 1, now_ms);
        return;
    }
    if (gang->notice_until_ms >= 0) { /* a second failure: do not wait for a last checkpoint */
        gang->notice_until_ms = now_ms;
    }
    if (!is_better || !is_round) {
        return;
    }
    *failure = *why;
    snprintf(failure->detail, sizeof failure->detail, "%s", detail ? detail : "");
    gang->failure_final_ms = now_ms;
    if (!is_conclusive(why)) {
        gang->failure_final_ms += why->rank < 0 ? GANG_EXPLAIN_COMMAND_MS : GANG_EXPLAIN_RANK_MS;
    }
}

static void fail_by(struct gang *gang, enum gang_cause cause, int index, const char *detail,
                    int64_t now_ms) {
    struct gang_failure why = {.cause = cause, .index = index, .rank = -1, .code = -1};
    gang_fail_round(gang, &why, detail, now_ms);
}

/* While a member of the round is silent, another member's exit may be its fault, and its own
 * reports are still to come. */
static bool is_one_disconnected(const struct gang *gang) {
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        if (member->is_in_round && !member->is_connected && !member->is_lost) {
            return true;
        }
    }
    return false;
}

static bool is_failure_final(const struct gang *gang, int64_t now_ms) {
    return is_conclusive(&gang->failure) ||
           (now_ms >= gang->failure_final_ms && !is_one_disconnected(gang));
}

/* ---- the end of a round --------------------------------------------------------------------- */

static void stop(struct gang *gang, int64_t now_ms) {
    enter(gang, GANG_STATE_STOPPING, now_ms);
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        if (member->is_in_round && member->running_round) {
            member->stopping_round = gang->round;
            member->stop_sent_ms = now_ms;
        }
    }
    gang_queue_action(gang, GANG_ACTION_STOP);
}

static int64_t backoff_after(int64_t first_ms, int times) {
    int64_t ms = first_ms;
    while (times-- > 0 && ms < GANG_BACKOFF_MAX_MS) {
        ms *= 2;
    }
    return MIN(ms, (int64_t)GANG_BACKOFF_MAX_MS);
}

/* Everything has stopped, and the cause is known. */
static void conclude(struct gang *gang, int64_t now_ms) {
    gang_recognize_final(gang);
    enum gang_cause cause = gang->failure.cause;
    bool is_counted = gang_cause_is_counted(cause);
    gang->last_failure = gang->failure;
    gang->rounds_without_progress =
        gang->progress_count > 1 ? 1 : gang->rounds_without_progress + 1;
    for (int i = 0; i < gang->options.workers; i++) {
        gang->members[i].is_in_round = false;
    }
    if (gang_cause_is_final(cause) || (is_counted && !gang_count_restart(gang))) {
        finish(gang, 1, now_ms);
        return;
    }
    gang->uncounted_restarts += !is_counted;
    int64_t pause_ms =
        is_counted ? backoff_after(gang->options.backoff_ms, gang->rounds_without_progress - 1)
        : gang->rounds_without_progress > 1 ? backoff_after(1000, gang->rounds_without_progress - 2)
                                            : 0;
    gang->backoff_until_ms = now_ms + pause_ms;
    enter(gang, GANG_STATE_BACKOFF, now_ms);
}

/* ---- events of a running round -------------------------------------------------------------- */

/* All have ended with 0. */
static void succeed(struct gang *gang, int64_t now_ms) {
    if (gang->options.checks_result) {
        enter(gang, GANG_STATE_CHECKING, now_ms);
        gang_queue_action(gang, GANG_ACTION_CHECK);
        if (gang->options.may_lack_result) { /* no further round can follow */
            gang_queue_action(gang, GANG_ACTION_RELEASE);
        }
    } else {
        finish(gang, 0, now_ms);
    }
}

void gang_exited(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    if (event->round != gang->round ||
        (gang->state != GANG_STATE_RUNNING && gang->state != GANG_STATE_STOPPING)) {
        return;
    }
    gang_note_signal(gang, event->code, now_ms);
    if (event->code != 0) {
        struct gang_failure why = {.cause = event->gives_up ? GANG_CAUSE_HANG : GANG_CAUSE_APP,
                                   .index = event->index,
                                   .rank = event->rank,
                                   .code = event->code};
        gang_fail_round(gang, &why, event->detail, now_ms);
        return;
    }
    /* After STOP a program may exit with 0 because of the signal. */
    if (gang->state != GANG_STATE_RUNNING) {
        return;
    }
    if (gang->options.processes == 0) {
        if (event->rank < 0 && event->index == 0 && gang->command_ended_ms < 0) {
            gang->command_ended_ms = now_ms; /* settle */
        }
        return;
    }
    if (event->rank >= 0 && (size_t)event->rank < gang->rank_count &&
        gang_index_of(gang, event->rank) == event->index && !gang->ranks[event->rank].is_done) {
        gang->ranks[event->rank].is_done = true;
        gang->progressed_ms = now_ms;
        if (++gang->ranks_done == gang->rank_count) {
            succeed(gang, now_ms);
        }
    }
}

/* The command has ended with 0. A member that is silent may bring its reports when it is back; if
 * it is lost instead, that is the cause. */
static void conclude_command(struct gang *gang, int64_t now_ms) {
    struct gang_proof_reason reason;
    enum gang_proof_state state = gang_settled(gang, &reason);
    bool is_late = now_ms - gang->command_ended_ms >= GANG_EXPLAIN_COMMAND_MS;
    if (state == GANG_PROOF_COMPLETE) {
        succeed(gang, now_ms);
    } else if (state == GANG_PROOF_FAILED || (is_late && !is_one_disconnected(gang))) {
        struct gang_failure why = {GANG_CAUSE_APP, reason.index, reason.rank, reason.code, ""};
        gang_fail_round(gang, &why, reason.detail, now_ms);
    }
}

/* The stored result is not complete. In RUNNING the failure leads to STOPPING. */
static void fail_check(struct gang *gang, const char *detail, int64_t now_ms) {
    struct gang_failure why = {.cause = GANG_CAUSE_APP, .index = 0, .rank = 0, .code = -1};
    enter(gang, GANG_STATE_RUNNING, now_ms);
    gang->command_ended_ms = -1;
    gang->progressed_ms = now_ms;
    gang_fail_round(gang, &why, detail, now_ms);
}

static void end_check(struct gang *gang, bool is_whole, const char *detail, int64_t now_ms) {
    if (is_whole || gang->options.may_lack_result) {
        finish(gang, 0, now_ms);
    } else {
        fail_check(gang, detail, now_ms);
    }
}

void gang_checked(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    if (gang->state != GANG_STATE_CHECKING || event->round != gang->round) {
        return;
    }
    end_check(gang, event->code == 0, event->detail, now_ms);
}

void gang_heartbeat(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    if (gang->state != GANG_STATE_RUNNING || event->rank < 0) {
        return;
    }
    /* A rank whose number is not in any table (mpirun -np 9 on 4 slots) still counts as moving. */
    bool is_known = (size_t)event->rank < gang->rank_count;
    struct gang_rank *rank = is_known ? &gang->ranks[event->rank] : NULL;
    if (!rank || rank->progress != event->progress) {
        gang->progressed_ms = now_ms;
        gang->progress_count++;
        gang->has_progressed |= !rank || ++rank->changes > 1;
    }
    if (rank) {
        rank->heartbeat_ms = now_ms;
        rank->progress = event->progress;
        rank->is_waiting = event->is_waiting;
    }
}

/* True if all members of a gang of several leave: the job is being deleted and will not restart. A
 * gang of one may also be evicted, and continues elsewhere from its checkpoint. */
static bool are_all_leaving(const struct gang *gang) {
    int count = 0;
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        if (member->is_in_round && !member->is_leaving && !member->is_lost) {
            return false;
        }
        count += member->is_in_round;
    }
    return count > 1;
}

void gang_leaving(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    const struct gang_options *options = &gang->options;
    int64_t grace_ms =
        MIN(MAX((int64_t)event->seconds, 0) * 1000,
            are_all_leaving(gang) ? options->deletion_notice_ms : options->notice_ms);
    int64_t until_ms = gang->notice_until_ms; /* of the members that are leaving already */
    bool is_healthy = gang->state == GANG_STATE_RUNNING && (!gang->failure.cause || until_ms >= 0);
    fail_by(gang, GANG_CAUSE_DISRUPTION, event->index, event->detail, now_ms);
    if (!is_healthy) {
        return;
    }
    gang->notice_until_ms = until_ms < 0 ? now_ms + grace_ms : MIN(until_ms, now_ms + grace_ms);
    if (until_ms < 0 && grace_ms > 0) {
        gang_queue_action(gang, GANG_ACTION_NOTICE)->seconds = (int)(grace_ms / 1000);
    }
}

void gang_disconnected(struct gang *gang, int index, int64_t now_ms) {
    const struct gang_member *member = &gang->members[index];
    if (member->is_in_round && member->is_leaving && gang->notice_until_ms >= 0) {
        gang->notice_until_ms = now_ms; /* it has left */
    }
}

/* Reported after STOP: a stopped process explains a hang better than silence does. */
void gang_suspended(struct gang *gang, const struct gang_event *event) {
    struct gang_failure *failure = &gang->failure;
    if (event->round == gang->round && gang->state == GANG_STATE_STOPPING &&
        failure->cause == GANG_CAUSE_HANG) {
        failure->index = event->index;
        failure->rank = event->rank; /* -1: one of mpirun's ranks, unknown which */
        failure->code = -1;
        snprintf(failure->detail, sizeof failure->detail, "%s", event->detail ? event->detail : "");
    }
}

/* If the kernel kills a whole container at once (memory.oom.group), no process can report it: the
 * pod was silent, and it counts as lost if its successor was slow. */
void gang_explain_loss(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    bool is_round = gang->state >= GANG_STATE_CONFIGURING && gang->state <= GANG_STATE_STOPPING;
    struct gang_failure *failure = is_round ? &gang->failure : &gang->last_failure;
    if (failure->cause != GANG_CAUSE_LOST || gang->unresponsive != event->index) {
        return; /* the pod reported this itself, so it survived */
    }
    failure->cause = GANG_CAUSE_MEMORY;
    snprintf(failure->detail, sizeof failure->detail, "%s", event->detail ? event->detail : "");
    if (is_round) { /* counted when all have stopped */
        return;
    }
    gang->uncounted_restarts--;
    if (!gang_count_restart(gang)) {
        finish(gang, 1, now_ms);
    }
}

/* The rank whose heartbeat has stopped; otherwise, of the ranks that do not wait for others, the
 * one that moved longest ago. */
static int hung_rank(const struct gang *gang, int64_t now_ms) {
    int oldest = -1, busy = -1;
    for (size_t i = 0; i < gang->rank_count; i++) {
        const struct gang_rank *rank = &gang->ranks[i];
        if (rank->is_done || rank->heartbeat_ms < 0) {
            continue;
        }
        if (now_ms - rank->heartbeat_ms > GANG_LOST_MS &&
            (oldest < 0 || rank->heartbeat_ms < gang->ranks[oldest].heartbeat_ms)) {
            oldest = (int)i;
        }
        if (!rank->is_waiting &&
            (busy < 0 || rank->heartbeat_ms < gang->ranks[busy].heartbeat_ms)) {
            busy = (int)i;
        }
    }
    return oldest >= 0 ? oldest : busy;
}

/* The first step takes longer, since it loads, compiles and connects. */
static int64_t hang_at_ms(const struct gang *gang) {
    int64_t timeout_ms = gang->options.hang_ms * (gang->progress_count ? 1 : 3);
    return gang->options.hang_ms > 0 ? gang->progressed_ms + timeout_ms : INT64_MAX;
}

static void check_ranks(struct gang *gang, int64_t now_ms) {
    if (gang->command_ended_ms >= 0) {
        conclude_command(gang, now_ms);
        if (gang->state != GANG_STATE_RUNNING) {
            return;
        }
    } else if (now_ms >= hang_at_ms(gang)) {
        struct gang_failure why = {.cause = GANG_CAUSE_HANG, .code = -1};
        AUTO(text_freep)
        char *detail = x_printf("no rank made progress for %lld s (spec.restart.hangSeconds)",
                                (long long)(now_ms - gang->progressed_ms) / 1000);
        why.rank = hung_rank(gang, now_ms);
        why.index = gang_index_of(gang, why.rank);
        gang_fail_round(gang, &why, detail, now_ms);
    }
    if (now_ms - gang->since_ms >= GANG_STABLE_MS) {
        gang->progress_count = MAX(gang->progress_count, 2);
        gang->has_progressed = true;
        gang->has_done_more = true;
    }
    /* A round with a cause ends at once or, after a notice, when the time for a last checkpoint is
     * over. */
    if (gang->failure.cause && (gang->notice_until_ms < 0 || now_ms >= gang->notice_until_ms)) {
        stop(gang, now_ms);
    }
}

/* ---- the start of a round ------------------------------------------------------------------- */

static bool is_usable(const struct gang_member *member) {
    return member->is_connected && member->is_prepared && !member->is_leaving && !member->is_lost &&
           member->running_round == 0;
}

static void configure(struct gang *gang, int count, int64_t now_ms) {
    gang->round = MAX(gang->round + 1, gang->options.attempt << GANG_ROUND_BITS | 1);
    gang->is_resumed = false;
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        member->is_in_round = is_usable(member);
        member->running_round = member->is_in_round ? gang->round : member->running_round;
    }
    size_t each = (size_t)MAX(gang->options.processes, 1);
    each = gang->options.processes ? each : (size_t)gang->options.slots;
    free(gang->ranks);
    gang->rank_count = each * (size_t)count;
    gang->ranks = x_calloc(gang->rank_count, sizeof *gang->ranks);
    for (size_t i = 0; i < gang->rank_count; i++) {
        gang->ranks[i].heartbeat_ms = -1;
    }
    gang->ranks_done = 0;
    gang_proof_free(gang->proof);
    gang->proof = gang_proof_new();
    gang->open_spawns = 0;
    gang->command_ended_ms = -1;
    gang->progress_count = 0;
    gang->notice_until_ms = -1;
    gang->failure = (struct gang_failure){.index = -1, .rank = -1, .code = -1};
    gang->unresponsive = -1;
    gang->look_since_ms = -1;
    gang->has_looked = false;
    gang->is_signalled = false;
    enter(gang, GANG_STATE_CONFIGURING, now_ms);
    gang_queue_action(gang, GANG_ACTION_CONFIGURE);
}

/* When a gang of fewer than all starts; INT64_MAX: unknown yet. A member that is missing may still
 * run a round of an earlier hub; it ends that by itself within this time. */
static int64_t partial_start_ms(const struct gang *gang) {
    int64_t at_ms = gang->quorum_since_ms + gang->options.gather_timeout_ms;
    for (int i = 0; i < gang->options.workers; i++) {
        at_ms = gang->members[i].is_known ? at_ms
                                          : MAX(at_ms, gang->first_call_ms + GANG_SELF_FENCE_MS);
    }
    return gang->quorum_since_ms < 0 ? INT64_MAX : at_ms;
}

static void gather(struct gang *gang, int64_t now_ms) {
    int count = 0;
    for (int i = 0; i < gang->options.workers; i++) {
        count += is_usable(&gang->members[i]);
    }
    if (count < gang->options.min_workers || !is_usable(&gang->members[0])) {
        gang->quorum_since_ms = -1;
        return;
    }
    gang->quorum_since_ms = gang->quorum_since_ms < 0 ? now_ms : gang->quorum_since_ms;
    if (count == gang->options.workers || now_ms >= partial_start_ms(gang)) {
        configure(gang, count, now_ms);
    }
}

static void await_ready(struct gang *gang, int64_t now_ms) {
    int missing = 0;
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        bool is_late = member->is_in_round && member->ready_round != gang->round;
        /* A lost member may return just now, with programs that still run. */
        bool runs_old_round = !member->is_in_round && member->running_round && !member->is_lost;
        missing += is_late || runs_old_round || (member->is_in_round && !member->is_connected);
        if (is_late && member->is_connected && now_ms - gang->since_ms >= GANG_READY_TIMEOUT_MS) {
            member->is_lost = true;
            fail_by(gang, GANG_CAUSE_LOST, i, "it was not ready in time", now_ms);
        }
    }
    if (gang->failure.cause) {
        stop(gang, now_ms);
    } else if (missing == 0) {
        enter(gang, GANG_STATE_RUNNING, now_ms);
        gang->progressed_ms = now_ms;
        gang_queue_action(gang, GANG_ACTION_START);
    }
}

/* ---- all together --------------------------------------------------------------------------- */

static void check_members(struct gang *gang, int64_t now_ms) {
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        if (!member->is_known || member->is_lost) {
            continue;
        }
        if (!member->is_connected && now_ms - member->disconnected_ms >= GANG_LOST_MS) {
            member->is_lost = true;
        } else if (member->stopping_round &&
                   now_ms - member->stop_sent_ms >= GANG_STOP_TIMEOUT_MS) {
            member->is_lost = true;
        }
        if (member->is_lost && member->is_in_round) {
            bool is_news = !is_conclusive(&gang->failure);
            fail_by(gang, GANG_CAUSE_LOST, i, "it does not answer", now_ms);
            gang->unresponsive = is_news ? i : gang->unresponsive;
        }
    }
}

static bool have_stopped(const struct gang *gang) {
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        if (member->is_in_round && member->running_round && !member->is_lost) {
            return false;
        }
    }
    return true;
}

void gang_advance(struct gang *gang, int64_t now_ms) {
    enum gang_state before;
    if (gang->first_call_ms < 0) {
        gang->first_call_ms = gang->since_ms = now_ms;
    }
    if (gang->state == GANG_STATE_FINISHED) {
        return;
    }
    check_members(gang, now_ms);
    do {
        before = gang->state;
        switch (gang->state) {
        case GANG_STATE_GATHERING:
            gather(gang, now_ms);
            break;
        case GANG_STATE_CONFIGURING:
            await_ready(gang, now_ms);
            break;
        case GANG_STATE_RUNNING:
            check_ranks(gang, now_ms);
            break;
        case GANG_STATE_STOPPING:
            if (have_stopped(gang) && is_failure_final(gang, now_ms) &&
                !gang_is_looking(gang, now_ms)) {
                conclude(gang, now_ms);
            }
            break;
        case GANG_STATE_BACKOFF:
            if (now_ms >= gang->backoff_until_ms) {
                enter(gang, GANG_STATE_GATHERING, now_ms);
            }
            break;
        case GANG_STATE_CHECKING:
            if (now_ms - gang->since_ms >= GANG_CHECK_MS) {
                end_check(gang, false, "the stored result could not be checked in time", now_ms);
            }
            break;
        case GANG_STATE_FINISHED:
            break;
        }
    } while (gang->state != before);
}

/* The time at which a silent or slow member counts as lost. */
static int64_t lost_at_ms(const struct gang *gang, const struct gang_member *member) {
    int64_t at_ms = INT64_MAX;
    if (!member->is_known || member->is_lost) {
        return at_ms;
    }
    if (!member->is_connected) {
        at_ms = member->disconnected_ms + GANG_LOST_MS;
    }
    if (member->stopping_round) {
        at_ms = MIN(at_ms, member->stop_sent_ms + GANG_STOP_TIMEOUT_MS);
    }
    if (gang->state == GANG_STATE_CONFIGURING && member->is_in_round && member->is_connected &&
        member->ready_round != gang->round) {
        at_ms = MIN(at_ms, gang->since_ms + GANG_READY_TIMEOUT_MS);
    }
    return at_ms;
}

/* When a round that has stopped is over without an event. */
static int64_t stopping_until_ms(const struct gang *gang) {
    bool is_known = is_conclusive(&gang->failure);
    if (!have_stopped(gang) || (!is_known && is_one_disconnected(gang))) {
        return INT64_MAX;
    }
    bool waits_for_look = gang->look_since_ms >= 0 && !gang->has_looked;
    return MAX(is_known ? 0 : gang->failure_final_ms,
               waits_for_look ? gang->look_since_ms + GANG_LOOK_MS : 0);
}

int64_t gang_deadline_ms(const struct gang *gang) {
    int64_t at_ms = INT64_MAX;
    if (gang->first) {
        return 0;
    }
    if (gang->state == GANG_STATE_FINISHED) {
        return at_ms;
    }
    for (int i = 0; i < gang->options.workers; i++) {
        at_ms = MIN(at_ms, lost_at_ms(gang, &gang->members[i]));
    }
    if (gang->state == GANG_STATE_GATHERING) {
        at_ms = MIN(at_ms, partial_start_ms(gang));
    } else if (gang->state == GANG_STATE_RUNNING) {
        at_ms = MIN(at_ms, gang->command_ended_ms < 0 ? hang_at_ms(gang)
                           : is_one_disconnected(gang)
                               ? INT64_MAX
                               : gang->command_ended_ms + GANG_EXPLAIN_COMMAND_MS);
        at_ms = gang->notice_until_ms >= 0 ? MIN(at_ms, gang->notice_until_ms) : at_ms;
    } else if (gang->state == GANG_STATE_STOPPING) {
        at_ms = MIN(at_ms, stopping_until_ms(gang));
    } else if (gang->state == GANG_STATE_CHECKING) {
        at_ms = MIN(at_ms, gang->since_ms + GANG_CHECK_MS);
    } else if (gang->state == GANG_STATE_BACKOFF) {
        at_ms = MIN(at_ms, gang->backoff_until_ms);
    }
    return at_ms;
}
