// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/hub_state.h"

#include "agent/launch/gang/gang_progress.h"
#include "agent/launch/gang/latest_metrics.h"
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

enum { SERVICE_MS = 500, CHECK_MS = 20, ACKNOWLEDGE_MS = 500, FAREWELL_MS = 1000 };

/* ---- sending -------------------------------------------------------------------------------- */

static void send_text(void *context, const char *text) {
    struct hub_member *member = context;
    if (member->peer) {
        server_send(member->peer, text);
    }
}

static void send_to_members(struct hub *hub, const struct gang_action *action,
                            struct gang_message *message) {
    for (size_t i = 0; i < action->count; i++) {
        struct hub_member *member = &hub->members[action->members[i]];
        if (member->link) {
            link_send(member->link, message);
        }
    }
}

static void send_table(struct hub *hub, const struct gang_action *action) {
    struct gang_message message = {.type = GANG_MESSAGE_TABLE, .round = action->round};
    message.port = port_find_free(hub->address, action->round);
    message.table.round = action->round;
    message.table.rows = x_calloc(action->count, sizeof *message.table.rows);
    for (size_t i = 0; i < action->count; i++) {
        message.table.rows[message.table.count++] = hub->members[action->members[i]].row;
    }
    send_to_members(hub, action, &message);
    gang_table_release(&message.table);
    log_event(LOG_INFO, "round %lld: %zu workers prepare to start", (long long)action->round,
              action->count);
}

/* Logs why there is another round, or none. */
static void log_last_failure(const struct hub *hub, enum log_level level, const char *what) {
    struct gang_facts facts;
    char why[GANG_PROGRESS_TEXT_MAX];
    gang_read_facts(hub->gang, &facts);
    if (facts.last_failure.cause != GANG_CAUSE_NONE) {
        gang_progress_describe(&facts.last_failure, why);
        log_event(level, "%s: %s: %s", what, gang_cause_name(facts.last_failure.cause), why);
    }
}

/* For result.json: {"by", "count", "round", "exits": [{"launch", "rank", "worker", "exitCode"}]}.
 */
static json_t *make_proof(const struct hub *hub, int64_t round) {
    struct gang_facts facts;
    size_t count = 0;
    gang_read_facts(hub->gang, &facts);
    struct gang_exit *exits = gang_exits(hub->gang, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{s:i, s:i, s:s, s:i}", "launch", exits[i].launch,
                                              "rank", exits[i].rank, "worker",
                                              hub_pod_of(hub, exits[i].index), "exitCode", 0));
    }
    free(exits);
    return json_pack("{s:s, s:I, s:I, s:o}", "by", gang_proof_by_name(facts.proof_by), "count",
                     (json_int_t)facts.proof_count, "round", (json_int_t)round, "exits", list);
}

/* The reports of rank 0; without any, those of the command. */
static const struct objective *shown_objective(const struct hub *hub) {
    bool is_commands =
        !hub->objective.round && (hub->command_objective.round || !hub->objective.other_reports);
    return is_commands ? &hub->command_objective : &hub->objective;
}

/* The end of all ranks, with what they have reported: the job's status may lack the last second. */
static json_t *make_end(const struct hub *hub, int64_t round) {
    json_t *end = result_origin_end(make_proof(hub, round));
    AUTO(text_freep) char *metrics = latest_metrics_write(&hub->latest);
    objective_add_json(shown_objective(hub), end);
    json_object_set_new(end, "metrics", json_string(metrics));
    return end;
}

/* A command has come to its end, and its outputs are read. */
static bool is_storing(const struct hub *hub) {
    return hub->check && !hub->result_path && !hub->is_finished;
}

static void start_check(struct hub *hub, int64_t round) {
    const struct ended *ended = hub->options.ended;
    bool is_resumed = ended && round == hub->options.gang.ended.round;
    const struct result_check_options options = {.path = hub->result_path,
                                                 .run = hub->run,
                                                 .round = round,
                                                 .outputs = hub->options.result_outputs,
                                                 .end_new = is_resumed ? json_incref(ended->end)
                                                                       : make_end(hub, round),
                                                 .ended = hub->options.ended_place,
                                                 .ended_attempt = is_resumed ? ended->attempt : 0,
                                                 .origin = hub->origin};
    if (hub->result_path) {
        log_event(LOG_INFO, "all ranks ended with 0: checking what %s holds", hub->result_path);
    } else {
        log_event(LOG_INFO, "all have ended with 0: reading what is in spec.outputs");
    }
    result_check_free(hub->check);
    hub->check = result_check_start(&options);
    hub->check_round = round;
}

