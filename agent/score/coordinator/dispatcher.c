// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/dispatcher.h"

#include "agent/score/coordinator/retired.h"
#include "agent/score/log/run_file.h"
#include "agent/score/scorer/scorer.h"
#include "lib/log.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message that came while the dispatcher was paused. */
struct deferred_message {
    struct deferred_message *next;
    struct connection *connection;
    size_t size;
    char text[];
};

static struct journal *journal_of(const struct dispatcher *dispatcher) {
    return &dispatcher->prepared->journal;
}

static struct ledger *ledger_of(const struct dispatcher *dispatcher) {
    return journal_of(dispatcher)->ledger;
}

/* ---- leases and results ---------------------------------------------------------------------- */

/* The job cannot continue without its journal: the coordinator checks this failure. */
static void note_failure(struct dispatcher *dispatcher, int result, const struct error *err) {
    if (result < 0 && !dispatcher->failure.kind) {
        dispatcher->failure = *err;
    }
}

/* A lease has ended; an accepted result goes into the journal. */
static enum ledger_decision report(struct dispatcher *dispatcher, const struct ledger_report *said,
                                   const struct message_result *result,
                                   struct ledger_lease *ret_lease) {
    int64_t now_ms = clock_monotonic_ms();
    struct error err = {0};
    enum ledger_decision decision =
        ledger_take_report(ledger_of(dispatcher), said, now_ms, ret_lease);
    const struct journal_failure failure = {
        .fault = said->fault == LEDGER_MACHINE ? COMMIT_LOST : COMMIT_ERROR,
        .cause = said->cause ? said->cause : "wrong number of results"};
    if (decision == LEDGER_RETRY && said->fault != LEDGER_HANDED_BACK) {
        note_failure(dispatcher, journal_retried(journal_of(dispatcher), ret_lease, &failure, &err),
                     &err);
    } else if (decision != LEDGER_IGNORED && decision != LEDGER_RETRY) {
        note_failure(
            dispatcher,
            journal_accept(journal_of(dispatcher), decision, ret_lease, result, &failure, &err),
            &err);
        retired_finish(dispatcher->progress.retired,
                       ledger_find_worker(ledger_of(dispatcher), said->worker).name);
        run_progress_add(&dispatcher->progress,
                         ledger_read_counts(ledger_of(dispatcher)).items.done, now_ms);
    }
    return decision;
}

/* A mini-batch whose description is too long for a message counts as a failed try. */
static void hand_out(struct dispatcher *dispatcher, const struct ledger_lease *lease) {
    struct connection *connection = connections_of_worker(&dispatcher->connections, lease->worker);
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    int described = prepared_work(dispatcher->prepared, lease->first, lease->cells, &text, &err);
    if (described < 0 && err.kind != ERROR_EXHAUSTED) {
        note_failure(dispatcher, -1, &err); /* the list is truncated: the job cannot continue */
        return;
    }
    struct message_lease row = {.lease = lease->lease,
                                .slot = lease->slot,
                                .first = lease->first,
                                .cells = lease->cells,
                                .try = lease->try};
    connection->leases.workers = ledger_read_counts(ledger_of(dispatcher)).workers;
    if (!text || connections_add_lease(&dispatcher->connections, connection, &row, text) < 0) {
        struct ledger_lease ended;
        char cause[LEDGER_CAUSE_MAX];
        snprintf(cause, sizeof cause,
                 "the list of its items is larger than a message to a worker (%d KiB): %s",
                 CONTRACT_MESSAGE_MAX >> 10, scorer_size_hint(dispatcher->job->spec));
        struct ledger_report said = {.worker = lease->worker,
                                     .lease = lease->lease,
                                     .fault = LEDGER_SCORER,
                                     .items = lease->items,
                                     .took_us = -1,
                                     .cause = cause};
        if (lease->cells > 1) { /* we chose the size: lease the cells again in smaller leases */
            said.fault = LEDGER_HANDED_BACK;
            ledger_limit_lease_cells(ledger_of(dispatcher), lease->cells / 2);
        }
        (void)report(dispatcher, &said, NULL, &ended);
        return;
    }
    log_event(LOG_DEBUG, "mini-batch %lld, try %d: leased to %s", (long long)lease->first,
              lease->try, connection->name);
}

