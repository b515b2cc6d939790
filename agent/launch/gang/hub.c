// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/hub.h"

#include "agent/launch/gang/figures.h"
#include "agent/launch/gang/gang_progress.h"
#include "agent/launch/gang/launch_job.h"
#include "agent/launch/gang/link.h"
#include "agent/launch/pod/port.h"
#include "lib/digest.h"
#include "lib/log.h"
#include "lib/net/server.h"
#include "lib/time/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVICE_MS = 500, ACKNOWLEDGE_MS = 500, FAREWELL_MS = 1000 };

struct hub_member {
    struct hub *hub;
    struct server_peer *peer; /* NULL: not connected */
    struct link *link;
    char incarnation[GANG_NAME_MAX], pod[254];
    struct gang_table_row row;
};

struct hub {
    struct hub_options options;
    struct server *server;
    struct gang *gang;
    struct hub_member *members;
    char name[33]; /* identifies this process in every attempt */
    char pod[254];
    char address[46];
    pthread_t thread;
    pthread_mutex_t lock; /* guards `progress` */
    char *progress;
    bool has_run; /* a round was started */
    bool is_over;
    int code;
    int64_t acknowledged_ms;
    atomic_bool gives_way, is_leaving;
    atomic_llong turned_ms;
    struct figures figures;
    /* The reports of rank 0, and those in the command's output, which with Open MPI repeats
     * them. */
    struct objective objective, of_command;
    /* Under MPI: the first rank that failed recently, and the round whose command has failed. */
    struct gang_message hint;
    int hint_index;
    int64_t hint_ms, failed_round;
};

/* ---- sending -------------------------------------------------------------------------------- */

static void send_text(void *context, const char *text) {
    struct hub_member *member = context;
    if (member->peer) {
        server_send(member->peer, text);
    }
}

static void tell(struct hub *hub, const struct gang_action *action, struct gang_message *message) {
    for (size_t i = 0; i < action->count; i++) {
        struct hub_member *member = &hub->members[action->members[i]];
        if (member->link) {
            link_send(member->link, message);
        }
    }
}

static void arm(struct hub *hub, const struct gang_action *action) {
    struct gang_message message = {.type = GANG_MESSAGE_TABLE, .round = action->round};
    message.port = port_find_free(hub->address, action->round);
    message.table.round = action->round;
    message.table.rows = x_calloc(action->count, sizeof *message.table.rows);
    for (size_t i = 0; i < action->count; i++) {
        message.table.rows[message.table.count++] = hub->members[action->members[i]].row;
    }
    tell(hub, action, &message);
    gang_table_release(&message.table);
    log_event(LOG_INFO, "round %lld: %zu workers get ready", (long long)action->round,
              action->count);
}

/* Logs why there is another round, or none. */
static void say_why(const struct hub *hub, enum log_level level, const char *what) {
    struct gang_facts facts;
    char why[GANG_PROGRESS_WORDS];
    gang_facts(hub->gang, &facts);
    if (facts.last.cause != GANG_CAUSE_NONE) {
        gang_progress_describe(&facts.last, why);
        log_event(level, "%s: %s: %s", what, gang_cause_name(facts.last.cause), why);
    }
}

static void carry_out(struct hub *hub, const struct gang_action *action) {
    struct gang_message message = {
        .round = action->round, .seconds = action->seconds, .code = action->code};
    switch (action->kind) {
    case GANG_ARM:
        say_why(hub, LOG_WARNING, "all start again");
        arm(hub, action);
        return;
    case GANG_START:
        message.type = GANG_MESSAGE_GO;
        hub->has_run = true;
        log_event(LOG_INFO, "round %lld: all start", (long long)action->round);
        break;
    case GANG_STOP:
        message.type = GANG_MESSAGE_STOP;
        log_event(LOG_INFO, "round %lld: %zu workers stop", (long long)action->round,
                  action->count);
        break;
    case GANG_NOTICE:
        message.type = GANG_MESSAGE_NOTICE;
        break;
    case GANG_DONE:
        message.type = GANG_MESSAGE_DONE;
        hub->is_over = true;
        hub->code = action->code;
        if (action->code) {
            say_why(hub, LOG_ERROR, "failed");
        } else {
            log_event(LOG_INFO, "done");
        }
        break;
    case GANG_GIVE_WAY:
        log_event(LOG_ERROR, "another pod has taken over: giving way");
        atomic_store(&hub->gives_way, true);
        return;
    }
    tell(hub, action, &message);
}