/* Passes on how the check ended, if it has; else what it waits for. */
static void poll_check(struct hub *hub, int64_t now_ms) {
    struct result_check_end end;
    if (!hub->check) {
        return;
    }
    if (!result_check_poll(hub->check, &end)) {
        result_check_read_trouble(hub->check, hub->waits, sizeof hub->waits);
        return;
    }
    result_check_free(TAKE(hub->check));
    *hub->waits = 0;
    if (end.is_overtaken) {
        log_event(LOG_ERROR, "another pod has taken over: this hub steps down");
        atomic_store(&hub->has_stepped_down, true);
        return;
    }
    hub->stored = end;
    if (!hub->result_path && end.err.kind) {
        log_event(LOG_WARNING, "result.json is not written: %s", end.err.text);
    }
    struct gang_event event = {.kind = GANG_EVENT_CHECKED,
                               .index = 0,
                               .incarnation = hub->members[0].incarnation,
                               .round = hub->check_round,
                               .code = end.err.kind != ERROR_NONE,
                               .detail = end.err.text};
    gang_handle(hub->gang, &event, now_ms);
}

static void start_look(struct hub *hub, int64_t round) {
    checkpoint_search_free(hub->look);
    hub->look = checkpoint_search_start(hub->result_path, hub->run);
    hub->look_round = round;
}

static void poll_look(struct hub *hub) {
    int64_t step;
    if (hub->look && checkpoint_search_poll(hub->look, &step)) {
        checkpoint_search_free(TAKE(hub->look));
        gang_note_stored_step(hub->gang, hub->look_round, step);
    }
}

static void carry_out(struct hub *hub, const struct gang_action *action) {
    struct gang_message message = {
        .round = action->round, .seconds = action->seconds, .code = action->code};
    switch (action->kind) {
    case GANG_ACTION_CONFIGURE:
        log_last_failure(hub, LOG_WARNING, "all start again");
        send_table(hub, action);
        return;
    case GANG_ACTION_START:
        message.type = GANG_MESSAGE_START;
        hub->has_run = true;
        *hub->waits = 0;
        log_event(LOG_INFO, "round %lld: all start", (long long)action->round);
        break;
    case GANG_ACTION_STOP:
        message.type = GANG_MESSAGE_STOP;
        log_event(LOG_INFO, "round %lld: %zu workers stop", (long long)action->round,
                  action->count);
        break;
    case GANG_ACTION_NOTICE:
        message.type = GANG_MESSAGE_NOTICE;
        break;
    case GANG_ACTION_CHECK:
        start_check(hub, action->round);
        return;
    case GANG_ACTION_LOOK:
        start_look(hub, action->round);
        return;
    case GANG_ACTION_RELEASE: /* their pods, and what is scarce there, are not needed any more */
        message.type = GANG_MESSAGE_DONE;
        break;
    case GANG_ACTION_FINISH:
        message.type = GANG_MESSAGE_DONE;
        hub->is_finished = true;
        hub->code = action->code;
        if (action->code) {
            log_last_failure(hub, LOG_ERROR, "failed");
        } else {
            log_event(LOG_INFO, "done");
        }
        break;
    case GANG_ACTION_STEP_DOWN:
        log_event(LOG_ERROR, "another pod has taken over: this hub steps down");
        atomic_store(&hub->has_stepped_down, true);
        return;
    }
    send_to_members(hub, action, &message);
}

static void carry_out_actions(struct hub *hub, int64_t now_ms) {
    struct gang_action action;
    while (gang_next_action(hub->gang, now_ms, &action)) {
        carry_out(hub, &action);
    }
}

/* ---- log and status ------------------------------------------------------------------------- */