static void take_away(struct dispatcher *dispatcher, const struct ledger_revoked *taken) {
    struct connection *connection =
        connections_of_worker(&dispatcher->connections, taken->lease.worker);
    const struct journal_failure failure = {
        .fault = taken->fault == LEDGER_MACHINE ? COMMIT_LOST : COMMIT_TIMEOUT,
        .cause = taken->cause};
    struct error err = {0};
    if (taken->decision == LEDGER_RETRY) {
        note_failure(dispatcher,
                     journal_retried(journal_of(dispatcher), &taken->lease, &failure, &err), &err);
    }
    if (taken->is_lost && taken->decision == LEDGER_RETRY) {
        return; /* its worker may reconnect with the result, which is accepted */
    }
    if (taken->decision != LEDGER_IGNORED) {
        log_event(
            taken->decision == LEDGER_FAILED ? LOG_ERROR : LOG_WARNING,
            "mini-batch %lld, try %d on %s: %s", (long long)taken->lease.first, taken->lease.try,
            ledger_find_worker(ledger_of(dispatcher), taken->lease.worker).name, taken->cause);
    }
    if (taken->decision == LEDGER_FAILED) {
        note_failure(dispatcher,
                     journal_accept(journal_of(dispatcher), LEDGER_FAILED, &taken->lease, NULL,
                                    &failure, &err),
                     &err);
    }
    if (connection) {
        connection_send(connection,
                        &(struct message){.type = MESSAGE_CANCEL, .lease = taken->lease.lease});
    }
}

void dispatcher_settle(struct dispatcher *dispatcher) {
    struct ledger_revoked taken;
    struct ledger_lease lease;
    int64_t now_ms = clock_monotonic_ms();
    if (!dispatcher->prepared || dispatcher->is_closed || dispatcher->is_paused) {
        return;
    }
    while (ledger_next_revoked(ledger_of(dispatcher), now_ms, &taken)) {
        take_away(dispatcher, &taken);
    }
    while (dispatcher->grants && !dispatcher->failure.kind &&
           !journal_is_full(journal_of(dispatcher)) &&
           ledger_next_lease(ledger_of(dispatcher), now_ms, &lease)) {
        run_progress_start(&dispatcher->progress, now_ms);
        hand_out(dispatcher, &lease);
    }
    connections_flush(&dispatcher->connections);
}

/* The entry is stored: its worker may publish it now. */
static void on_stored(void *context, const struct journal_entry *entry) {
    struct dispatcher *dispatcher = context;
    struct connection *connection = connections_of_worker(&dispatcher->connections, entry->worker);
    if (!connection || dispatcher->prepared->form != SINK_PACKS ||
        (entry->type != COMMIT_DONE && entry->type != COMMIT_PARTIAL)) {
        return;
    }
    connections_add_committed(&dispatcher->connections, connection, entry->lease);
    if (connection->publication_count == connection->publication_room) {
        connection->publication_room = MAX(connection->publication_room * 2, (size_t)16);
        connection->publications =
            x_realloc_array(connection->publications, connection->publication_room,
                            sizeof *connection->publications);
    }
    connection->publications[connection->publication_count++] =
        (struct publication){entry->lease, entry->first, entry->cells};
    dispatcher->publishing++;
    dispatcher->published_ms = clock_monotonic_ms();
}

int dispatcher_turn(struct dispatcher *dispatcher, bool at_once, struct error *err) {
    int result = journal_turn(journal_of(dispatcher), at_once, on_stored, dispatcher, err);
    connections_flush(&dispatcher->connections);
    return result;
}

