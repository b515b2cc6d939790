// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/member_state.h"

#include "agent/launch/words.h"
#include "lib/jsontext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HUB_SILENT_MAX_MS = 10000, /* it turns twice a second */
    METRICS_MAX = 4096,        /* at a look */
    FIGURES_MS = 1000,
};

void remote_spawn(struct member *member, const struct gang_message *asked) {
    struct gang_message answer = {
        .type = MESSAGE_ENDED, .index = asked->index, .id = asked->id, .code = 255};
    const char *const shell[] = {"/bin/sh", "-c", asked->line ? asked->line : "", NULL};
    struct words words = {0};
    struct error err = {0};
    bool is_plain = words_split(shell[2], &words);
    int id = MEMBER_SPAWNED + ++member->last_spawned;
    int result = -1;
    if (asked->round != member->round || member->is_stopping || !member->round) {
        error_set(&err, ERROR_CANCELLED, "that round is over");
    } else {
        result = member_start(member, id, -1, is_plain ? words.items : (char *const *)shell,
                              words.assigned, &err);
    }
    words_release(&words);
    if (result < 0) {
        snprintf(answer.words, sizeof answer.words, "worker %d: %.300s%s", member->job->index,
                 err.text, is_plain ? "" : " (the command is no plain words, and needs a shell)");
        member_say(member, &answer);
        return;
    }
    struct member_spawned *spawned = x_calloc(1, sizeof *spawned);
    *spawned = (struct member_spawned){id, asked->index, asked->id, member->spawned};
    member->spawned = spawned;
}

bool remote_ended(struct member *member, const struct crew_end *end) {
    for (struct member_spawned **at = &member->spawned; *at; at = &(*at)->next) {
        struct member_spawned *spawned = *at;
        if (spawned->id == end->id) {
            struct gang_message message = {.type = MESSAGE_ENDED,
                                           .index = spawned->index,
                                           .id = spawned->asked,
                                           .code = end->code};
            snprintf(message.words, sizeof message.words, "%s", end->words);
            member_say(member, &message);
            *at = spawned->next;
            free(spawned);
            return true;
        }
    }
    return end->id >= MEMBER_SPAWNED;
}

void remote_kill(struct member *member, const struct gang_message *message) {
    for (const struct member_spawned *one = member->spawned; one; one = one->next) {
        if (one->index == message->index && one->asked == message->id) {
            crew_kill_one(member->crew, one->id);
        }
    }
}

/* ---- what programs of this pod ask for ------------------------------------------------------ */

/* They know each other by host. */
static void start_elsewhere(struct member *member, const struct shell_request *request) {
    const struct table_row *row = table_find_host(&member->table, request->host);
    struct gang_message message = {.type = MESSAGE_SPAWN, .id = request->id};
    if (!row || !member->round || member->is_stopping) {
        AUTO(text_freep)
        char *words = x_printf("%.100s is no pod of this round", request->host);
        shell_answer(member->shell, request->id, 255, words);
        return;
    }
    /* A message is UTF-8 alone, and another command than the one that was meant must not run. */
    size_t size = strlen(request->text), whole = jsontext_utf8_end(request->text, size);
    if (whole < size) {
        AUTO(text_freep)
        char *words =
            x_printf("byte %zu of the command is no UTF-8, and it is not started", whole + 1);
        shell_answer(member->shell, request->id, 255, words);
        return;
    }
    message.index = row->index;
    message.line = (char *)request->text;
    member_say(member, &message);
}

/* This thread turns, or nobody would hear; does the hub's? */
static void say_alive(struct member *member, const struct shell_request *request) {
    bool hangs = member->hub && hub_silent_ms(member->hub) > HUB_SILENT_MAX_MS;
    shell_answer(member->shell, request->id, hangs, hangs ? "the hub does not turn any more" : "");
}

/* Under MPI a rank is not ours: what started it says little of why it ended. */
static void rank_exited(struct member *member, const struct shell_request *request) {
    struct gang_message message = {.type = MESSAGE_EXITED,
                                   .rank = request->rank,
                                   .code = request->code,
                                   .is_memory =
                                       request->code && crew_is_short_of_memory(member->crew)};
    snprintf(message.words, sizeof message.words, "%s", request->text);
    if (member->round && request->code) {
        member_say(member, &message);
    }
    shell_answer(member->shell, request->id, 0, "");
}

static void is_missing(struct member *member, const struct shell_request *request) {
    AUTO(text_freep) char *words = x_strdup(request->text);
    shell_answer(member->shell, request->id, 0, "");
    if (member->round && !member->has_failed) {
        member_fail(member, GANG_NOT_FOUND, "spec.command", words);
    }
}

void remote_serve(struct member *member) {
    struct shell_request request;
    struct gang_message gone = {.type = MESSAGE_KILL};
    while (shell_take(member->shell, &request)) {
        switch (request.kind) {
        case SHELL_START:
            start_elsewhere(member, &request);
            break;
        case SHELL_VARIABLES: {
            AUTO(text_freep) char *variables = member_variables(member);
            shell_answer(member->shell, request.id, variables ? 0 : 255,
                         variables ? variables : "a variable of this rank is no UTF-8");
            break;
        }
        case SHELL_EXITED:
            rank_exited(member, &request);
            break;
        case SHELL_MISSING:
            is_missing(member, &request);
            break;
        default:
            say_alive(member, &request);
            break;
        }
    }
    while (shell_gone(member->shell, &gone.id)) {
        for (size_t i = 0; i < member->table.count; i++) {
            gone.index = member->table.rows[i].index; /* whichever has it */
            member_say(member, &gone);
        }
    }
}

void remote_hear(struct member *member, int64_t now_ms) {
    struct metric metric;
    int rank = -1;
    for (int i = 0; i < METRICS_MAX && metric_socket_take(member->metrics, &metric); i++) {
        if (metric.rank == 0) {
            figures_add(&member->figures, &metric);
        }
        rank = member->round ? metric.rank : -1;
    }
    member->moved_rank = rank >= 0 ? rank : member->moved_rank;
    if (now_ms - member->figures_ms < FIGURES_MS || member->moved_rank < 0 || !member->round ||
        link_is_full(member->link)) {
        return;
    }
    member->figures_ms = now_ms;
    struct gang_message beat = {
        .type = MESSAGE_BEAT, .rank = member->moved_rank, .progress = ++member->moves};
    member_say(member, &beat);
    if (member->figures.has_any) {
        AUTO(text_freep) char *lines = figures_write(&member->figures);
        struct gang_message figures = {.type = MESSAGE_FIGURES, .line = lines};
        member_say(member, &figures);
        member->figures = (struct figures){0};
    }
    member->moved_rank = -1;
}

void remote_free(struct member *member) {
    while (member->spawned) {
        struct member_spawned *next = member->spawned->next;
        free(member->spawned);
        member->spawned = next;
    }
}
