// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void enter(struct gang *gang, enum gang_state state, int64_t now_ms) {
    gang->state = state;
    gang->since_ms = now_ms;
    gang->enough_since_ms = -1;
}

static void over(struct gang *gang, int code, int64_t now_ms) {
    enter(gang, GANG_OVER, now_ms);
    gang_act(gang, GANG_DONE)->code = code;
}

/* ---- why a round has failed ----------------------------------------------------------------- */

/* An exit may be the consequence of an event that is reported later; these causes are not. */
static bool explains_itself(const struct gang_verdict *verdict) {
    bool is_exit =
        verdict->cause == GANG_APP || (verdict->cause == GANG_HUNG && verdict->code >= 0);
    return verdict->cause != GANG_CAUSE_NONE && !is_exit;
}

void gang_blame(struct gang *gang, const struct gang_verdict *why, const char *words,
                int64_t now_ms) {
    struct gang_verdict *verdict = &gang->verdict;
    bool is_round = gang->state >= GANG_ARMING && gang->state <= GANG_STOPPING;
    bool is_better = verdict->cause == GANG_CAUSE_NONE ||
                     (!explains_itself(verdict) &&
                      (explains_itself(why) || (verdict->rank < 0 && why->rank >= 0)));
    if (!is_round && why->cause == GANG_NO_RETRY) { /* `prepare` failed */
        gang->last = *why;
        snprintf(gang->last.words, sizeof gang->last.words, "%s", words ? words : "");
        over(gang, 1, now_ms);
        return;
    }
    if (gang->notice_until_ms >= 0) { /* a second failure: do not wait for a last checkpoint */
        gang->notice_until_ms = now_ms;
    }
    if (!is_better || !is_round) {
        return;
    }
    *verdict = *why;
    snprintf(verdict->words, sizeof verdict->words, "%s", words ? words : "");
    gang->settle_ms = now_ms;
    if (!explains_itself(why)) {
        gang->settle_ms += why->rank < 0 ? GANG_EXPLAIN_MS : GANG_SETTLE_MS;
    }
}

static void blame(struct gang *gang, enum gang_cause cause, int index, const char *words,
                  int64_t now_ms) {
    struct gang_verdict why = {.cause = cause, .index = index, .rank = -1, .code = -1};
    gang_blame(gang, &why, words, now_ms);
}

/* While a member of the round is silent, another member's exit may be its fault. */
static bool is_one_silent(const struct gang *gang) {
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        if (member->is_in_round && !member->is_connected && !member->is_lost) {
            return true;
        }
    }
    return false;
}

static bool is_settled(const struct gang *gang, int64_t now_ms) {
    return explains_itself(&gang->verdict) || (now_ms >= gang->settle_ms && !is_one_silent(gang));
}

/* ---- the end of a round --------------------------------------------------------------------- */

static void stop(struct gang *gang, int64_t now_ms) {
    enter(gang, GANG_STOPPING, now_ms);
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        if (member->is_in_round && member->runs) {
            member->stopping = gang->round;
            member->stop_ms = now_ms;
        }
    }
    gang_act(gang, GANG_STOP);
}

static int64_t doubled(int64_t first_ms, int times) {
    int64_t ms = first_ms;
    while (times-- > 0 && ms < GANG_BACKOFF_MAX_MS) {
        ms *= 2;
    }
    return MIN(ms, (int64_t)GANG_BACKOFF_MAX_MS);
}

/* Everything has stopped, and the cause is known. */
static void conclude(struct gang *gang, int64_t now_ms) {
    enum gang_cause cause = gang->verdict.cause;
    bool is_counted = gang_cause_is_counted(cause);
    gang->last = gang->verdict;
    gang->fruitless = gang->moves > 1 ? 1 : gang->fruitless + 1;
    for (int i = 0; i < gang->options.workers; i++) {
        gang->members[i].is_in_round = false;
    }
    if (cause == GANG_NO_RETRY || (is_counted && gang->counted >= gang->options.max_restarts)) {
        over(gang, 1, now_ms);
        return;
    }
    gang->counted += is_counted;
    gang->disrupted += !is_counted;
    int64_t pause_ms = is_counted ? doubled(gang->options.backoff_ms, gang->fruitless - 1)
                       : gang->fruitless > 1 ? doubled(1000, gang->fruitless - 2)
                                             : 0;
    gang->back_until_ms = now_ms + pause_ms;
    enter(gang, GANG_BACKING_OFF, now_ms);
}

/* ---- events of a running round -------------------------------------------------------------- */