static void on_published(struct dispatcher *dispatcher, struct connection *connection,
                         int64_t lease) {
    for (size_t i = 0; i < connection->publication_count; i++) {
        struct publication told = connection->publications[i];
        if (told.lease == lease) {
            struct error err = {0};
            memmove(connection->publications + i, connection->publications + i + 1,
                    (--connection->publication_count - i) * sizeof told);
            dispatcher->publishing--;
            dispatcher->published_ms = clock_monotonic_ms();
            note_failure(dispatcher,
                         journal_published(journal_of(dispatcher), told.first, told.cells, &err),
                         &err);
            return;
        }
    }
}

/* ---- connections ---------------------------------------------------------------------------- */

/* The last message to it. */
static void answer(struct connection *connection, const struct message *message) {
    connection_send(connection, message);
    server_close(connection->peer);
}

static void refuse(struct connection *connection, const char *reason) {
    struct message message = {.type = MESSAGE_REFUSED};
    snprintf(message.text, sizeof message.text, "%s", reason);
    log_event(LOG_WARNING, "refused a worker: %s", reason);
    answer(connection, &message);
}

static void leave(struct dispatcher *dispatcher, struct connection *connection) {
    if (connection->worker >= 0) {
        int64_t retried = ledger_read_counts(ledger_of(dispatcher)).cells.retried;
        ledger_leave(ledger_of(dispatcher), connection->worker);
        connections_dismiss(&dispatcher->connections, connection);
        dispatcher->publishing -= (int64_t)connection->publication_count;
        connection->publication_count = 0;
        bool had_work = ledger_read_counts(ledger_of(dispatcher)).cells.retried > retried;
        bool is_orderly = connection->is_leaving || dispatcher->is_closed;
        dispatcher->losses += !is_orderly; /* it may have left partial files */
        retired_leave(dispatcher->progress.retired, connection->name, is_orderly);
        run_progress_gone(&dispatcher->progress, connection->name);
        log_event(had_work ? LOG_WARNING : LOG_INFO, "worker %s disconnected%s", connection->name,
                  had_work ? "; its mini-batches go to other workers" : "");
    }
}

/* A worker may reconnect before its dead connection is noticed. */
static void replace_namesake(struct dispatcher *dispatcher, const struct connection *connection) {
    for (size_t i = 0; i < dispatcher->connections.worker_count; i++) {
        struct connection *other = connections_of_worker(&dispatcher->connections, (int)i);
        if (other && strcmp(other->name, connection->name) == 0) {
            leave(dispatcher, other);
            server_close(other->peer);
            return;
        }
    }
}

/* A worker with another model, or another version of this program, would mix results of both in one
 * output: the job ends. */
static bool is_alike(struct dispatcher *dispatcher, const struct connection *connection) {
    struct error err = {0};
    static_assert(sizeof connection->program == SCORED_BY_BYTES_MAX + 1 &&
                      sizeof((struct message *)0)->program == sizeof connection->program,
                  "a program's version and SHA-256 fit wherever they are kept");
    int result = scored_by_check(connection->program, connection->name, &err) < 0
                     ? -1
                     : run_file_check_worker(dispatcher->prepared->files, connection->files,
                                             connection->name, &err);
    note_failure(dispatcher, result, &err);
    return result == 0;
}

/* Before its first lease: the commits of its results name it. */
static void note_program(struct dispatcher *dispatcher, const struct connection *connection) {
    struct journal *journal = journal_of(dispatcher);
    if (scored_by_add(&journal->programs, connection->program)) {
        commit_name_programs(journal->log, journal->programs);
        log_event(json_array_size(journal->programs) > 1 ? LOG_WARNING : LOG_DEBUG,
                  "worker %s runs Windlass %s, build %zu of this run", connection->name,
                  connection->program, json_array_size(journal->programs));
    }
}

