// SPDX-License-Identifier: Apache-2.0
/* Commands that a program of another pod asked for (mpirun's rsh). */
#include "agent/launch/gang/member_state.h"

#include "agent/launch/pod/shell_words.h"
#include "agent/launch/rank/metric_socket.h"
#include "agent/launch/tunnel/preload_frame.h"
#include "lib/buffer.h"
#include "lib/file.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum {
    HUB_SILENT_MAX_MS = 10000, /* the hub's loop runs twice a second */
    METRICS_MAX = 4096,        /* per poll */
    METRICS_MS = 1000,
    RANKS_MAX = 512,   /* of this pod, that are watched: a descriptor each */
    RANK_END_MAX = 16, /* bytes of a file that says how a rank ended */
    RANK_END_UNKNOWN = 255,
    REPORTS_MAX = 1 << 20, /* bytes of one request's reports; a request has at most
                              AGENT_SOCKET_LINE_MAX */
};

/* Of MPICH and of Intel MPI: it starts the ranks of a pod, and no program of ours comes between. */
static bool starts_proxy(const struct shell_words *words) {
    static const char *const names[] = PRELOAD_PROXIES;
    const char *program = words->items[words->assigned];
    bool is_one = false;
    for (size_t i = 0; program && i < ARRAY_LEN(names); i++) {
        is_one |= strcmp(file_basename(program), names[i]) == 0;
    }
    return is_one;
}

/* How the first of a proxy's ranks ended that did not end with 0 (preload.c); 0: none is known. */
static int read_rank_end(struct member *member, int id) {
    AUTO(text_freep) char *path = member_rank_ends(member, id);
    AUTO(text_freep) char *text = NULL;
    struct error absent = {0};
    size_t size = 0;
    if (file_read(path, RANK_END_MAX, &text, &size, &absent) < 0) {
        return absent.kind == ERROR_NOT_FOUND ? 0 : RANK_END_UNKNOWN;
    }
    long code = strtol(text, NULL, 10);
    return code > 0 && code < RANK_END_UNKNOWN ? (int)code : RANK_END_UNKNOWN;
}

/* end: NULL: it has started. */
static void report_proxy(struct member *member, const struct member_spawned *spawned,
                         const struct process_group_end *end) {
    struct gang_message message = {
        .type = end ? GANG_MESSAGE_EXITED : GANG_MESSAGE_STARTED, .size = 1, .is_proxy = true};
    snprintf(message.launch, sizeof message.launch, "proxy-%d-%d", member->job->index, spawned->id);
    if (end) {
        int of_rank = end->code ? 0 : read_rank_end(member, spawned->id);
        message.code = end->code ? end->code : of_rank;
        snprintf(message.detail, sizeof message.detail, "%s%s%.400s",
                 of_rank ? "a rank that it started ended so" : "",
                 of_rank && *end->detail ? "; " : "", end->detail);
    }
    if (member->round) {
        member_send(member, &message);
    }
}

void member_spawn(struct member *member, const struct gang_message *asked) {
    struct gang_message answer = {
        .type = GANG_MESSAGE_ENDED, .index = asked->index, .id = asked->id, .code = 255};
    const char *const shell[] = {"/bin/sh", "-c", asked->line ? asked->line : "", NULL};
    struct shell_words words = {0};
    struct error err = {0};
    bool is_plain = shell_words_split(shell[2], &words);
    int id = MEMBER_SPAWNED + ++member->last_spawned;
    int result = -1;
    AUTO(text_freep) char *ends = member_rank_ends(member, id);
    (void)unlink(ends); /* of an earlier process of this pod */
    if (asked->round != member->round || member->is_stopping || !member->round) {
        error_set(&err, ERROR_CANCELLED, "the round has ended");
    } else {
        result = member_start(member, id, -1, is_plain ? words.items : (char *const *)shell,
                              words.assigned, &err);
    }
    bool is_proxy = is_plain && starts_proxy(&words);
    shell_words_release(&words);
    if (result < 0) {
        snprintf(answer.detail, sizeof answer.detail, "worker %d: %.300s%s", member->job->index,
                 err.text, is_plain ? "" : " (the command needs a shell)");
        member_send(member, &answer);
        return;
    }
    struct member_spawned *spawned = x_calloc(1, sizeof *spawned);
    *spawned = (struct member_spawned){id, asked->index, asked->id, is_proxy, member->spawned};
    member->spawned = spawned;
    if (is_proxy) {
        report_proxy(member, spawned, NULL);
    }
}