static void act(struct hub *hub, int64_t now_ms) {
    struct gang_action action;
    while (gang_next(hub->gang, now_ms, &action)) {
        carry_out(hub, &action);
    }
}

/* ---- log and status ------------------------------------------------------------------------- */

/* A member without a name has never connected, except for member 0, which is this pod. */
static const char *pod_of(const struct hub *hub, int index) {
    const char *pod = index < hub->options.gang.workers ? hub->members[index].pod : "";
    return *pod ? pod : index == 0 ? hub->pod : "";
}

/* The reports of rank 0; without any, those of the command. */
static const struct objective *told_objective(const struct hub *hub) {
    bool is_of_command =
        !hub->objective.round && (hub->of_command.round || !hub->objective.other_reports);
    return is_of_command ? &hub->of_command : &hub->objective;
}

static void write_progress(struct hub *hub) {
    struct gang_facts facts;
    gang_facts(hub->gang, &facts);
    struct gang_progress progress = {.facts = &facts,
                                     .workers = hub->options.gang.workers,
                                     .has_run = hub->has_run,
                                     .is_over = hub->is_over,
                                     .code = hub->code};
    AUTO(tree_freep) json_t *tree = gang_progress_tell(&progress);
    json_t *lost = json_array();
    for (size_t i = 0; i < facts.lost_count; i++) {
        json_array_append_new(lost, json_string(pod_of(hub, facts.lost[i])));
    }
    json_object_set_new(tree, "lost", lost);
    figures_tell(&hub->figures, tree);
    objective_tell(told_objective(hub), tree);
    char *text = json_dumps(tree, JSON_COMPACT);
    pthread_mutex_lock(&hub->lock);
    free(hub->progress);
    hub->progress = text;
    pthread_mutex_unlock(&hub->lock);
}

char *hub_progress(struct hub *hub) {
    pthread_mutex_lock(&hub->lock);
    char *text = x_strdup(hub->progress);
    pthread_mutex_unlock(&hub->lock);
    return text;
}

static struct server_page page(void *context, const char *path) {
    struct hub *hub = context;
    struct server_page page = {0};
    if (strcmp(path, "/progress") == 0) {
        page.body = hub_progress(hub);
    } else if (strcmp(path, "/healthz") == 0) {
        page = (struct server_page){x_strdup("ok\n"), "text/plain", 0};
    }
    return page;
}

/* ---- messages of members -------------------------------------------------------------------- */

static void opened(void *context, struct server_peer *peer) {
    (void)context;
    (void)peer;
}

static void closed(void *context, struct server_peer *peer) {
    struct hub *hub = context;
    struct hub_member *member = server_peer_get(peer);
    if (!member || member->peer != peer) {
        return;
    }
    member->peer = NULL;
    link_broken(member->link);
    struct gang_event event = {.kind = GANG_SILENT,
                               .index = (int)(member - hub->members),
                               .incarnation = member->incarnation};
    gang_tell(hub->gang, &event, clock_monotonic_ms());
    if (!hub->is_over) {
        log_event(LOG_WARNING, "worker %d (%s): connection lost", event.index, member->pod);
    }
}

/* code: the job's exit code, if it has ended; -1: the peer does not belong to the gang. */
static void refuse(struct server_peer *peer, int code, const char *why) {
    struct gang_message done = {.type = GANG_MESSAGE_DONE, .code = code};
    AUTO(text_freep) char *text = gang_message_write(&done);
    log_event(LOG_WARNING, "refusing a worker: %s", why);
    server_send(peer, text);
    server_close(peer);
}

/* Called before the gang handles the hello, so that the gang's messages follow WELCOME. */
static void greet(struct hub_member *member, const struct gang_message *hello) {
    struct hub *hub = member->hub;
    bool is_same =
        strcmp(member->incarnation, hello->incarnation) == 0 && strcmp(hello->hub, hub->name) == 0;
    if (!member->link) {
        member->link = link_new(send_text, member);
    }
    if (!is_same) {
        link_reset(member->link);
    }
    snprintf(member->incarnation, sizeof member->incarnation, "%s", hello->incarnation);
    snprintf(member->pod, sizeof member->pod, "%s", hello->pod);
    member->row = (struct gang_table_row){.index = hello->index,
                                          .slots = MAX(hello->slots, 1),
                                          .port = hello->port,
                                          .reach = hello->reach};
    snprintf(member->row.address, sizeof member->row.address, "%s", hello->address);
    struct gang_message welcome = {.type = GANG_MESSAGE_WELCOME,
                                   .attempt = hub->options.gang.attempt,
                                   .last = link_last(member->link)};
    snprintf(welcome.hub, sizeof welcome.hub, "%s", hub->name);
    AUTO(text_freep) char *text = gang_message_write(&welcome);
    server_send(member->peer, text);
    link_resume(member->link, is_same ? hello->last : 0);
}