static void admit(struct dispatcher *dispatcher, struct connection *connection) {
    struct error err = {0};
    if (dispatcher->is_closed) {
        answer(connection, &(struct message){.type = MESSAGE_DONE});
        return;
    }
    if (!dispatcher->prepared || dispatcher->is_paused) {
        return; /* admitted when the input is listed, or the dispatcher resumes */
    }
    if (connection->slots == 0) {
        answer(connection,
               &(struct message){.type = MESSAGE_PATHS, .paths = dispatcher->prepared->paths});
        return;
    }
    if (!is_alike(dispatcher, connection)) {
        refuse(connection, dispatcher->failure.text);
        return;
    }
    int worker = -1;
    replace_namesake(dispatcher, connection);
    if (ledger_join(ledger_of(dispatcher), connection->name, connection->slots, &worker, &err) <
        0) {
        refuse(connection, err.text);
        return;
    }
    connections_admit(&dispatcher->connections, connection, worker, journal_of(dispatcher)->epoch);
    log_event(LOG_INFO, "worker %s connected", connection->name);
    note_program(dispatcher, connection);
}

/* Admits those that connected before the dispatcher was ready, oldest first: of two connections of
 * one name the later one is the worker's; the other is dead. */
static void admit_all(struct dispatcher *dispatcher) {
    struct connection *connection = dispatcher->connections.first;
    while (connection && connection->next) {
        connection = connection->next;
    }
    for (; connection; connection = connection->previous) {
        if (connection->is_leaving && connection->worker < 0) {
            server_close(connection->peer);
        } else if (connection->name[0] && connection->worker < 0) {
            admit(dispatcher, connection);
        }
    }
}

