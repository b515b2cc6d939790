// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/member_state.h"

#include "agent/launch/pod/port.h"
#include "agent/launch/rank/metric_socket.h"
#include "agent/launch/tunnel/preload_file.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/net/address.h"
#include "lib/net/socket.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUSY_MS = 20, /* poll interval while programs run, ... */
    IDLE_MS = 200,
    ACKNOWLEDGE_MS = 500,
    HEARTBEAT_MS = 2000,
    LINE_MS = 500,
    RESERVE_S = 5,      /* part of a pod's grace period, for killing programs that do not end */
    UNKNOWN_S = 15,     /* assumed time until a machine goes away, if unknown */
    FAREWELL_MS = 1500, /* time limit for reporting the end to the hub */
};

/* ---- sending -------------------------------------------------------------------------------- */

static void send_text(void *context, const char *text) {
    socket_send(((struct member *)context)->socket, text);
}

static void send_leaving(struct member *member) {
    int64_t left_s = (member->leave_by_ms - clock_monotonic_ms() + 500) / 1000 - 2 * RESERVE_S;
    struct gang_message message = {.type = GANG_MESSAGE_LEAVING,
                                   .seconds = (int)MAX(left_s, (int64_t)0),
                                   .detail = "its pod is terminating"};
    member_send(member, &message);
}

/* ---- ended programs ------------------------------------------------------------------------- */

static void handle_end(struct member *member, const struct process_group_end *end) {
    struct gang_message message = {.type = GANG_MESSAGE_EXITED,
                                   .rank = end->id,
                                   .code = end->code,
                                   .is_memory = end->is_memory && end->code != 0};
    if (end->id == MEMBER_PREPARE) {
        member->is_preparing = false;
        if (end->code == 0) {
            member->is_prepared = true;
            message = (struct gang_message){.type = GANG_MESSAGE_PREPARED};
            member_send(member, &message);
        } else if (member->leave_by_ms < 0) {
            AUTO(text_freep) char *what = x_printf("spec.prepare ended with %d", end->code);
            member_fail(member, 1, what, end->detail);
        }
        return;
    }
    if (member_spawn_ended(member, end)) {
        return;
    }
    member->metrics_sent_ms = 0; /* its last output is sent before its end */
    member_take_metrics(member, clock_monotonic_ms());
    snprintf(message.detail, sizeof message.detail, "%s", end->detail);
    if (member->round) { /* otherwise the round is over */
        member_send(member, &message);
    }
}

/* The pods whose launchers may connect to each other. Where there are none, the tunnel leads
 * nowhere. */
static void open_round(struct member *member) {
    const struct gang_table *table = &member->table;
    if (!member->preload) {
        return;
    }
    struct tunnel_host *hosts = x_calloc(table->count + 1, sizeof *hosts);
    for (size_t i = 0; i < table->count; i++) {
        const struct gang_table_row *row = &table->rows[i];
        hosts[i] = (struct tunnel_host){.index = row->index, .port = row->tunnel_port};
        snprintf(hosts[i].address, sizeof hosts[i].address, "%s", row->address);
    }
    tunnel_set_hosts(member->tunnel, hosts, table->count);
    free(hosts);
}

static void close_round(struct member *member) {
    gang_table_release(&member->table);
    tunnel_set_hosts(member->tunnel, NULL, 0);
}

static void check_stopped(struct member *member) {
    struct gang_message message = {.type = GANG_MESSAGE_STOPPED, .round = member->round};
    if (member->is_stopping && process_group_count(member->group) == (size_t)member->is_preparing) {
        AUTO(text_freep) char *notice = file_join(member->job->run, "notice");
        member->is_stopping = false;
        close_round(member);
        remove(notice);
        member_send(member, &message);
        member->round = 0;
    }
}

/* ---- messages of the hub -------------------------------------------------------------------- */

static int write_hosts(const struct member *member, const char *name, bool for_hydra,
                       struct error *err) {
    AUTO(buffer_release) struct buffer hosts;
    AUTO(text_freep) char *path = file_join(member->job->run, name);
    buffer_init(&hosts, 1 << 20);
    return gang_table_hostfile(&member->table, for_hydra, &hosts, err) < 0
               ? -1
               : file_write(path, hosts.data, hosts.size, err);
}