void gang_exited(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    if (event->round != gang->round ||
        (gang->state != GANG_RUNNING && gang->state != GANG_STOPPING)) {
        return;
    }
    if (event->code != 0) {
        struct gang_verdict why = {.cause = event->gives_up ? GANG_HUNG : GANG_APP,
                                   .index = event->index,
                                   .rank = event->rank,
                                   .code = event->code};
        gang_blame(gang, &why, event->words, now_ms);
        return;
    }
    /* After STOP a program may exit with 0 because of the signal. */
    if (gang->state != GANG_RUNNING) {
        return;
    }
    if (gang->options.processes == 0) {
        if (event->rank < 0 && event->index == 0) {
            over(gang, 0, now_ms);
        }
        return;
    }
    if (event->rank >= 0 && (size_t)event->rank < gang->rank_count &&
        !gang->ranks[event->rank].is_done) {
        gang->ranks[event->rank].is_done = true;
        gang->moved_ms = now_ms;
        if (++gang->ranks_done == gang->rank_count) {
            over(gang, 0, now_ms);
        }
    }
}

void gang_beat(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    if (gang->state != GANG_RUNNING || event->rank < 0) {
        return;
    }
    /* A rank whose number is not in any table (mpirun -np 9 on 4 slots) still counts as moving. */
    bool is_known = (size_t)event->rank < gang->rank_count;
    struct gang_rank *rank = is_known ? &gang->ranks[event->rank] : NULL;
    if (!rank || rank->progress != event->progress) {
        gang->moved_ms = now_ms;
        gang->moves++;
    }
    if (rank) {
        rank->beat_ms = now_ms;
        rank->progress = event->progress;
        rank->is_waiting = event->is_waiting;
    }
}

/* True if all members of a gang of several leave: the job is being deleted and will not restart. A
 * gang of one may also be evicted, and continues elsewhere from its checkpoint. */
static bool do_all_leave(const struct gang *gang) {
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
    int64_t grace_ms = MIN(MAX((int64_t)event->seconds, 0) * 1000,
                           do_all_leave(gang) ? options->parting_ms : options->notice_ms);
    int64_t until_ms = gang->notice_until_ms; /* of the members that are leaving already */
    bool is_healthy = gang->state == GANG_RUNNING && (!gang->verdict.cause || until_ms >= 0);
    blame(gang, GANG_DISRUPTION, event->index, event->words, now_ms);
    if (!is_healthy) {
        return;
    }
    gang->notice_until_ms = until_ms < 0 ? now_ms + grace_ms : MIN(until_ms, now_ms + grace_ms);
    if (until_ms < 0 && grace_ms > 0) {
        gang_act(gang, GANG_NOTICE)->seconds = (int)(grace_ms / 1000);
    }
}

void gang_silent(struct gang *gang, int index, int64_t now_ms) {
    const struct gang_member *member = &gang->members[index];
    if (member->is_in_round && member->is_leaving && gang->notice_until_ms >= 0) {
        gang->notice_until_ms = now_ms; /* it has left */
    }
}