bool member_spawn_ended(struct member *member, const struct process_group_end *end) {
    for (struct member_spawned **at = &member->spawned; *at; at = &(*at)->next) {
        struct member_spawned *spawned = *at;
        if (spawned->id == end->id) {
            struct gang_message message = {.type = GANG_MESSAGE_ENDED,
                                           .index = spawned->index,
                                           .id = spawned->requested,
                                           .code = end->code};
            snprintf(message.detail, sizeof message.detail, "%s", end->detail);
            if (spawned->is_proxy) {
                report_proxy(member, spawned, end);
            }
            AUTO(text_freep) char *ends = member_rank_ends(member, spawned->id);
            (void)unlink(ends);
            member_send(member, &message);
            *at = spawned->next;
            free(spawned);
            return true;
        }
    }
    return end->id >= MEMBER_SPAWNED;
}

void member_spawn_kill(struct member *member, const struct gang_message *message) {
    for (const struct member_spawned *one = member->spawned; one; one = one->next) {
        if (one->index == message->index && one->requested == message->id) {
            process_group_kill_one(member->group, one->id);
        }
    }
}

/* ---- requests of this pod's programs -------------------------------------------------------- */

/* Members identify each other by host. */
static void forward_start(struct member *member, const struct agent_request *request) {
    const struct gang_table_row *row = gang_table_find_host(&member->table, request->host);
    struct gang_message message = {.type = GANG_MESSAGE_SPAWN, .id = request->id};
    if (!row || !member->round || member->is_stopping) {
        AUTO(text_freep)
        char *text = x_printf("%.100s is not a pod of this round", request->host);
        agent_socket_answer(member->requests, request->id, 255, text);
        return;
    }
    /* A message must be UTF-8, and a changed command must not run, so invalid texts are refused. */
    size_t size = strlen(request->text), whole = utf8_valid_size(request->text, size);
    if (whole < size) {
        AUTO(text_freep)
        char *text = x_printf("the command is not started: byte %zu is not UTF-8", whole + 1);
        agent_socket_answer(member->requests, request->id, 255, text);
        return;
    }
    message.index = row->index;
    message.line = (char *)request->text;
    member_send(member, &message);
}

/* This thread runs, since it responds; the answer says whether the hub's does. */
static void answer_alive(struct member *member, const struct agent_request *request) {
    bool hangs = member->hub && hub_silent_ms(member->hub) > HUB_SILENT_MAX_MS;
    agent_socket_answer(member->requests, request->id, hangs, hangs ? "the hub's loop hangs" : "");
}

static void copy_launch(struct gang_message *message, const char *launch) {
    static_assert(sizeof message->launch >= AGENT_SOCKET_LAUNCH_MAX, "a launch's name has room");
    snprintf(message->launch, sizeof message->launch, "%s", launch);
}

static void free_rank(struct member *member, struct member_rank **at) {
    struct member_rank *rank = *at;
    *at = rank->next;
    member->rank_count--;
    fd_closep(&rank->fd);
    free(rank);
}

static void watch_rank(struct member *member, const struct agent_request *request) {
    int fd = request->pid > 0 && member->rank_count < RANKS_MAX ? pidfd_open(request->pid, 0) : -1;
    if (fd < 0) {
        return; /* if it is killed, the hub waits for its report in vain */
    }
    struct member_rank *rank = x_calloc(1, sizeof *rank);
    *rank = (struct member_rank){
        .fd = fd, .number = request->rank, .size = request->size, .next = member->ranks};
    snprintf(rank->launch, sizeof rank->launch, "%s", request->launch);
    member->ranks = rank;
    member->rank_count++;
}

static void forget_rank(struct member *member, const struct agent_request *request) {
    for (struct member_rank **at = &member->ranks; *at; at = &(*at)->next) {
        if ((*at)->number == request->rank && strcmp((*at)->launch, request->launch) == 0) {
            free_rank(member, at);
            return;
        }
    }
}