static void on_table(struct member *member, struct gang_message *message) {
    struct error err = {0};
    if (gang_table_place(&message->table, member->job->index) < 0) {
        return;
    }
    gang_table_release(&member->table);
    member->table = message->table;
    message->table = (struct gang_table){0};
    open_round(member);
    member->round = message->round;
    member->master_port = message->port;
    member->is_stopping = false;
    if (write_hosts(member, "hosts", false, &err) < 0 ||
        write_hosts(member, "hosts.hydra", true, &err) < 0) {
        member_fail(member, 1, "the hostfile", err.text);
        return;
    }
    connectivity_begin(member->connectivity, &member->table, member->job->index,
                       clock_monotonic_ms());
}

static void check_connectivity(struct member *member, int64_t now_ms) {
    struct gang_message message = {.type = GANG_MESSAGE_READY};
    char detail[CONNECTIVITY_DETAIL_MAX] = "";
    enum connectivity_state state =
        connectivity_poll(member->connectivity, now_ms, &message.index, detail);
    if (state == CONNECTIVITY_FAILED) {
        message.type = GANG_MESSAGE_UNREACHABLE;
        snprintf(message.detail, sizeof message.detail, "%s", detail);
        log_event(LOG_WARNING, "cannot reach worker %d: %s", message.index, detail);
    }
    if (state == CONNECTIVITY_DONE || state == CONNECTIVITY_FAILED) {
        member_send(member, &message);
    }
}

/* Reports stopped processes before SIGCONT continues them. Under MPI our process is mpirun, and the
 * ranks are its children. */
static void report_suspended(struct member *member) {
    struct gang_message message = {.type = GANG_MESSAGE_SUSPENDED, .rank = -1};
    int id = -1;
    pid_t pid = 0;
    if (process_group_find_suspended(member->group, &id, &pid)) {
        message.rank = id >= 0 && id < MEMBER_SPAWNED ? id : -1;
        snprintf(message.detail, sizeof message.detail, "process %d is stopped (SIGSTOP)",
                 (int)pid);
        member_send(member, &message);
    }
}

static void on_stop(struct member *member, int64_t round) {
    struct gang_message message = {.type = GANG_MESSAGE_STOPPED, .round = round};
    if (!member->round) {
        member_send(member, &message);
    } else if (round >= member->round) {
        report_suspended(member);
        connectivity_end(member->connectivity);
        member->is_stopping = true;
        process_group_stop(member->group, clock_monotonic_ms());
    }
}

/* Programs poll the file. */
static void on_notice(struct member *member, int seconds) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(member->job->run, "notice");
    AUTO(text_freep) char *text = x_printf("%d\n", seconds);
    if (file_write(path, text, strlen(text), &err) < 0) {
        log_event(LOG_WARNING, "%s", err.text);
    }
}

static void on_done(struct member *member, int code) {
    member->exit_code = member->job->index == 0 ? code : 0;
}

static void on_welcome(struct member *member, const struct gang_message *welcome) {
    bool is_same = strcmp(welcome->hub, member->hub_name) == 0;
    if (!is_same) {
        link_reset(member->link);
        snprintf(member->hub_name, sizeof member->hub_name, "%s", welcome->hub);
    }
    member->seen_attempt = MAX(member->seen_attempt, welcome->attempt);
    member->disconnected_since_ms = -1;
    link_resume(member->link, is_same ? welcome->last : 0);
    /* A new hub needs facts that hello does not have. */
    if (!is_same && member->is_prepared) {
        member_send(member, &(struct gang_message){.type = GANG_MESSAGE_PREPARED});
    }
    if (!is_same && member->has_failed) {
        struct gang_message message = {.type = GANG_MESSAGE_FAILED, .code = member->failure_code};
        snprintf(message.detail, sizeof message.detail, "%s", member->failure);
        member_send(member, &message);
    }
    if (!is_same && member->leave_by_ms >= 0) {
        send_leaving(member);
    }
}