/* The pod of that rank: all pods of the round have the same number of ranks. -1: none. */
static int index_of(const struct gang *gang, int rank) {
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

/* Reported after STOP: a stopped process explains a hang better than silence does. */
void gang_halted(struct gang *gang, const struct gang_event *event) {
    struct gang_verdict *verdict = &gang->verdict;
    if (event->round == gang->round && gang->state == GANG_STOPPING &&
        verdict->cause == GANG_HUNG) {
        verdict->index = event->index;
        verdict->rank = event->rank; /* -1: one of mpirun's ranks, unknown which */
        verdict->code = -1;
        snprintf(verdict->words, sizeof verdict->words, "%s", event->words ? event->words : "");
    }
}

/* If the kernel kills a whole container at once (memory.oom.group), no process can report it: the
 * pod was silent, and it counts as lost if its successor was slow. */
void gang_explain_loss(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    bool is_round = gang->state >= GANG_ARMING && gang->state <= GANG_STOPPING;
    struct gang_verdict *verdict = is_round ? &gang->verdict : &gang->last;
    if (verdict->cause != GANG_LOST || gang->silent != event->index) {
        return; /* the pod reported this itself, so it survived */
    }
    verdict->cause = GANG_OUT_OF_MEMORY;
    snprintf(verdict->words, sizeof verdict->words, "%s", event->words ? event->words : "");
    if (is_round) { /* counted when all have stopped */
        return;
    }
    gang->disrupted--;
    if (gang->counted >= gang->options.max_restarts) {
        over(gang, 1, now_ms);
    } else {
        gang->counted++;
    }
}

/* The rank whose heartbeat has stopped; otherwise, of the ranks that do not wait for others, the
 * one that moved longest ago. */
static int hung_rank(const struct gang *gang, int64_t now_ms) {
    int oldest = -1, busy = -1;
    for (size_t i = 0; i < gang->rank_count; i++) {
        const struct gang_rank *rank = &gang->ranks[i];
        if (rank->is_done || rank->beat_ms < 0) {
            continue;
        }
        if (now_ms - rank->beat_ms > GANG_LOST_MS &&
            (oldest < 0 || rank->beat_ms < gang->ranks[oldest].beat_ms)) {
            oldest = (int)i;
        }
        if (!rank->is_waiting && (busy < 0 || rank->beat_ms < gang->ranks[busy].beat_ms)) {
            busy = (int)i;
        }
    }
    return oldest >= 0 ? oldest : busy;
}

/* The first step takes longer, since it loads, compiles and connects. */
static int64_t hang_at_ms(const struct gang *gang) {
    int64_t patience_ms = gang->options.hang_ms * (gang->moves ? 1 : 3);
    return gang->options.hang_ms > 0 ? gang->moved_ms + patience_ms : INT64_MAX;
}

static void look_at_ranks(struct gang *gang, int64_t now_ms) {
    if (now_ms >= hang_at_ms(gang)) {
        struct gang_verdict why = {.cause = GANG_HUNG, .code = -1};
        AUTO(text_freep)
        char *words = x_printf("no word of any rank for %lld s (spec.restart.hangSeconds)",
                               (long long)(now_ms - gang->moved_ms) / 1000);
        why.rank = hung_rank(gang, now_ms);
        why.index = index_of(gang, why.rank);
        gang_blame(gang, &why, words, now_ms);
    }
    if (now_ms - gang->since_ms >= GANG_FRUITFUL_MS) {
        gang->moves = MAX(gang->moves, 2);
    }
    /* A round with a cause ends at once or, after a notice, when the time for a last checkpoint is
     * over. */
    if (gang->verdict.cause && (gang->notice_until_ms < 0 || now_ms >= gang->notice_until_ms)) {
        stop(gang, now_ms);
    }
}

/* ---- the start of a round ------------------------------------------------------------------- */

static bool is_usable(const struct gang_member *member) {
    return member->is_connected && member->is_prepared && !member->is_leaving && !member->is_lost &&
           member->runs == 0;
}

static void arm(struct gang *gang, int count, int64_t now_ms) {
    gang->round = gang->round ? gang->round + 1 : gang->options.attempt << GANG_ROUND_BITS | 1;
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        member->is_in_round = is_usable(member);
        member->runs = member->is_in_round ? gang->round : member->runs;
    }
    size_t each = (size_t)MAX(gang->options.processes, 1);
    each = gang->options.processes ? each : (size_t)gang->options.slots;
    free(gang->ranks);
    gang->rank_count = each * (size_t)count;
    gang->ranks = x_calloc(gang->rank_count, sizeof *gang->ranks);
    for (size_t i = 0; i < gang->rank_count; i++) {
        gang->ranks[i].beat_ms = -1;
    }
    gang->ranks_done = 0;
    gang->moves = 0;
    gang->notice_until_ms = -1;
    gang->verdict = (struct gang_verdict){.index = -1, .rank = -1, .code = -1};
    gang->silent = -1;
    enter(gang, GANG_ARMING, now_ms);
    gang_act(gang, GANG_ARM);
}

/* When a gang of fewer than all starts; INT64_MAX: unknown yet. A member that is missing may still
 * run a round of an earlier hub; it ends that by itself within this time. */
static int64_t smaller_at_ms(const struct gang *gang) {
    int64_t at_ms = gang->enough_since_ms + gang->options.wait_ms;
    for (int i = 0; i < gang->options.workers; i++) {
        at_ms = gang->members[i].is_known ? at_ms : MAX(at_ms, gang->born_ms + GANG_FENCE_MS);
    }
    return gang->enough_since_ms < 0 ? INT64_MAX : at_ms;
}

static void gather(struct gang *gang, int64_t now_ms) {
    int count = 0;
    for (int i = 0; i < gang->options.workers; i++) {
        count += is_usable(&gang->members[i]);
    }
    if (count < gang->options.min_workers || !is_usable(&gang->members[0])) {
        gang->enough_since_ms = -1;
        return;
    }
    gang->enough_since_ms = gang->enough_since_ms < 0 ? now_ms : gang->enough_since_ms;
    if (count == gang->options.workers || now_ms >= smaller_at_ms(gang)) {
        arm(gang, count, now_ms);
    }
}

