// SPDX-License-Identifier: Apache-2.0
/* What the hub does with each message of a member. */
#include "agent/launch/gang/hub_state.h"

#include "agent/launch/gang/launch_job.h"
#include "lib/time/clock.h"

#include <stdio.h>

const char *hub_pod_of(const struct hub *hub, int index) {
    const char *pod = index < hub->options.gang.workers ? hub->members[index].pod : "";
    return *pod ? pod : index == 0 ? hub->pod : "";
}

const char hub_out_of_memory[] =
    "the kernel killed it because it ran out of memory (/dev/shm counts): "
    "raise spec.resources.limits.memory";

static void note_spawn(struct hub *hub, const struct hub_member *from,
                       const struct gang_message *message) {
    struct gang_event event = {.kind = message->type == GANG_MESSAGE_SPAWN ? GANG_EVENT_SPAWNED
                                                                           : GANG_EVENT_SPAWN_ENDED,
                               .index = from->row.index,
                               .incarnation = from->incarnation,
                               .round = message->round};
    if (message->type != GANG_MESSAGE_KILL) {
        gang_handle(hub->gang, &event, clock_monotonic_ms());
    }
}

/* Forwards a message between members: the index is the receiver's, and is replaced by the
 * sender's. */
static void forward(struct hub *hub, struct hub_member *from, const struct gang_message *message) {
    struct gang_message copy = *message;
    struct hub_member *to = &hub->members[message->index];
    copy.index = from->row.index;
    if (message->index < hub->options.gang.workers && to->link) {
        link_send(to->link, &copy);
        note_spawn(hub, from, message);
    } else if (message->type == GANG_MESSAGE_SPAWN) {
        struct gang_message ended = {
            .type = GANG_MESSAGE_ENDED, .index = message->index, .id = message->id, .code = 255};
        snprintf(ended.detail, sizeof ended.detail, "worker %d is not connected", message->index);
        link_send(from->link, &ended);
    }
}

/* Adds to an exit that the kernel has OOM-killed a process in the pod. */
static void handle_oom_kill(struct hub *hub, const struct gang_event *exited, int64_t now_ms) {
    struct gang_event event = *exited;
    event.kind = GANG_EVENT_OOM_KILLED;
    event.detail = hub_out_of_memory;
    gang_handle(hub->gang, &event, now_ms);
}

static void handle_rank_exit(struct hub *hub, int64_t now_ms) {
    struct hub_member *member = &hub->members[hub->rank_exit_index];
    bool is_trainer = hub->options.is_trainer;
    int code = hub->rank_exit.code;
    bool is_final = is_trainer && (code == 1 || code == 2 || code == TRAINER_BAD_DATA);
    struct gang_event event = {.kind = is_final ? GANG_EVENT_FATAL : GANG_EVENT_EXITED,
                               .index = hub->rank_exit_index,
                               .incarnation = member->incarnation,
                               .round = hub->rank_exit.round,
                               .rank = hub->rank_exit.rank,
                               .code = hub->rank_exit.code,
                               .gives_up = is_trainer && hub->rank_exit.code == TRAINER_GIVES_UP,
                               .detail = hub->rank_exit.detail};
    if (hub->rank_exit.is_memory) {
        handle_oom_kill(hub, &event, now_ms);
    }
    gang_handle(hub->gang, &event, now_ms);
}

/* Under MPI a rank's end is only the reason for a failure: the command decides whether there is one
 * (`mpirun a || mpirun b`). So it is kept until the command has failed. True: the gang gets the
 * event now. */
static bool is_exit_due(struct hub *hub, const struct hub_member *member,
                        const struct gang_message *exited, int64_t now_ms) {
    bool is_fresh = hub->rank_exit.round == exited->round &&
                    now_ms - hub->rank_exit_ms <= GANG_EXPLAIN_COMMAND_MS;
    if (hub->options.gang.processes != 0 || hub->failed_round == exited->round) {
        return true;
    }
    if (exited->rank < 0) {
        hub->failed_round = exited->code ? exited->round : 0;
        if (exited->code && is_fresh) {
            handle_rank_exit(hub, now_ms);
        }
        return true;
    }
    if (!is_fresh) {
        hub->rank_exit = *exited;
        hub->rank_exit.line = NULL; /* borrowed, like the table, which exits do not have */
        hub->rank_exit_index = member->row.index;
        hub->rank_exit_ms = now_ms;
    }
    return false;
}