static void on_received(void *context, const char *text, size_t size) {
    struct member *member = context;
    struct gang_message message;
    struct error err = {0};
    if (gang_message_read(text, size, &message, &err) < 0) {
        log_event(LOG_ERROR, "invalid message from the hub: %s", err.text);
        return;
    }
    if (message.type == GANG_MESSAGE_WELCOME) {
        on_welcome(member, &message);
    } else if (message.type == GANG_MESSAGE_DONE && message.number == 0 && message.code < 0) {
        log_event(LOG_ERROR, "another pod has the index of this one");
        member->exit_code = 3;
    } else if (message.type == GANG_MESSAGE_DONE && message.number == 0) {
        on_done(member, message.code); /* the job ended before this pod connected */
    } else if (link_received(member->link, &message)) {
        switch (message.type) {
        case GANG_MESSAGE_TABLE:
            on_table(member, &message);
            break;
        case GANG_MESSAGE_START:
            member_start_round(member, message.round);
            break;
        case GANG_MESSAGE_STOP:
            on_stop(member, message.round);
            break;
        case GANG_MESSAGE_SPAWN:
            member_spawn(member, &message);
            break;
        case GANG_MESSAGE_ENDED:
            agent_socket_answer(member->requests, message.id, message.code, message.detail);
            break;
        case GANG_MESSAGE_KILL:
            member_spawn_kill(member, &message);
            break;
        case GANG_MESSAGE_NOTICE:
            on_notice(member, message.seconds);
            break;
        case GANG_MESSAGE_DONE:
            on_done(member, message.code);
            break;
        default:
            break;
        }
    }
    gang_message_release(&message);
}

static void on_opened(void *context) {
    struct member *member = context;
    const struct launch_job *job = member->job;
    struct gang_message hello = {.type = GANG_MESSAGE_HELLO,
                                 .index = job->index,
                                 .slots = job->gang.slots,
                                 .port = member->port,
                                 .connectivity_port = tunnel_port(member->tunnel),
                                 .tunnel_port = tunnel_port(member->tunnel),
                                 .attempt = job->attempt,
                                 .seen = member->seen_attempt,
                                 .last = link_last(member->link),
                                 .is_prepared = member->is_prepared,
                                 .is_memory = job->is_after_memory,
                                 .round = member->round};
    snprintf(hello.version, sizeof hello.version, "%s", WINDLASS_VERSION);
    snprintf(hello.pod, sizeof hello.pod, "%s", job->worker);
    snprintf(hello.incarnation, sizeof hello.incarnation, "%s", member->incarnation);
    snprintf(hello.address, sizeof hello.address, "%s", job->address);
    snprintf(hello.hub, sizeof hello.hub, "%s", member->hub_name);
    AUTO(text_freep) char *text = gang_message_write(&hello);
    socket_send(member->socket, text);
    member->logged_error[0] = 0;
    log_event(LOG_INFO, "connected to the hub at %s", job->hub);
}

static void on_closed(void *context, const struct error *why) {
    struct member *member = context;
    link_broken(member->link);
    if (member->disconnected_since_ms < 0) {
        member->disconnected_since_ms = clock_monotonic_ms();
    }
    if (strcmp(member->logged_error, why->text) != 0) {
        log_event(LOG_WARNING, "hub: %s", why->text);
        snprintf(member->logged_error, sizeof member->logged_error, "%s", why->text);
    }
    if (why->kind == ERROR_DENIED && strstr(why->text, "token")) {
        member->exit_code = 1;
    }
}

/* ---- the main loop -------------------------------------------------------------------------- */

/* An old gang must have ended before a new one starts, even without a network. */
static void fence_self(struct member *member, int64_t now_ms) {
    if (member->round && member->disconnected_since_ms >= 0 &&
        now_ms - member->disconnected_since_ms >= GANG_SELF_FENCE_MS) {
        log_event(LOG_ERROR, "no connection to the hub for %d s: killing the programs",
                  GANG_SELF_FENCE_MS / 1000);
        member->round = 0;
        member->is_stopping = false;
        connectivity_end(member->connectivity);
        close_round(member);
        process_group_kill(member->group);
    }
}

/* Called in the thread of the notices. */
static void on_event(void *context, const struct notice_event *event) {
    struct member *member = context;
    int64_t left_ms = event->left_ms > 0 ? event->left_ms : 1000 * UNKNOWN_S;
    log_event(LOG_WARNING, "scheduled event %s: %s in %lld s", event->id, event->type,
              (long long)event->left_ms / 1000);
    atomic_store(&member->notice_leave_by_ms, clock_monotonic_ms() + left_ms);
}

static void on_events_changed(void *context, const struct error *err) {
    (void)context;
    log_event(err->kind ? LOG_WARNING : LOG_INFO, "scheduled events: %s",
              err->kind ? err->text : "the service answers again");
}

/* Without notices the pod still gets SIGTERM. */
static void watch_events(struct member *member) {
    struct error err = {0};
    struct notice_options options = {.url = member->job->events,
                                     .announced = on_event,
                                     .changed = on_events_changed,
                                     .context = member};
    if (member->job->events && notice_start(&options, &member->notice, &err) < 0) {
        log_event(LOG_WARNING, "%s", err.text);
    }
}