static const char out_of_memory[] = "the kernel ended it for want of memory (/dev/shm counts): "
                                    "raise spec.resources.limits.memory";

static void on_hello(struct hub *hub, struct server_peer *peer, const struct gang_message *hello) {
    if (strcmp(hello->version, WINDLASS_VERSION) != 0) {
        log_event(LOG_ERROR, "%s is version %s, this is %s: one image for all of a job", hello->pod,
                  hello->version, WINDLASS_VERSION);
    }
    if (hello->index >= hub->options.gang.workers ||
        strcmp(hello->version, WINDLASS_VERSION) != 0) {
        refuse(peer, -1, "not of this job");
        return;
    }
    struct hub_member *member = &hub->members[hello->index];
    struct gang_event event = {.kind = GANG_HELLO,
                               .index = hello->index,
                               .incarnation = hello->incarnation,
                               .round = hello->round,
                               .attempt = hello->attempt,
                               .seen = hello->seen,
                               .is_prepared = hello->is_prepared,
                               .is_memory = hello->is_memory,
                               .words = out_of_memory};
    int64_t now_ms = clock_monotonic_ms();
    if (gang_is_early(hub->gang, &event)) {
        server_close(peer); /* it tries again about every second */
        return;
    }
    if (!gang_tell(hub->gang, &event, now_ms)) {
        act(hub, now_ms); /* the last events may have ended the job */
        bool is_over = hub->is_over;
        refuse(peer, is_over ? hub->code : -1,
               is_over ? "all is over" : "another pod has its index");
        return;
    }
    if (member->peer) {
        struct server_peer *before = member->peer;
        server_peer_set(before, NULL);
        server_close(before);
    }
    member->peer = peer;
    server_peer_set(peer, member);
    greet(member, hello);
    log_event(LOG_INFO, "worker %d (%s at %s) is here", hello->index, hello->pod, hello->address);
}

/* Forwards a message between members: the index is the receiver's, and is replaced by the
 * sender's. */
static void forward(struct hub *hub, struct hub_member *from, const struct gang_message *message) {
    struct gang_message copy = *message;
    struct hub_member *to = &hub->members[message->index];
    copy.index = from->row.index;
    if (message->index < hub->options.gang.workers && to->link) {
        link_send(to->link, &copy);
    } else if (message->type == GANG_MESSAGE_SPAWN) {
        struct gang_message ended = {
            .type = GANG_MESSAGE_ENDED, .index = message->index, .id = message->id, .code = 255};
        snprintf(ended.words, sizeof ended.words, "worker %d is not there", message->index);
        link_send(from->link, &ended);
    }
}

/* Adds to an exit that the kernel has OOM-killed a process in the pod. */
static void tell_memory(struct hub *hub, const struct gang_event *exited, int64_t now_ms) {
    struct gang_event event = *exited;
    event.kind = GANG_MEMORY;
    event.words = out_of_memory;
    gang_tell(hub->gang, &event, now_ms);
}

static void tell_hint(struct hub *hub, int64_t now_ms) {
    struct hub_member *member = &hub->members[hub->hint_index];
    bool is_trainer = hub->options.is_trainer;
    bool is_final = is_trainer && (hub->hint.code == 1 || hub->hint.code == 2);
    struct gang_event event = {.kind = is_final ? GANG_FINAL : GANG_EXITED,
                               .index = hub->hint_index,
                               .incarnation = member->incarnation,
                               .round = hub->hint.round,
                               .rank = hub->hint.rank,
                               .code = hub->hint.code,
                               .gives_up = is_trainer && hub->hint.code == TRAINER_GIVES_UP,
                               .words = hub->hint.words};
    if (hub->hint.is_memory) {
        tell_memory(hub, &event, now_ms);
    }
    gang_tell(hub->gang, &event, now_ms);
}

/* Under MPI a rank's end is only the reason for a failure: the command decides whether there is one
 * (`mpirun a || mpirun b`). So it is kept until the command has failed. True: the gang gets the
 * event now. */