void member_report_killed(struct member *member) {
    for (struct member_rank **at = &member->ranks; *at;) {
        struct pollfd fd = {.fd = (*at)->fd, .events = POLLIN};
        if (poll(&fd, 1, 0) != 1) {
            at = &(*at)->next;
            continue;
        }
        struct gang_message message = {.type = GANG_MESSAGE_EXITED,
                                       .rank = (*at)->number,
                                       .size = (*at)->size,
                                       .code = 128 + SIGKILL,
                                       .was_signalled = true};
        copy_launch(&message, (*at)->launch);
        if (member->round) {
            member_send(member, &message);
        }
        free_rank(member, at);
    }
}

/* The hub must know of each rank that runs, before it runs. */
static void rank_starts(struct member *member, const struct agent_request *request) {
    struct gang_message message = {
        .type = GANG_MESSAGE_STARTED, .rank = request->rank, .size = request->size};
    copy_launch(&message, request->launch);
    if (member->round && request->rank >= 0) {
        member_send(member, &message);
        watch_rank(member, request);
    }
}

/* Under MPI we do not start the ranks, and mpirun says little about why a rank ended. */
static void rank_exited(struct member *member, const struct agent_request *request) {
    struct gang_message message = {.type = GANG_MESSAGE_EXITED,
                                   .rank = request->rank,
                                   .size = request->size,
                                   .was_signalled = request->was_signalled,
                                   .code = request->code,
                                   .is_memory = request->code &&
                                                process_group_is_short_of_memory(member->group)};
    snprintf(message.detail, sizeof message.detail, "%s", request->text);
    copy_launch(&message, request->launch);
    forget_rank(member, request);
    if (member->round) {
        member_send(member, &message);
    }
    agent_socket_answer(member->requests, request->id, 0, "");
}

static void program_missing(struct member *member, const struct agent_request *request) {
    AUTO(text_freep) char *words = x_strdup(request->text);
    agent_socket_answer(member->requests, request->id, 0, "");
    if (member->round && !member->has_failed) {
        member_fail(member, GANG_CODE_NOT_FOUND, "spec.command", words);
    }
}

/* ---- reports -------------------------------------------------------------------------------- */

/* The objective has one source, or a report would count twice: what the user has named, a pattern
 * or a file; else posts, as soon as there is one in this round; else the lines that look like it.
 */
static bool is_for_hub(struct member *member, const struct agent_request *request,
                       const struct metric *metric) {
    const struct launch_job *job = member->job;
    bool is_posted = request->kind == AGENT_REQUEST_POSTED;
    if ((job->pattern && *job->pattern) || job->metrics_file) {
        return !is_posted;
    }
    if (strcmp(metric->name, job->objective.name) != 0) {
        return true;
    }
    member->posted_round = is_posted ? member->round : member->posted_round;
    return is_posted || member->posted_round != member->round;
}

/* Filters the lines that are metrics, in the form of metric.h, for the hub; the status gets all.
 * The caller frees. */
static char *read_reports(struct member *member, const struct agent_request *request, bool counts) {
    AUTO(buffer_release) struct buffer text;
    struct error err = {0};
    buffer_init(&text, REPORTS_MAX);
    for (const char *at = request->text; *at;) {
        size_t size = strcspn(at, "\n");
        AUTO(text_freep) char *line = x_strndup(at, size);
        struct metric metric;
        char written[METRIC_TEXT_MAX];
        if (counts && metric_read(line, &metric)) {
            metric_write(&metric, written);
            latest_metrics_report(&member->latest, &metric);
            if (is_for_hub(member, request, &metric) &&
                buffer_printf(&text, &err, "%s\n", written) < 0) {
                break; /* cannot happen: the size of a metric is limited */
            }
        }
        at += size + (at[size] == '\n');
    }
    return buffer_take(&text, NULL);
}

/* Of a program that has outlived its round, or the agent that started it. A new agent's first round
 * may have the number of the one before it. */
static bool is_late(const struct member *member, const struct agent_request *request) {
    return request->is_left_behind || (request->round && request->round != member->round);
}

/* Accepts the reports of rank 0 and of the command's lines (-1); the hub knows whether a rank has
 * reported them itself. Late ones are dropped, as are those while no round runs. */
static void take_reports(struct member *member, const struct agent_request *request) {
    bool counts = !is_late(member, request);
    AUTO(text_freep) char *lines = read_reports(member, request, request->rank <= 0 && counts);
    member->active_rank = member->round && counts ? MAX(request->rank, 0) : member->active_rank;
    if (!*lines || !member->round || !member->job->objective.name[0]) {
        agent_socket_answer(member->requests, request->id, 0, "");
        return;
    }
    struct member_report *report = x_calloc(1, sizeof *report);
    *report = (struct member_report){
        .id = request->id, .round = member->round, .rank = request->rank, .lines = TAKE(lines)};
    *member->reports_end = report;
    member->reports_end = &report->next;
}