/* Why result.json is missing, or what its readers must know; NULL: nothing. The caller frees it. */
static char *about_result(const struct hub *hub) {
    const char *changed = hub->stored.finished.changed;
    if (hub->check) {
        return x_strdup("its files could not be read in 10 minutes");
    }
    if (hub->stored.err.kind) {
        return x_strdup(hub->stored.err.text);
    }
    if (*hub->stored.empty) {
        return x_printf("%s holds no file: the program has left nothing there", hub->stored.empty);
    }
    return *changed ? x_printf("files of trainer.data (%s) are others than when the training, or "
                               "its Sweep, began",
                               changed)
                    : NULL;
}

static void write_progress(struct hub *hub) {
    struct gang_facts facts;
    gang_read_facts(hub->gang, &facts);
    AUTO(text_freep) char *about = about_result(hub);
    struct gang_progress progress = {
        .facts = &facts,
        .workers = hub->options.gang.workers,
        .has_run = hub->has_run,
        .is_finished = hub->is_finished,
        .model_sha256 = hub->stored.finished.count ? hub->stored.finished.objects[0].sha256 : NULL,
        .result_sha256 = *hub->stored.result_sha256 ? hub->stored.result_sha256 : NULL,
        .result_message = about,
        .is_storing = is_storing(hub),
        .waits = hub->waits,
        .code = hub->code};
    AUTO(tree_freep) json_t *tree = gang_progress_json(&progress);
    json_t *lost = json_array();
    for (size_t i = 0; i < facts.lost_count; i++) {
        json_array_append_new(lost, json_string(hub_pod_of(hub, facts.lost[i])));
    }
    json_object_set_new(tree, "lost", lost);
    latest_metrics_add_json(&hub->latest, tree);
    objective_add_json(shown_objective(hub), tree);
    pthread_mutex_lock(&hub->lock);
    if (*hub->last_line) {
        json_object_set_new(tree, "lastLine", json_string(hub->last_line));
    }
    char *text = json_dumps(tree, JSON_COMPACT);
    free(hub->progress);
    hub->progress = text;
    pthread_mutex_unlock(&hub->lock);
}

void hub_note_line(struct hub *hub, const char *line) {
    pthread_mutex_lock(&hub->lock);
    snprintf(hub->last_line, sizeof hub->last_line, "%s", line);
    pthread_mutex_unlock(&hub->lock);
}

char *hub_progress(struct hub *hub) {
    pthread_mutex_lock(&hub->lock);
    char *text = x_strdup(hub->progress);
    pthread_mutex_unlock(&hub->lock);
    return text;
}

static struct server_page page(void *context, const struct server_request *request) {
    struct hub *hub = context;
    struct server_page page = {0};
    if (strcmp(request->path, "/progress") == 0) {
        page = server_page_of_readers(request, hub_progress(hub));
    } else if (strcmp(request->path, "/healthz") == 0) {
        page = (struct server_page){.body = x_strdup("ok\n"), .content_type = "text/plain"};
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
    struct gang_event event = {.kind = GANG_EVENT_DISCONNECTED,
                               .index = (int)(member - hub->members),
                               .incarnation = member->incarnation};
    gang_handle(hub->gang, &event, clock_monotonic_ms());
    if (!hub->is_finished && !is_storing(hub)) {
        log_event(LOG_WARNING, "worker %d (%s): connection lost", event.index, member->pod);
    }
}

/* code: the job's exit code, if it has ended; -1: the peer does not belong to the gang. */
static void refuse(struct server_peer *peer, int code, const char *why) {
    struct gang_message done = {.type = GANG_MESSAGE_DONE, .code = code};
    AUTO(text_freep) char *text = gang_message_write(&done);
    log_event(LOG_WARNING, "refused a worker: %s", why);
    server_send(peer, text);
    server_close(peer);
}

/* Called before the gang handles the hello, so that the gang's messages follow WELCOME. */
static void welcome_member(struct hub_member *member, const struct gang_message *hello) {
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
                                          .connectivity_port = hello->connectivity_port,
                                          .tunnel_port = hello->tunnel_port};
    snprintf(member->row.address, sizeof member->row.address, "%s", hello->address);
    struct gang_message welcome = {.type = GANG_MESSAGE_WELCOME,
                                   .attempt = hub->options.gang.attempt,
                                   .last = link_last(member->link)};
    snprintf(welcome.hub, sizeof welcome.hub, "%s", hub->name);
    AUTO(text_freep) char *text = gang_message_write(&welcome);
    server_send(member->peer, text);
    link_resume(member->link, is_same ? hello->last : 0);
}