static bool passes(struct hub *hub, const struct hub_member *member,
                   const struct gang_message *exited, int64_t now_ms) {
    bool is_fresh = hub->hint.round == exited->round && now_ms - hub->hint_ms <= GANG_EXPLAIN_MS;
    if (hub->options.gang.processes != 0 || hub->failed_round == exited->round) {
        return true;
    }
    if (exited->rank < 0) {
        hub->failed_round = exited->code ? exited->round : 0;
        if (exited->code && is_fresh) {
            tell_hint(hub, now_ms);
        }
        return true;
    }
    if (!is_fresh) {
        hub->hint = *exited;
        hub->hint.line = NULL; /* borrowed, like the table, which exits do not have */
        hub->hint_index = member->row.index;
        hub->hint_ms = now_ms;
    }
    return false;
}

static void act_on(struct hub *hub, struct hub_member *member, const struct gang_message *message) {
    static const enum gang_event_kind kinds[GANG_MESSAGE_TYPES] = {
        [GANG_MESSAGE_PREPARED] = GANG_PREPARED,  [GANG_MESSAGE_FAILED] = GANG_FINAL,
        [GANG_MESSAGE_READY] = GANG_READY,        [GANG_MESSAGE_EXITED] = GANG_EXITED,
        [GANG_MESSAGE_STOPPED] = GANG_STOPPED,    [GANG_MESSAGE_BEAT] = GANG_BEAT,
        [GANG_MESSAGE_LEAVING] = GANG_LEAVING,    [GANG_MESSAGE_HALTED] = GANG_HALTED,
        [GANG_MESSAGE_UNREACHED] = GANG_UNREACHED};
    struct gang_event event = {.kind = kinds[message->type],
                               .index = member->row.index,
                               .incarnation = member->incarnation,
                               .round = message->round,
                               .rank = message->rank,
                               .code = message->code,
                               .gives_up =
                                   hub->options.is_trainer && message->code == TRAINER_GIVES_UP,
                               .seconds = message->seconds,
                               .progress = message->progress,
                               .is_waiting = message->is_waiting,
                               .words = message->words};
    int64_t now_ms = clock_monotonic_ms();
    if (message->type == GANG_MESSAGE_SPAWN || message->type == GANG_MESSAGE_ENDED ||
        message->type == GANG_MESSAGE_KILL) {
        forward(hub, member, message);
        return;
    }
    if (message->type == GANG_MESSAGE_FIGURES) {
        figures_read(&hub->figures, message->line);
        return;
    }
    if (message->type == GANG_MESSAGE_REPORTS) {
        objective_read(message->rank < 0 ? &hub->of_command : &hub->objective, message->round,
                       message->line);
        return;
    }
    char words[GANG_WORDS_MAX];
    if (message->type == GANG_MESSAGE_UNREACHED) {
        snprintf(
            words, sizeof words,
            "pod %.100s cannot reach pod %.100s at %.150s; pods of a job must reach each other "
            "on every port (a NetworkPolicy?)",
            member->pod, pod_of(hub, message->index), message->words);
        event.words = words;
    }
    if (event.kind == GANG_HELLO) { /* members do not send such a message */
        return;
    }
    if (event.kind == GANG_FINAL) {
        event.rank = -1;
    }
    if (message->type == GANG_MESSAGE_EXITED && !passes(hub, member, message, now_ms)) {
        return;
    }
    if (message->is_memory) {
        tell_memory(hub, &event, now_ms);
    }
    gang_tell(hub->gang, &event, now_ms);
}

static void received(void *context, struct server_peer *peer, const char *text, size_t size) {
    struct hub *hub = context;
    struct hub_member *member = server_peer_get(peer);
    struct gang_message message;
    struct error err = {0};
    if (gang_message_read(text, size, &message, &err) < 0) {
        refuse(peer, -1, err.text);
        return;
    }
    if (!member && message.type == GANG_MESSAGE_HELLO) {
        on_hello(hub, peer, &message);
    } else if (member && member->peer == peer && link_received(member->link, &message)) {
        act_on(hub, member, &message);
    }
    gang_message_release(&message);
}

/* ---- its thread ----------------------------------------------------------------------------- */