void dispatcher_start(struct dispatcher *dispatcher, struct prepared_job *prepared) {
    dispatcher->prepared = prepared;
    dispatcher->grants = true;
    run_progress_recall(&dispatcher->progress, prepared->journal.requests);
    admit_all(dispatcher);
    dispatcher_settle(dispatcher);
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* The cause of the first failed item. */
static const char *first_cause(const struct message_result *result, struct error *line) {
    const json_t *pair = json_array_get(result->failures, 0);
    const char *cause = json_string_value(json_array_get(pair, 1));
    if (result->failed == 0 || !cause) {
        return NULL;
    }
    error_set(line, ERROR_FAILED, "%s", cause);
    return line->text;
}

static void on_result(struct dispatcher *dispatcher, const struct connection *connection,
                      const struct message_result *result) {
    static const enum ledger_fault faults[] = {[MESSAGE_SCORER] = LEDGER_SCORER,
                                               [MESSAGE_MACHINE] = LEDGER_MACHINE,
                                               [MESSAGE_HANDED_BACK] = LEDGER_HANDED_BACK,
                                               [MESSAGE_INPUT] = LEDGER_SCORER};
    static_assert(ARRAY_LEN(faults) == MESSAGE_FAULT_COUNT, "one row per fault");
    struct error line = {0}; /* an error's text is one clean, bounded line */
    struct ledger_lease lease;
    struct ledger_report said = {.worker = connection->worker,
                                 .lease = result->lease,
                                 .items = result->items,
                                 .failed = result->failed,
                                 .is_final = result->is_final,
                                 .took_us = result->took_us,
                                 .cause = first_cause(result, &line)};
    if (result->event != MESSAGE_ENDS) {
        ledger_set_ready(ledger_of(dispatcher), connection->worker, result->lease,
                         result->event == MESSAGE_BEGINS, clock_monotonic_ms());
        return;
    }
    if (result->is_fault) {
        error_set(&line, ERROR_FAILED, "%.*s", (int)MIN(result->text_size, (size_t)4096),
                  result->text);
        said.fault = faults[result->fault];
        said.took_us = -1;
        said.cause = line.text;
    }
    enum ledger_decision decision = report(dispatcher, &said, result, &lease);
    bool has_failed = decision == LEDGER_FAILED || decision == LEDGER_PARTIAL;
    if (has_failed && result->output_tail_size > 0 && !*dispatcher->progress.failed_log) {
        output_tail_text(result->output_tail, result->output_tail_size,
                         dispatcher->progress.failed_log);
    }
    if (decision == LEDGER_RETRY || decision == LEDGER_FAILED) {
        log_event(decision == LEDGER_FAILED ? LOG_ERROR : LOG_WARNING, "mini-batch %lld %s: %s: %s",
                  (long long)lease.first,
                  decision == LEDGER_FAILED ? "failed" : "will be tried again", connection->name,
                  *line.text ? line.text : "wrong number of results");
    }
}

/* What a worker's requests have cost: for second runs of the slowest 1 %, and for the coordinators
 * after this one. The more workers, the more bytes that is, and the more seldom it is written. */
static void note_metrics(struct dispatcher *dispatcher, const char *worker, const json_t *metrics) {
    enum { EVERY_MS = 1000, EACH_MS = 125 };
    struct run_progress *progress = &dispatcher->progress;
    run_progress_metrics(progress, worker, metrics);
    int64_t now_ms = clock_monotonic_ms();
    int64_t workers = (int64_t)json_object_size(progress->metrics);
    if (metrics && now_ms - dispatcher->noted_ms >= MAX(EACH_MS * workers, (int64_t)EVERY_MS)) {
        dispatcher->noted_ms = now_ms;
        ledger_note_latency(ledger_of(dispatcher), run_progress_latency_ms(progress, 0.99));
        AUTO(tree_freep)
        json_t *requests = run_progress_requests(progress, COMMIT_REQUESTS_BYTES);
        commit_name_requests(journal_of(dispatcher)->log, requests);
    }
}

/* What answers an earlier coordinator has no lease that is known here, and changes nothing. */
static void on_batch(struct dispatcher *dispatcher, struct connection *connection,
                     const struct message *message) {
    note_metrics(dispatcher, connection->name, message->metrics);
    for (size_t i = 0; i < message->count; i++) {
        message->results ? on_result(dispatcher, connection, &message->results[i])
                         : on_published(dispatcher, connection, message->numbers[i]);
    }
}

/* ---- while another thread uses the journal -------------------------------------------------- */

/* Keeps a message of an admitted worker until dispatcher_resume. */
static void defer(struct dispatcher *dispatcher, struct connection *connection, const char *text,
                  size_t size) {
    if (dispatcher->deferred_bytes + size > DISPATCHER_DEFERRED_BYTES) {
        server_close(connection->peer); /* its leases go to other workers, as if it were lost */
        return;
    }
    struct deferred_message *deferred = x_malloc(sizeof *deferred + size);
    *deferred = (struct deferred_message){.connection = connection, .size = size};
    memcpy(deferred->text, text, size);
    dispatcher->deferred_bytes += size;
    *dispatcher->deferred_end = deferred;
    dispatcher->deferred_end = &deferred->next;
}

void dispatcher_pause(struct dispatcher *dispatcher) {
    dispatcher->is_paused = true;
    dispatcher->deferred_end = &dispatcher->deferred;
}

/* Drops all deferred messages unhandled. */
static void drop_deferred(struct dispatcher *dispatcher) {
    while (dispatcher->deferred) {
        struct deferred_message *next = dispatcher->deferred->next;
        free(dispatcher->deferred);
        dispatcher->deferred = next;
    }
    while (dispatcher->gone) {
        struct connection *next = dispatcher->gone->next;
        connection_free(dispatcher->gone);
        dispatcher->gone = next;
    }
    dispatcher->deferred_bytes = 0;
}

/* True: this was the worker's last message. */
static bool on_message(struct dispatcher *dispatcher, struct connection *connection,
                       const struct message *message) {
    if (message->type == MESSAGE_LEAVING) {
        connection->is_leaving = true;
        return false;
    }
    on_batch(dispatcher, connection, message);
    return connection->is_leaving && message->type == MESSAGE_RESULTS;
}

/* Sends nothing before everything is handled: the senders may be gone. */
void dispatcher_resume(struct dispatcher *dispatcher) {
    dispatcher->is_paused = false;
    for (const struct deferred_message *deferred = dispatcher->deferred; deferred;
         deferred = deferred->next) {
        struct error err = {0};
        AUTO(message_release) struct message message = {0};
        if (deferred->connection->worker >= 0 &&
            message_parse(deferred->text, deferred->size, &message, &err) == 0 &&
            on_message(dispatcher, deferred->connection, &message)) {
            leave(dispatcher, deferred->connection);
        }
    }
    for (struct connection *connection = dispatcher->gone; connection;
         connection = connection->next) {
        leave(dispatcher, connection);
    }
    drop_deferred(dispatcher);
    admit_all(dispatcher);
    dispatcher_settle(dispatcher);
}

void dispatcher_received(void *context, struct server_peer *peer, const char *text, size_t size) {
    struct dispatcher *dispatcher = context;
    struct connection *connection = server_peer_get(peer);
    struct error err = {0};
    AUTO(message_release) struct message message = {0};
    if (message_parse(text, size, &message, &err) < 0) {
        refuse(connection, err.text);
        return;
    }
    bool is_batch = message.type == MESSAGE_RESULTS || message.type == MESSAGE_PUBLISHED;
    bool is_workers = is_batch || message.type == MESSAGE_LEAVING;
    if (message.type == MESSAGE_HELLO && !connection->name[0]) {
        memcpy(connection->name, message.name, sizeof connection->name);
        connection->slots = message.slots;
        memcpy(connection->program, message.program, sizeof connection->program);
        connection->files = json_incref(message.files);
        retired_hello(&dispatcher->progress.retired, &message);
        admit(dispatcher, connection);
    } else if (is_workers && connection->worker >= 0 && dispatcher->is_paused) {
        defer(dispatcher, connection, text, size);
    } else if (is_workers && connection->worker >= 0) {
        if (on_message(dispatcher, connection, &message)) {
            leave(dispatcher, connection);
            server_close(connection->peer);
        }
    } else if (message.type == MESSAGE_LEAVING && connection->name[0]) {
        server_close(connection->peer); /* it holds no leases of ours */
    } else if (!is_batch || !connection->name[0]) {
        /* A worker of the previous coordinator may send results before we are ready. */
        refuse(connection, "unexpected message: a worker sends hello once, then results");
    }
    dispatcher_settle(dispatcher);
}

void dispatcher_opened(void *context, struct server_peer *peer) {
    struct dispatcher *dispatcher = context;
    connections_add(&dispatcher->connections, peer, clock_monotonic_ms());
}

void dispatcher_closed(void *context, struct server_peer *peer) {
    struct dispatcher *dispatcher = context;
    struct connection *connection = server_peer_get(peer);
    connections_remove(&dispatcher->connections, connection);
    if (dispatcher->is_paused && !dispatcher->is_closed && connection->worker >= 0) {
        connection->next = dispatcher->gone;
        dispatcher->gone = connection;
        return;
    }
    leave(dispatcher, connection);
    connection_free(connection);
    dispatcher_settle(dispatcher);
}

void dispatcher_tick(struct dispatcher *dispatcher) {
    int64_t now_ms = clock_monotonic_ms();
    for (struct connection *connection = dispatcher->connections.first; connection;
         connection = connection->next) {
        if (!connection->name[0] && now_ms - connection->since_ms > DISPATCHER_HELLO_MS) {
            connection->since_ms = now_ms;
            refuse(connection, "no hello within 10 s");
        }
    }
}

void dispatcher_dismiss(struct dispatcher *dispatcher) {
    dispatcher->is_closed = true;
    for (struct connection *connection = dispatcher->connections.first; connection;
         connection = connection->next) {
        if (connection->name[0]) {
            connection_send(connection, &(struct message){.type = MESSAGE_DONE});
        }
        server_close(connection->peer);
    }
}

void dispatcher_release(struct dispatcher *dispatcher) {
    connections_release(&dispatcher->connections);
    drop_deferred(dispatcher);
}
