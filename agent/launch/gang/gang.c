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
    gang->options.parting_ms =
        options->parting_ms > 0 ? options->parting_ms : gang->options.notice_ms;
    gang->counted = options->counted;
    gang->disrupted = options->disrupted;
    gang->enough_since_ms = gang->notice_until_ms = gang->born_ms = -1;
    gang->verdict = gang->last = (struct gang_verdict){.index = -1, .rank = -1, .code = -1};
    gang->silent = -1;
    gang->end = &gang->first;
    return gang;
}

void gang_free(struct gang *gang) {
    if (!gang) {
        return;
    }
    gang_release_actions(gang);
    free(gang->ranks);
    free(gang);
}

bool gang_next(struct gang *gang, int64_t now_ms, struct gang_action *ret_action) {
    gang_course(gang, now_ms);
    return gang_take_action(gang, ret_action);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Another pod, or the same one after its agent has ended: its programs have ended with it. */
static void replace(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    struct gang_member *member = &gang->members[event->index];
    bool was_in_round = member->is_in_round, is_memory = member->is_known && event->is_memory;
    struct gang_verdict why = {.cause = is_memory ? GANG_OUT_OF_MEMORY : GANG_DISRUPTION,
                               .index = event->index,
                               .rank = -1,
                               .code = -1};
    *member = (struct gang_member){.is_known = true, .attempt = event->attempt};
    snprintf(member->incarnation, sizeof member->incarnation, "%s", event->incarnation);
    if (was_in_round) {
        gang_blame(gang, &why, is_memory ? event->words : "another pod is in its place", now_ms);
    }
    if (is_memory) {
        gang_explain_loss(gang, event, now_ms);
    }
    /* It stays in the round and gets a STOP although it runs nothing: it is ready for the next
     * round only after its response. */
    member->is_in_round = was_in_round && gang->state != GANG_STOPPING;
    member->runs = member->is_in_round ? gang->round : 0;
}

static bool hello(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    struct gang_member *member = &gang->members[event->index];
    bool is_same = member->is_known && strcmp(member->incarnation, event->incarnation) == 0;
    if (event->seen > gang->options.attempt) {
        gang->state = GANG_OVER;
        gang_act(gang, GANG_GIVE_WAY);
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
    bool belongs = member->is_in_round && member->runs == gang->round;
    if (belongs && event->round != gang->round && is_same && member->ready == gang->round &&
        !member->stopping) {
        /* It was without the hub for too long and has ended its programs. */
        struct gang_verdict why = {
            .cause = GANG_LOST, .index = event->index, .rank = -1, .code = -1};
        gang_blame(gang, &why, "it was cut off and ended what it ran", now_ms);
    } else if (!belongs && event->round) {
        member->runs = MAX(event->round, member->runs);
        gang_stop_one(gang, event->index, now_ms);
    } else if (!belongs) {
        member->runs = member->stopping = 0;
    } else if (member->stopping) {
        member->stop_ms = now_ms; /* STOP may reach it only now */
    }
    return true;
}

bool gang_is_early(const struct gang *gang, const struct gang_event *hello) {
    if (hello->index < 0 || hello->index >= gang->options.workers) {
        return false;
    }
    const struct gang_member *member = &gang->members[hello->index];
    bool is_next = member->is_known && hello->attempt > member->attempt &&
                   hello->seen <= gang->options.attempt;
    bool leaves_in_peace =
        member->is_leaving && member->is_connected && !member->is_lost && member->runs;
    bool has_time =
        gang->state == GANG_STOPPING || (gang->state == GANG_RUNNING && gang->notice_until_ms >= 0);
    return is_next && leaves_in_peace && has_time;
}

static void stopped(struct gang_member *member, int64_t round) {
    if (round >= member->runs) {
        member->runs = member->stopping = 0;
        member->is_lost = false; /* slow, but it has responded */
    }
}

static void tell_known(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    struct gang_member *member = &gang->members[event->index];
    struct gang_verdict why = {.index = event->index, .rank = event->rank, .code = event->code};
    switch (event->kind) {
    case GANG_HELLO:
        break;
    case GANG_PREPARED:
        member->is_prepared = true;
        break;
    case GANG_READY:
        member->ready = event->round == gang->round ? event->round : member->ready;
        break;
    case GANG_UNREACHED:
        why = (struct gang_verdict){
            .cause = GANG_LOST, .index = event->index, .rank = -1, .code = -1};
        if (member->is_in_round && event->round == gang->round) {
            gang_blame(gang, &why, event->words, now_ms);
        }
        break;
    case GANG_EXITED:
        gang_exited(gang, event, now_ms);
        break;
    case GANG_STOPPED:
        stopped(member, event->round);
        break;
    case GANG_LEAVING:
        member->is_leaving = true;
        if (member->is_in_round) {
            gang_leaving(gang, event, now_ms);
        }
        break;
    case GANG_SILENT:
        member->silent_ms = member->is_connected ? now_ms : member->silent_ms;
        member->is_connected = false;
        gang_silent(gang, event->index, now_ms);
        break;
    case GANG_BEAT:
        if (member->is_in_round) {
            gang_beat(gang, event, now_ms);
        }
        break;
    case GANG_MEMORY:
        why.cause = GANG_OUT_OF_MEMORY;
        if (member->is_in_round) {
            gang_blame(gang, &why, event->words, now_ms);
        }
        break;
    case GANG_HALTED:
        gang_halted(gang, event);
        break;
    case GANG_FINAL:
        why.cause = GANG_NO_RETRY;
        gang_blame(gang, &why, event->words, now_ms);
        break;
    }
}

bool gang_tell(struct gang *gang, const struct gang_event *event, int64_t now_ms) {
    bool is_current = false;
    if (event->index < 0 || event->index >= gang->options.workers || gang->state == GANG_OVER) {
        return false;
    }
    if (event->kind == GANG_HELLO) {
        is_current = hello(gang, event, now_ms);
    } else {
        const struct gang_member *member = &gang->members[event->index];
        is_current = member->is_known && strcmp(member->incarnation, event->incarnation) == 0;
        if (is_current) {
            tell_known(gang, event, now_ms);
        }
    }
    gang_course(gang, now_ms);
    return is_current;
}

void gang_facts(struct gang *gang, struct gang_facts *ret_facts) {
    struct gang_facts facts = {.state = gang->state,
                               .round = gang->round,
                               .counted = gang->counted,
                               .disrupted = gang->disrupted,
                               .last = gang->last,
                               .lost = gang->lost};
    for (int i = 0; i < gang->options.workers; i++) {
        const struct gang_member *member = &gang->members[i];
        facts.registered += member->is_connected;
        facts.prepared += member->is_connected && member->is_prepared;
        facts.members += member->is_in_round;
        if (member->is_lost && !member->is_leaving) {
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