/* While the link is full, the newest text waits: the last one says that nothing waits any more. */
static void send_waits(struct member *member) {
    struct gang_message message = {.type = GANG_MESSAGE_WAITS, .round = member->waits_round};
    if (member->waits_round && !link_is_full(member->link)) {
        snprintf(message.detail, sizeof message.detail, "%s", member->waits);
        member_send(member, &message);
        member->waits_round = 0;
    }
}

/* It counts as progress: a rank that retries does not hang. */
static void take_waits(struct member *member, const struct agent_request *request) {
    if (request->rank == 0 && member->round && !is_late(member, request)) {
        member->active_rank = 0;
        member->waits_round = member->round;
        snprintf(member->waits, sizeof member->waits, "%s", request->text);
        send_waits(member);
    }
    agent_socket_answer(member->requests, request->id, 0, "");
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
        member_send(member, &message);
        agent_socket_answer(member->requests, report->id, 0, "");
        member->reports = report->next;
        member->reports_end = member->reports ? member->reports_end : &member->reports;
        free(report->lines);
        free(report);
    }
}

void member_serve_requests(struct member *member) {
    struct agent_request request;
    struct gang_message gone = {.type = GANG_MESSAGE_KILL};
    while (agent_socket_take(member->requests, &request)) {
        switch (request.kind) {
        case AGENT_REQUEST_START:
            forward_start(member, &request);
            break;
        case AGENT_REQUEST_REPORT:
        case AGENT_REQUEST_POSTED:
            take_reports(member, &request);
            break;
        case AGENT_REQUEST_WAITS:
            take_waits(member, &request);
            break;
        case AGENT_REQUEST_VARIABLES: {
            AUTO(text_freep) char *variables = member_variables(member);
            rank_starts(member, &request);
            agent_socket_answer(member->requests, request.id, variables ? 0 : 255,
                                variables ? variables : "a variable of this rank is not UTF-8");
            break;
        }
        case AGENT_REQUEST_EXITED:
            rank_exited(member, &request);
            break;
        case AGENT_REQUEST_MISSING:
            program_missing(member, &request);
            break;
        default:
            answer_alive(member, &request);
            break;
        }
    }
    send_waits(member);
    send_reports(member);
    while (agent_socket_take_abandoned(member->requests, &gone.id)) {
        for (size_t i = 0; i < member->table.count; i++) {
            gone.index = member->table.rows[i].index; /* of any pod at that host */
            member_send(member, &gone);
        }
    }
}

void member_take_metrics(struct member *member, int64_t now_ms) {
    struct metric metric;
    int rank = -1;
    for (int i = 0; i < METRICS_MAX && metric_socket_take(member->metrics, &metric); i++) {
        if (metric.rank == 0) {
            latest_metrics_add(&member->latest, &metric);
        }
        rank = member->round ? metric.rank : -1;
    }
    member->active_rank = rank >= 0 ? rank : member->active_rank;
    if (now_ms - member->metrics_sent_ms < METRICS_MS || member->active_rank < 0 ||
        !member->round || link_is_full(member->link)) {
        return;
    }
    member->metrics_sent_ms = now_ms;
    struct gang_message beat = {.type = GANG_MESSAGE_HEARTBEAT,
                                .rank = member->active_rank,
                                .progress = ++member->activity};
    member_send(member, &beat);
    if (member->latest.has_any) {
        AUTO(text_freep) char *lines = latest_metrics_write(&member->latest);
        struct gang_message latest = {.type = GANG_MESSAGE_METRICS, .line = lines};
        member_send(member, &latest);
        member->latest = (struct latest_metrics){0};
    }
    member->active_rank = -1;
}

void member_requests_free(struct member *member) {
    while (member->spawned) {
        struct member_spawned *next = member->spawned->next;
        free(member->spawned);
        member->spawned = next;
    }
    while (member->ranks) {
        free_rank(member, &member->ranks);
    }
    while (member->reports) {
        struct member_report *next = member->reports->next;
        free(member->reports->lines);
        free(member->reports);
        member->reports = next;
    }
}