static void on_hello(struct hub *hub, struct server_peer *peer, const struct gang_message *hello) {
    if (strcmp(hello->version, WINDLASS_VERSION) != 0) {
        log_event(LOG_ERROR, "%s has version %s, this hub %s: all pods of a job must use one image",
                  hello->pod, hello->version, WINDLASS_VERSION);
    }
    if (hello->index >= hub->options.gang.workers ||
        strcmp(hello->version, WINDLASS_VERSION) != 0) {
        refuse(peer, -1, "it does not belong to this job");
        return;
    }
    struct hub_member *member = &hub->members[hello->index];
    struct gang_event event = {.kind = GANG_EVENT_HELLO,
                               .index = hello->index,
                               .incarnation = hello->incarnation,
                               .round = hello->round,
                               .attempt = hello->attempt,
                               .seen = hello->seen,
                               .is_prepared = hello->is_prepared,
                               .is_memory = hello->is_memory,
                               .detail = hub_out_of_memory};
    int64_t now_ms = clock_monotonic_ms();
    if (gang_is_hello_early(hub->gang, &event)) {
        server_close(peer); /* it tries again about every second */
        return;
    }
    if (!gang_handle(hub->gang, &event, now_ms)) {
        carry_out_actions(hub, now_ms); /* the last events may have ended the job */
        bool is_finished = hub->is_finished;
        refuse(peer, is_finished ? hub->code : -1,
               is_finished ? "the job has ended" : "another pod has its index");
        return;
    }
    if (member->peer) {
        struct server_peer *before = member->peer;
        server_peer_set(before, NULL);
        server_close(before);
    }
    member->peer = peer;
    server_peer_set(peer, member);
    welcome_member(member, hello);
    log_event(LOG_INFO, "worker %d (%s at %s) has connected", hello->index, hello->pod,
              hello->address);
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
        hub_handle_message(hub, member, &message);
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

static bool has_no_members(const struct hub *hub) {
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
        atomic_store(&hub->looped_ms, now_ms);
        poll_check(hub, now_ms);
        poll_look(hub);
        carry_out_actions(hub, now_ms);
        acknowledge(hub, now_ms);
        write_progress(hub);
        if (atomic_load(&hub->is_leaving)) {
            until_ms = MIN(until_ms, now_ms + FAREWELL_MS);
            if (has_no_members(hub) || now_ms >= until_ms) {
                return NULL;
            }
        }
        int64_t wait_ms = MIN(MAX(gang_deadline_ms(hub->gang) - now_ms, (int64_t)0),
                              (int64_t)(hub->check || hub->look ? CHECK_MS : SERVICE_MS));
        if (server_service(hub->server, (int)MIN(wait_ms, until_ms - now_ms), &err) < 0) {
            log_event(LOG_ERROR, "the hub failed: %s", err.text);
            atomic_store(&hub->has_stepped_down, true);
            return NULL;
        }
    }
}

/* From the record of the end, which is newer than what the job's status had. */
static void restore_reports(struct hub *hub, const struct hub_options *options) {
    const json_t *end = options->ended ? options->ended->end : NULL;
    const json_t *objective = json_object_get(end, "objective");
    AUTO(text_freep) char *recorded = objective ? json_dumps(objective, JSON_COMPACT) : NULL;
    const char *saved = recorded ? recorded : options->saved_objective;
    if (saved && !(objective_restore(&hub->objective, saved) &&
                   objective_restore(&hub->command_objective, saved))) {
        log_event(LOG_WARNING, "cannot read the objective that the previous hub left");
    }
    latest_metrics_read(&hub->latest, tree_text(end, "metrics", ""));
}