static void await_ready(struct gang *gang, int64_t now_ms) {
    int missing = 0;
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        bool is_late = member->is_in_round && member->ready != gang->round;
        /* A lost member may return just now, with programs that still run. */
        bool is_stray = !member->is_in_round && member->runs && !member->is_lost;
        missing += is_late || is_stray || (member->is_in_round && !member->is_connected);
        if (is_late && member->is_connected && now_ms - gang->since_ms >= GANG_ARM_MS) {
            member->is_lost = true;
            blame(gang, GANG_LOST, i, "it did not get ready", now_ms);
        }
    }
    if (gang->verdict.cause) {
        stop(gang, now_ms);
    } else if (missing == 0) {
        enter(gang, GANG_RUNNING, now_ms);
        gang->moved_ms = now_ms;
        gang_act(gang, GANG_START);
    }
}

/* ---- all together --------------------------------------------------------------------------- */

static void look_at_members(struct gang *gang, int64_t now_ms) {
    for (int i = 0; i < gang->options.workers; i++) {
        struct gang_member *member = &gang->members[i];
        if (!member->is_known || member->is_lost) {
            continue;
        }
        if (!member->is_connected && now_ms - member->silent_ms >= GANG_LOST_MS) {
            member->is_lost = true;
        } else if (member->stopping && now_ms - member->stop_ms >= GANG_STOP_MS) {
            member->is_lost = true;
        }
        if (member->is_lost && member->is_in_round) {
            bool is_news = !explains_itself(&gang->verdict);
            blame(gang, GANG_LOST, i, "it does not answer", now_ms);
            gang->silent = is_news ? i : gang->silent;
        }
    }
}

static bool have_stopped(const struct gang *gang) {
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        if (member->is_in_round && member->runs && !member->is_lost) {
            return false;
        }
    }
    return true;
}

void gang_course(struct gang *gang, int64_t now_ms) {
    enum gang_state before;
    gang->born_ms = gang->born_ms < 0 ? now_ms : gang->born_ms;
    if (gang->state == GANG_OVER) {
        return;
    }
    look_at_members(gang, now_ms);
    do {
        before = gang->state;
        switch (gang->state) {
        case GANG_GATHERING:
            gather(gang, now_ms);
            break;
        case GANG_ARMING:
            await_ready(gang, now_ms);
            break;
        case GANG_RUNNING:
            look_at_ranks(gang, now_ms);
            break;
        case GANG_STOPPING:
            if (have_stopped(gang) && is_settled(gang, now_ms)) {
                conclude(gang, now_ms);
            }
            break;
        case GANG_BACKING_OFF:
            if (now_ms >= gang->back_until_ms) {
                enter(gang, GANG_GATHERING, now_ms);
            }
            break;
        case GANG_OVER:
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
        at_ms = member->silent_ms + GANG_LOST_MS;
    }
    if (member->stopping) {
        at_ms = MIN(at_ms, member->stop_ms + GANG_STOP_MS);
    }
    if (gang->state == GANG_ARMING && member->is_in_round && member->is_connected &&
        member->ready != gang->round) {
        at_ms = MIN(at_ms, gang->since_ms + GANG_ARM_MS);
    }
    return at_ms;
}

int64_t gang_wake_ms(const struct gang *gang) {
    int64_t at_ms = INT64_MAX;
    if (gang->first) {
        return 0;
    }
    if (gang->state == GANG_OVER) {
        return at_ms;
    }
    for (int i = 0; i < gang->options.workers; i++) {
        at_ms = MIN(at_ms, lost_at_ms(gang, &gang->members[i]));
    }
    if (gang->state == GANG_GATHERING) {
        at_ms = MIN(at_ms, smaller_at_ms(gang));
    } else if (gang->state == GANG_RUNNING) {
        at_ms = MIN(at_ms, hang_at_ms(gang));
        at_ms = gang->notice_until_ms >= 0 ? MIN(at_ms, gang->notice_until_ms) : at_ms;
    } else if (gang->state == GANG_STOPPING && have_stopped(gang) && !is_one_silent(gang)) {
        at_ms = MIN(at_ms, gang->settle_ms);
    } else if (gang->state == GANG_BACKING_OFF) {
        at_ms = MIN(at_ms, gang->back_until_ms);
    }
    return at_ms;
}