static void acknowledge(struct hub *hub, int64_t now_ms) {
    if (now_ms - hub->acknowledged_ms < ACKNOWLEDGE_MS) {
        return;
    }
    hub->acknowledged_ms = now_ms;
    for (int i = 0; i < hub->options.gang.workers; i++) {
        if (hub->members[i].link) {
            link_acknowledge(hub->members[i].link);
        }
    }
}

static bool is_alone(const struct hub *hub) {
    for (int i = 0; i < hub->options.gang.workers; i++) {
        if (hub->members[i].peer) {
            return false;
        }
    }
    return true;
}

static void *serve(void *context) {
    struct hub *hub = context;
    struct error err = {0};
    int64_t until_ms = INT64_MAX;
    for (;;) {
        int64_t now_ms = clock_monotonic_ms();
        atomic_store(&hub->turned_ms, now_ms);
        act(hub, now_ms);
        acknowledge(hub, now_ms);
        write_progress(hub);
        if (atomic_load(&hub->is_leaving)) {
            until_ms = MIN(until_ms, now_ms + FAREWELL_MS);
            if (is_alone(hub) || now_ms >= until_ms) {
                return NULL;
            }
        }
        int64_t wait_ms = MIN(MAX(gang_wake_ms(hub->gang) - now_ms, (int64_t)0), SERVICE_MS);
        if (server_service(hub->server, (int)MIN(wait_ms, until_ms - now_ms), &err) < 0) {
            log_event(LOG_ERROR, "the hub cannot go on: %s", err.text);
            atomic_store(&hub->gives_way, true);
            return NULL;
        }
    }
}

int hub_start(const struct hub_options *options, struct hub **ret_hub, struct error *err) {
    static const struct server_events events = {
        .page = page, .opened = opened, .received = received, .closed = closed};
    struct hub *hub = x_calloc(1, sizeof *hub);
    struct server_options server = {.bind = options->bind,
                                    .certificate_pem = options->certificate_pem,
                                    .key_pem = options->key_pem,
                                    .socket_path = "/gang",
                                    .token = options->token,
                                    .events = &events,
                                    .context = hub};
    hub->options = *options;
    if (port_host(options->bind, hub->address, err) < 0 ||
        server_open(&server, &hub->server, err) < 0) {
        free(hub);
        return -1;
    }
    hub->options.bind = hub->options.certificate_pem = hub->options.key_pem = NULL;
    objective_init(&hub->objective, &options->objective);
    objective_init(&hub->of_command, &options->objective);
    if (options->before && !(objective_recall(&hub->objective, options->before) &&
                             objective_recall(&hub->of_command, options->before))) {
        log_event(LOG_WARNING, "cannot read the objective that the previous hub left");
    }
    hub->options.token = hub->options.pod = hub->options.before = NULL;
    snprintf(hub->pod, sizeof hub->pod, "%s", options->pod);
    hub->gang = gang_new(&options->gang);
    hub->members = x_calloc((size_t)options->gang.workers, sizeof *hub->members);
    for (int i = 0; i < options->gang.workers; i++) {
        hub->members[i].hub = hub;
    }
    AUTO(text_freep) char *name = digest_random(16);
    snprintf(hub->name, sizeof hub->name, "%s", name);
    pthread_mutex_init(&hub->lock, NULL);
    write_progress(hub);
    atomic_store(&hub->turned_ms, clock_monotonic_ms());
    if (pthread_create(&hub->thread, NULL, serve, hub) != 0) {
        server_free(hub->server);
        gang_free(hub->gang);
        objective_release(&hub->objective);
        objective_release(&hub->of_command);
        free(hub->members);
        free(hub);
        return error_set(err, ERROR_UNAVAILABLE, "cannot start a thread");
    }
    *ret_hub = hub;
    return 0;
}

int64_t hub_silent_ms(struct hub *hub) {
    return clock_monotonic_ms() - atomic_load(&hub->turned_ms);
}

bool hub_gives_way(struct hub *hub) {
    return atomic_load(&hub->gives_way);
}

void hub_free(struct hub *hub) {
    if (!hub) {
        return;
    }
    atomic_store(&hub->is_leaving, true);
    server_wake(hub->server);
    pthread_join(hub->thread, NULL);
    for (int i = 0; i < hub->options.gang.workers; i++) {
        link_free(hub->members[i].link);
    }
    server_free(hub->server);
    gang_free(hub->gang);
    objective_release(&hub->objective);
    objective_release(&hub->of_command);
    pthread_mutex_destroy(&hub->lock);
    free(hub->progress);
    free(hub->members);
    free(hub);
}