/* All but the thread, which has ended or was never started. */
static void release(struct hub *hub) {
    for (int i = 0; hub->members && i < hub->options.gang.workers; i++) {
        link_free(hub->members[i].link);
    }
    server_free(hub->server);
    gang_free(hub->gang);
    objective_release(&hub->objective);
    objective_release(&hub->command_objective);
    pthread_mutex_destroy(&hub->lock);
    free(hub->progress);
    free(hub->members);
    result_check_free(hub->check);
    checkpoint_search_free(hub->look);
    free(hub->result_path);
    result_origin_free(hub->origin);
    free(hub->run);
    free(hub);
}

static int open_server(struct hub *hub, const struct hub_options *options, struct error *err) {
    static const struct server_events events = {
        .page = page, .opened = opened, .received = received, .closed = closed};
    struct server_options server = {.bind = options->bind,
                                    .certificate_pem = options->certificate_pem,
                                    .key_pem = options->key_pem,
                                    .socket_path = "/gang",
                                    .token = options->token,
                                    .read_token = options->read_token,
                                    .events = &events,
                                    .context = hub};
    return port_host(options->bind, hub->address, err) < 0
               ? -1
               : server_open(&server, &hub->server, err);
}

/* What an earlier hub has left: its reports, and how the gang ended. */
static void restore(struct hub *hub, const struct hub_options *options) {
    restore_reports(hub, options);
    if (options->ended) {
        const json_t *proof = json_object_get(options->ended->end, "proof");
        int by = gang_proof_by_named(tree_text(proof, "by", ""));
        hub->options.gang.ended.round = tree_integer(proof, "round", 0);
        hub->options.gang.ended.by = (enum gang_proof_by)MAX(by, 0);
        hub->options.gang.ended.count = tree_integer(proof, "count", 0);
        hub->has_run = true;
    }
}

static void make_members(struct hub *hub) {
    hub->members = x_calloc((size_t)hub->options.gang.workers, sizeof *hub->members);
    for (int i = 0; i < hub->options.gang.workers; i++) {
        hub->members[i].hub = hub;
    }
}

int hub_start(const struct hub_options *options, struct hub **ret_hub, struct error *err) {
    struct hub *hub = x_calloc(1, sizeof *hub);
    AUTO(text_freep) char *name = digest_random(16);
    snprintf(hub->name, sizeof hub->name, "%s", name);
    snprintf(hub->pod, sizeof hub->pod, "%s", options->pod);
    pthread_mutex_init(&hub->lock, NULL);
    hub->options = *options;
    hub->result_path = x_strdup(options->result_path);
    hub->origin = result_origin_hold(options->origin);
    hub->run = x_strdup(options->run);
    /* The caller's texts, which may be gone later. */
    hub->options.bind = hub->options.certificate_pem = hub->options.key_pem = NULL;
    hub->options.result_path = hub->options.run = NULL;
    hub->options.token = hub->options.pod = hub->options.saved_objective = NULL;
    hub->options.read_token = NULL;
    objective_init(&hub->objective, &options->objective);
    objective_init(&hub->command_objective, &options->objective);
    if (open_server(hub, options, err) < 0) {
        release(hub);
        return -1;
    }
    restore(hub, options);
    hub->gang = gang_new(&hub->options.gang);
    make_members(hub);
    write_progress(hub);
    atomic_store(&hub->looped_ms, clock_monotonic_ms());
    if (pthread_create(&hub->thread, NULL, serve, hub) != 0) {
        release(hub);
        return error_set(err, ERROR_UNAVAILABLE, "cannot start a thread");
    }
    *ret_hub = hub;
    return 0;
}

int64_t hub_silent_ms(struct hub *hub) {
    return clock_monotonic_ms() - atomic_load(&hub->looped_ms);
}

bool hub_is_over(const struct hub *hub) {
    return hub->options.ended && hub->options.gang.may_lack_result;
}

bool hub_has_stepped_down(struct hub *hub) {
    return atomic_load(&hub->has_stepped_down);
}

void hub_free(struct hub *hub) {
    if (!hub) {
        return;
    }
    atomic_store(&hub->is_leaving, true);
    server_wake(hub->server);
    pthread_join(hub->thread, NULL);
    release(hub);
}