/* True for messages of which the gang needs to know nothing more. */
static bool is_passed_on(struct hub *hub, struct hub_member *member,
                         const struct gang_message *message) {
    if (message->type == GANG_MESSAGE_SPAWN || message->type == GANG_MESSAGE_ENDED ||
        message->type == GANG_MESSAGE_KILL) {
        forward(hub, member, message);
        return true;
    }
    if (message->type == GANG_MESSAGE_METRICS) {
        latest_metrics_read(&hub->latest, message->line);
        gang_note_metric(hub->gang);
        gang_note_checkpoint(hub->gang, latest_metrics_checkpoint(&hub->latest));
        return true;
    }
    if (message->type == GANG_MESSAGE_WAITS) {
        struct gang_facts facts;
        gang_read_facts(hub->gang, &facts);
        if (message->round == facts.round) {
            snprintf(hub->waits, sizeof hub->waits, "%s", message->detail);
        }
        return true;
    }
    if (message->type == GANG_MESSAGE_REPORTS) {
        objective_read(message->rank < 0 ? &hub->command_objective : &hub->objective,
                       message->round, message->line);
        gang_note_metric(hub->gang);
        return true;
    }
    return false;
}

void hub_handle_message(struct hub *hub, struct hub_member *member,
                        const struct gang_message *message) {
    static const enum gang_event_kind kinds[GANG_MESSAGE_TYPES] = {
        [GANG_MESSAGE_PREPARED] = GANG_EVENT_PREPARED,
        [GANG_MESSAGE_FAILED] = GANG_EVENT_FATAL,
        [GANG_MESSAGE_READY] = GANG_EVENT_READY,
        [GANG_MESSAGE_STARTED] = GANG_EVENT_RANK_STARTED,
        [GANG_MESSAGE_EXITED] = GANG_EVENT_EXITED,
        [GANG_MESSAGE_STOPPED] = GANG_EVENT_STOPPED,
        [GANG_MESSAGE_HEARTBEAT] = GANG_EVENT_HEARTBEAT,
        [GANG_MESSAGE_LEAVING] = GANG_EVENT_LEAVING,
        [GANG_MESSAGE_SUSPENDED] = GANG_EVENT_SUSPENDED,
        [GANG_MESSAGE_UNREACHABLE] = GANG_EVENT_UNREACHABLE};
    struct gang_event event = {.kind = kinds[message->type],
                               .index = member->row.index,
                               .incarnation = member->incarnation,
                               .round = message->round,
                               .rank = message->rank,
                               .code = message->code,
                               .launch = message->launch,
                               .size = message->size,
                               .is_proxy = message->is_proxy,
                               .was_signalled = message->was_signalled,
                               .gives_up =
                                   hub->options.is_trainer && message->code == TRAINER_GIVES_UP,
                               .seconds = message->seconds,
                               .progress = message->progress,
                               .is_waiting = message->is_waiting,
                               .detail = message->detail};
    int64_t now_ms = clock_monotonic_ms();
    if (is_passed_on(hub, member, message)) {
        return;
    }
    char detail[GANG_DETAIL_MAX];
    if (message->type == GANG_MESSAGE_UNREACHABLE) {
        snprintf(
            detail, sizeof detail,
            "pod %.100s cannot reach pod %.100s at %.150s; pods of a job must reach each other "
            "on every port (a NetworkPolicy?)",
            member->pod, hub_pod_of(hub, message->index), message->detail);
        event.detail = detail;
    }
    if (event.kind == GANG_EVENT_HELLO) { /* members do not send such a message */
        return;
    }
    if (event.kind == GANG_EVENT_FATAL) {
        event.rank = -1;
    }
    if (message->type == GANG_MESSAGE_EXITED && *message->launch) {
        struct gang_event ended = event;
        ended.kind = GANG_EVENT_RANK_ENDED;
        gang_handle(hub->gang, &ended, now_ms);
        if (!message->code || message->was_signalled || message->is_proxy) {
            return; /* it explains no failure */
        }
    }
    if (message->type == GANG_MESSAGE_EXITED && !is_exit_due(hub, member, message, now_ms)) {
        return;
    }
    if (message->is_memory) {
        handle_oom_kill(hub, &event, now_ms);
    }
    gang_handle(hub->gang, &event, now_ms);
}
