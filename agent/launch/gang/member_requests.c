// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/member_state.h"

#include "agent/launch/pod/words.h"
#include "agent/launch/rank/metric_socket.h"
#include "lib/buffer.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HUB_SILENT_MAX_MS = 10000, /* the hub's loop runs twice a second */
    METRICS_MAX = 4096,        /* per poll */
    FIGURES_MS = 1000,
    REPORTS_MAX = 1 << 20, /* bytes of one request's reports; a request has at most
                              SHELL_LINE_MAX */
};

void member_spawn(struct member *member, const struct gang_message *asked) {
    struct gang_message answer = {
        .type = GANG_MESSAGE_ENDED, .index = asked->index, .id = asked->id, .code = 255};
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
                 err.text, is_plain ? "" : " (the command needs a shell)");
        member_say(member, &answer);
        return;
    }
    struct member_spawned *spawned = x_calloc(1, sizeof *spawned);
    *spawned = (struct member_spawned){id, asked->index, asked->id, member->spawned};
    member->spawned = spawned;
}

bool member_spawn_ended(struct member *member, const struct process_group_end *end) {
    for (struct member_spawned **at = &member->spawned; *at; at = &(*at)->next) {
        struct member_spawned *spawned = *at;
        if (spawned->id == end->id) {
            struct gang_message message = {.type = GANG_MESSAGE_ENDED,
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

void member_spawn_kill(struct member *member, const struct gang_message *message) {
    for (const struct member_spawned *one = member->spawned; one; one = one->next) {
        if (one->index == message->index && one->asked == message->id) {
            process_group_kill_one(member->group, one->id);
        }
    }
}

/* ---- requests of this pod's programs -------------------------------------------------------- */

/* Members identify each other by host. */
static void start_elsewhere(struct member *member, const struct shell_request *request) {
    const struct gang_table_row *row = gang_table_find_host(&member->table, request->host);
    struct gang_message message = {.type = GANG_MESSAGE_SPAWN, .id = request->id};
    if (!row || !member->round || member->is_stopping) {
        AUTO(text_freep)
        char *words = x_printf("%.100s is not a pod of this round", request->host);
        shell_answer(member->shell, request->id, 255, words);
        return;
    }
    /* A message must be UTF-8, and a changed command must not run, so invalid texts are refused. */
    size_t size = strlen(request->text), whole = utf8_valid_size(request->text, size);
    if (whole < size) {
        AUTO(text_freep)
        char *words = x_printf("the command is not started: byte %zu is not UTF-8", whole + 1);
        shell_answer(member->shell, request->id, 255, words);
        return;
    }
    message.index = row->index;
    message.line = (char *)request->text;
    member_say(member, &message);
}

/* This thread runs, since it responds; the answer says whether the hub's does. */
static void say_alive(struct member *member, const struct shell_request *request) {
    bool hangs = member->hub && hub_silent_ms(member->hub) > HUB_SILENT_MAX_MS;
    shell_answer(member->shell, request->id, hangs, hangs ? "the hub's loop hangs" : "");
}

/* Under MPI we do not start the ranks, and mpirun says little about why a rank ended. */
static void rank_exited(struct member *member, const struct shell_request *request) {
    struct gang_message message = {.type = GANG_MESSAGE_EXITED,
                                   .rank = request->rank,
                                   .code = request->code,
                                   .is_memory = request->code &&
                                                process_group_is_short_of_memory(member->group)};
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

/* ---- reports -------------------------------------------------------------------------------- */

/* Filters the lines that are metrics, in the form of metric.h. The caller frees. */
static char *read_reports(struct member *member, const char *lines, bool counts) {
    AUTO(buffer_release) struct buffer text;
    struct error err = {0};
    buffer_init(&text, REPORTS_MAX);
    for (const char *at = lines; *at;) {
        size_t size = strcspn(at, "\n");
        AUTO(text_freep) char *line = x_strndup(at, size);
        struct metric metric;
        char written[METRIC_TEXT_MAX];
        if (counts && metric_read(line, &metric)) {
            metric_write(&metric, written);
            figures_add(&member->figures, &metric);
            if (buffer_printf(&text, &err, "%s\n", written) < 0) {
                break; /* cannot happen: the size of a metric is limited */
            }
        }
        at += size + (at[size] == '\n');
    }
    return buffer_take(&text, NULL);
}

/* Accepts the reports of rank 0 and of the command's lines (-1); the hub knows whether a rank has
 * reported them itself. Reports belong to a round; if none runs they are dropped. */
static void take_reports(struct member *member, const struct shell_request *request) {
    AUTO(text_freep) char *lines = read_reports(member, request->text, request->rank <= 0);
    member->moved_rank = member->round ? MAX(request->rank, 0) : member->moved_rank;
    if (!*lines || !member->round || !member->job->objective.name[0]) {
        shell_answer(member->shell, request->id, 0, "");
        return;
    }
    struct member_report *report = x_calloc(1, sizeof *report);
    *report = (struct member_report){
        .id = request->id, .round = member->round, .rank = request->rank, .lines = TAKE(lines)};
    *member->reports_end = report;
    member->reports_end = &report->next;
}

/* The sender gets a response when its reports are on the link, which does not lose any; while the
 * link is full they wait, and so does the program. */
static void send_reports(struct member *member) {
    while (member->reports && !link_is_full(member->link)) {
        struct member_report *report = member->reports;
        struct gang_message message = {.type = GANG_MESSAGE_REPORTS,
                                       .round = report->round,
                                       .rank = report->rank,
                                       .line = report->lines};
        member_say(member, &message);
        shell_answer(member->shell, report->id, 0, "");
        member->reports = report->next;
        member->reports_end = member->reports ? member->reports_end : &member->reports;
        free(report->lines);
        free(report);
    }
}

void member_serve(struct member *member) {
    struct shell_request request;
    struct gang_message gone = {.type = GANG_MESSAGE_KILL};
    while (shell_take(member->shell, &request)) {
        switch (request.kind) {
        case SHELL_START:
            start_elsewhere(member, &request);
            break;
        case SHELL_REPORT:
            take_reports(member, &request);
            break;
        case SHELL_VARIABLES: {
            AUTO(text_freep) char *variables = member_variables(member);
            shell_answer(member->shell, request.id, variables ? 0 : 255,
                         variables ? variables : "a variable of this rank is not UTF-8");
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
    send_reports(member);
    while (shell_gone(member->shell, &gone.id)) {
        for (size_t i = 0; i < member->table.count; i++) {
            gone.index = member->table.rows[i].index; /* of any pod at that host */
            member_say(member, &gone);
        }
    }
}

void member_take_metrics(struct member *member, int64_t now_ms) {
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
        .type = GANG_MESSAGE_BEAT, .rank = member->moved_rank, .progress = ++member->moves};
    member_say(member, &beat);
    if (member->figures.has_any) {
        AUTO(text_freep) char *lines = figures_write(&member->figures);
        struct gang_message figures = {.type = GANG_MESSAGE_FIGURES, .line = lines};
        member_say(member, &figures);
        member->figures = (struct figures){0};
    }
    member->moved_rank = -1;
}

void member_requests_free(struct member *member) {
    while (member->spawned) {
        struct member_spawned *next = member->spawned->next;
        free(member->spawned);
        member->spawned = next;
    }
    while (member->reports) {
        struct member_report *next = member->reports->next;
        free(member->reports->lines);
        free(member->reports);
        member->reports = next;
    }
}