/* The member has to leave, by a signal or because its machine goes away; the earlier end counts. */
static void begin_leaving(struct member *member, int64_t leave_by_ms, int64_t now_ms) {
    bool is_first = member->leave_by_ms < 0;
    member->leave_by_ms = is_first ? leave_by_ms : MIN(member->leave_by_ms, leave_by_ms);
    if (is_first) {
        log_event(LOG_WARNING, "this pod is terminating");
        send_leaving(member);
        if (member->is_preparing) { /* the hub decides when a round's programs end */
            process_group_stop(member->group, now_ms);
        }
    }
}

static void leave(struct member *member, int64_t now_ms) {
    bool is_idle = !member->round && process_group_count(member->group) == 0;
    bool is_late = now_ms >= member->leave_by_ms - 1000 * RESERVE_S;
    bool has_hub = socket_is_open(member->socket);
    if (is_late || (is_idle && (!has_hub || link_is_idle(member->link)))) {
        member->exit_code = 130;
    }
}

/* A program with output counts as moving; a rank's counters come with its metrics. */
static void send_heartbeat(struct member *member, int64_t now_ms) {
    int64_t lines = process_group_lines(member->group);
    if (!member->round || !process_group_count(member->group) ||
        now_ms - member->heartbeat_ms < HEARTBEAT_MS || lines == member->heartbeat_lines ||
        link_is_full(member->link)) {
        return;
    }
    struct gang_message message = {.type = GANG_MESSAGE_HEARTBEAT,
                                   .rank = gang_table_rank(&member->table, member->job->index, 0),
                                   .progress = lines};
    if (member->job->gang.processes == 1) {
        message.rank = gang_table_place(&member->table, member->job->index);
    }
    member->heartbeat_ms = now_ms;
    member->heartbeat_lines = lines;
    member_send(member, &message);
}

/* A line may have a secret in it, so a job with secrets shows none. */
static void show_line(struct member *member) {
    bool has_secrets = member->job->secrets && member->job->secrets[0];
    char line[PROCESS_GROUP_LINE_MAX];
    if (!member->hub || has_secrets) {
        return;
    }
    process_group_last_line(member->group, line);
    if (*line) {
        hub_note_line(member->hub, line);
    }
}

static void show_line_sometimes(struct member *member, int64_t now_ms) {
    if (now_ms - member->line_ms >= LINE_MS) {
        member->line_ms = now_ms;
        show_line(member);
    }
}

static void poll_everything(struct member *member, const volatile sig_atomic_t *is_interrupted) {
    int64_t now_ms = clock_monotonic_ms();
    struct process_group_end end;
    member_report_killed(member);
    member_serve_requests(member);
    member_take_metrics(member, now_ms);
    while (process_group_poll(member->group, now_ms, &end)) {
        show_line(member); /* before the hub knows of the end */
        handle_end(member, &end);
    }
    check_connectivity(member, now_ms);
    check_stopped(member);
    fence_self(member, now_ms);
    send_heartbeat(member, now_ms);
    show_line_sometimes(member, now_ms);
    if (now_ms - member->acknowledged_ms >= ACKNOWLEDGE_MS) {
        member->acknowledged_ms = now_ms;
        link_acknowledge(member->link);
    }
    int64_t notice_leave_by_ms = atomic_load(&member->notice_leave_by_ms);
    if (*is_interrupted) {
        begin_leaving(member, now_ms + 1000LL * MAX(member->job->grace_s, RESERVE_S + 1), now_ms);
    }
    if (notice_leave_by_ms) {
        begin_leaving(member, notice_leave_by_ms, now_ms);
    }
    if (member->leave_by_ms >= 0 && member->exit_code < 0) {
        leave(member, now_ms);
    }
    if (member->hub && hub_has_stepped_down(member->hub)) {
        member->exit_code = 3;
    }
}

/* LD_PRELOAD cannot name every path. */
static int write_preload(struct member *member, struct error *err) {
    const char *folder = member->job->bin;
    if (strpbrk(folder, ": ")) {
        return error_set(err, ERROR_UNSUPPORTED, "%s: a colon or a space in a path", folder);
    }
    if (preload_file_write(folder, err) < 0) {
        return -1;
    }
    member->preload = file_join(folder, PRELOAD_FILE_NAME);
    return 0;
}

/* Where other pods connect to: the check whether they can and, with mpirun, its launchers, also
 * those of one pod, which connect to its address. Pods of `windlass run` share the machine's
 * loopback, and one mpirun starts all ranks itself: they need none. Elsewhere a pod without one
 * could not take part in an mpirun, which would listen for everybody: it does not start. What
 * UNSUPPORTED says holds for all pods alike. */
static int open_tunnel(struct member *member, struct error *err) {
    const struct launch_job *job = member->job;
    bool needs_one = job->launcher == GANG_LAUNCHER_MPI;
    struct error why = {0};
    int result = needs_one ? write_preload(member, &why) : 0;
    if (result < 0 && why.kind == ERROR_UNSUPPORTED) {
        log_event(LOG_WARNING, "mpirun listens on all addresses: %s", why.text);
        error_clear(&why);
        needs_one = false;
        result = 0;
    }
    if (result == 0 && !address_is_loopback(job->address) && (needs_one || job->gang.workers > 1)) {
        result =
            tunnel_open(job->address, job->token, job->index, needs_one, &member->tunnel, &why);
    }
    if (result < 0 && needs_one) {
        *err = why;
        return error_context(err, "mpirun would listen on all addresses");
    }
    if (result < 0) {
        log_event(LOG_WARNING, "whether pods reach each other is not checked: %s", why.text);
    }
    return 0;
}

/* The trainer reports by the metric socket. A program's training does not depend on its reports. */
static void open_status(struct member *member, const char *socket) {
    struct error err = {0};
    if (!member->job->is_trainer &&
        status_server_open(member->job->run, socket, &member->status, &err) < 0) {
        log_event(LOG_WARNING, "%s", err.text);
    }
}

static int run_loop(struct member *member, const volatile sig_atomic_t *is_interrupted,
                    struct error *err) {
    static const struct socket_events events = {
        .opened = on_opened, .received = on_received, .closed = on_closed};
    struct socket_options options = {.address = member->job->hub,
                                     .path = "/gang",
                                     .token = member->job->token,
                                     .sha256 = member->job->sha256,
                                     .events = &events,
                                     .context = member};
    AUTO(text_freep) char *path = file_join(member->job->run, "agent");
    AUTO(text_freep) char *metrics = file_join(member->job->run, "metrics");
    if (agent_socket_open(path, &member->requests, err) < 0 ||
        metric_socket_open(metrics, &member->metrics, err) < 0) {
        return -1;
    }
    open_status(member, path);
    if (open_tunnel(member, err) < 0) {
        return -1;
    }
    member_prepare(member);
    watch_events(member);
    if (socket_open(&options, &member->socket, err) < 0) {
        return error_context(err, "hub");
    }
    while (member->exit_code < 0) {
        bool is_busy = process_group_count(member->group) > 0 || member->is_stopping ||
                       connectivity_is_busy(member->connectivity);
        if (socket_service(member->socket, is_busy ? BUSY_MS : IDLE_MS, err) < 0) {
            return -1;
        }
        poll_everything(member, is_interrupted);
    }
    return 0;
}

/* All programs end before this pod reports its end. */
int member_run(const struct launch_job *job, struct hub *hub,
               const volatile sig_atomic_t *is_interrupted, int *ret_code, struct error *err) {
    struct member member = {.job = job,
                            .hub = hub,
                            .group = process_group_new(),
                            .seen_attempt = job->index == 0 ? job->attempt : 0,
                            .disconnected_since_ms = clock_monotonic_ms(),
                            .leave_by_ms = -1,
                            .active_rank = -1,
                            .exit_code = -1};
    AUTO(text_freep) char *name = digest_random(16);
    snprintf(member.incarnation, sizeof member.incarnation, "%s", name);
    member.link = link_new(send_text, &member);
    member.connectivity = connectivity_new();
    member.reports_end = &member.reports;
    member.port = port_find_free(job->address, job->index + job->attempt * GANG_MEMBERS_MAX);
    int result = run_loop(&member, is_interrupted, err);
    notice_stop(member.notice);
    connectivity_free(member.connectivity);
    process_group_free(member.group);
    tunnel_free(member.tunnel);
    free(member.preload);
    agent_socket_free(member.requests);
    status_server_free(member.status);
    metric_socket_free(member.metrics);
    member_requests_free(&member);
    socket_free(member.socket);
    link_free(member.link);
    gang_table_release(&member.table);
    if (result == 0) {
        *ret_code = member.exit_code;
    }
    return result;
}
