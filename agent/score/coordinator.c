// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator.h"

#include "agent/score/ledger.h"
#include "agent/score/message.h"
#include "agent/score/prepare.h"
#include "agent/score/progress.h"
#include "agent/score/summary.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SERVICE_MS = 100, REPORT_MS = 10000 /* between two lines of the log on how far we are */ };

struct coordinator;

/* Long work beside the server's thread. Its fields are read when `ended` is true. */
struct errand {
    pthread_t thread;
    struct coordinator *coordinator;
    int (*run)(struct coordinator *coordinator, struct error *err);
    int result;
    struct error err;
    atomic_bool ended;
};

/* A connection; owned by the list until `closed`. */
struct guest {
    struct server_peer *peer;
    struct guest *previous, *next;
    char name[MESSAGE_NAME_MAX + 1]; /* "" before hello */
    int worker;                      /* index in the ledger, or -1 */
    int64_t since_ms;
};

struct coordinator {
    const struct job *job;
    struct server *server;
    struct prepared prepared;
    struct ledger *ledger; /* NULL while listing */
    struct progress progress;
    json_t *outputs;
    struct errand errand;
    struct guest *guests;
    struct guest **guest_of; /* by worker index; NULL: not here */
    size_t guest_of_count;
    int64_t started_wall_ms, reported_ms, final_since_ms; /* final: -1 before the end */
    bool is_superseded; /* the outcome is another coordinator's to tell */
};

/* ---- errands -------------------------------------------------------------------------------- */

static void *run_errand(void *context) {
    struct errand *errand = context;
    errand->result = errand->run(errand->coordinator, &errand->err);
    atomic_store(&errand->ended, true);
    server_wake(errand->coordinator->server);
    return NULL;
}

static int start_errand(struct coordinator *coordinator,
                        int (*run)(struct coordinator *coordinator, struct error *err),
                        struct error *err) {
    coordinator->errand = (struct errand){.coordinator = coordinator, .run = run};
    return pthread_create(&coordinator->errand.thread, NULL, run_errand, &coordinator->errand) == 0
               ? 0
               : error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
}

static int list_input(struct coordinator *coordinator, struct error *err) {
    return prepare_job(coordinator->job, &coordinator->prepared, err);
}

static int join_outputs(struct coordinator *coordinator, struct error *err) {
    const struct prepared *prepared = &coordinator->prepared;
    if (parts_check(prepared->parts.folder, err) < 0) {
        return -1;
    }
    return prepared->media->join(prepared->listing, coordinator->job->spec, prepared->parts.run,
                                 coordinator->job->batch_items, coordinator->outputs, err);
}

/* ---- leases --------------------------------------------------------------------------------- */

static void tell(struct guest *guest, const struct message *message) {
    AUTO(text_freep) char *text = message_format(message);
    server_send(guest->peer, text);
}

/* A lease whose description is too long for a message fails like any other try. */
static void send_lease(struct coordinator *coordinator, const struct ledger_lease *lease) {
    struct guest *guest = coordinator->guest_of[lease->worker];
    AUTO(tree_freep)
    json_t *work = coordinator->prepared.media->work(
        coordinator->prepared.listing, lease->first * coordinator->job->batch_items, lease->items);
    struct message message = {.type = MESSAGE_LEASE,
                              .lease = lease->lease,
                              .batch = lease->first,
                              .try = lease->try,
                              .parts = coordinator->prepared.parts.number,
                              .work = work};
    AUTO(text_freep) char *text = message_format(&message);
    if (strlen(text) > MESSAGE_BYTES_MAX) {
        struct ledger_report report = {
            .worker = lease->worker,
            .lease = lease->lease,
            .fault = LEDGER_SCORER,
            .cause = "its description is larger than a message: make spec.miniBatchSize smaller"};
        ledger_report(coordinator->ledger, &report, clock_monotonic_ms(), NULL);
        return;
    }
    log_event(LOG_DEBUG, "mini-batch %lld, try %d: leased to %s", (long long)lease->first,
              lease->try, guest->name);
    server_send(guest->peer, text);
}

/* Everything that follows from an event: leases taken away, leases given. */
static void settle(struct coordinator *coordinator) {
    struct ledger_taken taken;
    struct ledger_lease lease;
    int64_t now_ms = clock_monotonic_ms();
    while (ledger_take(coordinator->ledger, now_ms, &taken)) {
        struct guest *guest = coordinator->guest_of[taken.lease.worker];
        if (taken.verdict != LEDGER_IGNORED) {
            log_event(LOG_WARNING, "mini-batch %lld, try %d on %s: %s",
                      (long long)taken.lease.first, taken.lease.try,
                      ledger_worker(coordinator->ledger, taken.lease.worker).name, taken.cause);
        }
        if (guest) {
            tell(guest, &(struct message){.type = MESSAGE_CANCEL, .lease = taken.lease.lease});
        }
    }
    while (ledger_grant(coordinator->ledger, now_ms, &lease)) {
        progress_start(&coordinator->progress, now_ms);
        if (lease.is_second) {
            log_event(LOG_INFO, "mini-batch %lld takes long: %s runs it, too",
                      (long long)lease.first, coordinator->guest_of[lease.worker]->name);
        }
        send_lease(coordinator, &lease);
    }
}

/* ---- guests --------------------------------------------------------------------------------- */

static void refuse(struct guest *guest, const char *reason) {
    struct message message = {.type = MESSAGE_REFUSED};
    snprintf(message.text, sizeof message.text, "%s", reason);
    log_event(LOG_WARNING, "a worker is refused: %s", reason);
    tell(guest, &message);
    server_close(guest->peer);
}

static void leave(struct coordinator *coordinator, struct guest *guest) {
    if (guest->worker >= 0) {
        int64_t retried = ledger_counts(coordinator->ledger).batches.retried;
        ledger_leave(coordinator->ledger, guest->worker);
        coordinator->guest_of[guest->worker] = NULL;
        guest->worker = -1;
        bool had_work = ledger_counts(coordinator->ledger).batches.retried > retried;
        log_event(had_work ? LOG_WARNING : LOG_INFO, "worker %s is gone%s", guest->name,
                  had_work ? ", its mini-batch goes to another" : "");
    }
}

/* A worker that connects again may be quicker than the news that its old connection is dead. */
static void replace_namesake(struct coordinator *coordinator, const struct guest *guest) {
    for (size_t i = 0; i < coordinator->guest_of_count; i++) {
        struct guest *other = coordinator->guest_of[i];
        if (other && strcmp(other->name, guest->name) == 0) {
            leave(coordinator, other);
            server_close(other->peer);
            return;
        }
    }
}

static void admit(struct coordinator *coordinator, struct guest *guest) {
    struct error err = {0};
    if (coordinator->final_since_ms >= 0) {
        tell(guest, &(struct message){.type = MESSAGE_DONE});
        server_close(guest->peer);
        return;
    }
    if (!coordinator->ledger) {
        return; /* admitted when the input is listed */
    }
    replace_namesake(coordinator, guest);
    if (ledger_join(coordinator->ledger, guest->name, 1, &guest->worker, &err) < 0) {
        refuse(guest, err.text);
        return;
    }
    size_t count = ledger_worker_count(coordinator->ledger);
    if (count > coordinator->guest_of_count) {
        coordinator->guest_of = x_realloc_array(coordinator->guest_of, count, sizeof(void *));
        memset(coordinator->guest_of + coordinator->guest_of_count, 0,
               (count - coordinator->guest_of_count) * sizeof(void *));
        coordinator->guest_of_count = count;
    }
    coordinator->guest_of[guest->worker] = guest;
    log_event(LOG_INFO, "worker %s is here", guest->name);
}

static void on_result(struct coordinator *coordinator, const struct guest *guest,
                      const struct message *message) {
    struct ledger_report report = {.worker = guest->worker,
                                   .lease = message->lease,
                                   .fault = message->is_error ? LEDGER_SCORER : LEDGER_NO_FAULT,
                                   .items = message->items,
                                   .took_us = (int64_t)(MIN(message->seconds, 1e6) * 1e6),
                                   .cause = message->text};
    struct ledger_lease lease;
    int64_t now_ms = clock_monotonic_ms();
    enum ledger_verdict verdict = ledger_report(coordinator->ledger, &report, now_ms, &lease);
    if (verdict == LEDGER_RETRY || verdict == LEDGER_FAILED) {
        log_event(verdict == LEDGER_FAILED ? LOG_ERROR : LOG_WARNING, "mini-batch %lld %s: %s: %s",
                  (long long)lease.first, verdict == LEDGER_FAILED ? "failed" : "is tried again",
                  guest->name, message->is_error ? message->text : "a wrong number of results");
    } else if (verdict != LEDGER_IGNORED) {
        progress_add(&coordinator->progress, ledger_counts(coordinator->ledger).items.done, now_ms);
    }
}

static void on_received(void *context, struct server_peer *peer, const char *text, size_t size) {
    struct coordinator *coordinator = context;
    struct guest *guest = server_peer_get(peer);
    struct error err = {0};
    struct message message = {0};
    if (message_parse(text, size, &message, &err) < 0) {
        refuse(guest, err.text);
        return;
    }
    if (message.type == MESSAGE_HELLO && !guest->name[0]) {
        memcpy(guest->name, message.name, sizeof guest->name);
        admit(coordinator, guest);
    } else if (message.type == MESSAGE_RESULT && guest->worker >= 0) {
        on_result(coordinator, guest, &message);
    } else if (message.type != MESSAGE_RESULT || !guest->name[0]) {
        /* A result from before the coordinator was replaced may come before we are ready. */
        refuse(guest, "a worker says hello once, then results");
    }
    message_release(&message);
    if (coordinator->ledger && coordinator->final_since_ms < 0) {
        settle(coordinator);
    }
}

static void on_opened(void *context, struct server_peer *peer) {
    struct coordinator *coordinator = context;
    struct guest *guest = x_calloc(1, sizeof *guest);
    *guest = (struct guest){
        .peer = peer, .worker = -1, .since_ms = clock_monotonic_ms(), .next = coordinator->guests};
    if (guest->next) {
        guest->next->previous = guest;
    }
    coordinator->guests = guest;
    server_peer_set(peer, guest);
}

static void on_closed(void *context, struct server_peer *peer) {
    struct coordinator *coordinator = context;
    struct guest *guest = server_peer_get(peer);
    leave(coordinator, guest);
    *(guest->previous ? &guest->previous->next : &coordinator->guests) = guest->next;
    if (guest->next) {
        guest->next->previous = guest->previous;
    }
    free(guest);
    if (coordinator->ledger && coordinator->final_since_ms < 0) {
        settle(coordinator);
    }
}

static json_t *progress_tree(const struct coordinator *coordinator) {
    struct ledger_counts counts = {0};
    if (coordinator->ledger) {
        counts = ledger_counts(coordinator->ledger);
    }
    return progress_json(&coordinator->progress, &counts, clock_monotonic_ms());
}

static struct server_page on_page(void *context, const char *path) {
    struct coordinator *coordinator = context;
    if (strcmp(path, "/healthz") == 0) {
        return (struct server_page){.body = x_strdup("{\"status\": \"ok\"}")};
    }
    if (strcmp(path, "/progress") != 0) {
        return (struct server_page){0};
    }
    AUTO(tree_freep) json_t *tree = progress_tree(coordinator);
    return (struct server_page){.body = json_dumps(tree, JSON_COMPACT)};
}

static const struct server_events events = {on_page, on_opened, on_received, on_closed};

/* ---- the job's course ----------------------------------------------------------------------- */

static void tick(struct coordinator *coordinator) {
    int64_t now_ms = clock_monotonic_ms();
    for (struct guest *guest = coordinator->guests; guest; guest = guest->next) {
        if (!guest->name[0] && now_ms - guest->since_ms > COORDINATOR_HELLO_MS) {
            guest->since_ms = now_ms;
            refuse(guest, "no hello came");
        }
    }
    if (coordinator->ledger && now_ms - coordinator->reported_ms >= REPORT_MS) {
        struct ledger_counts counts = ledger_counts(coordinator->ledger);
        char rate[32];
        progress_format_rate(progress_rate(&coordinator->progress, now_ms), rate);
        log_event(LOG_INFO, "%lld of %lld items done, %s items/s, %d workers",
                  (long long)counts.items.done, (long long)counts.items.total, rate,
                  counts.workers);
        coordinator->reported_ms = now_ms;
    }
}

static int serve(struct coordinator *coordinator, int timeout_ms, struct error *err) {
    if (server_service(coordinator->server, timeout_ms, err) < 0) {
        return -1;
    }
    tick(coordinator);
    return job_is_interrupted() ? error_set(err, ERROR_CANCELLED, "Cancelled") : 0;
}

/* Serves until the errand ends; its outcome is the result. */
static int await_errand(struct coordinator *coordinator, struct error *err) {
    struct errand *errand = &coordinator->errand;
    while (!atomic_load(&errand->ended)) {
        if (serve(coordinator, SERVICE_MS, err) < 0) {
            return -1; /* the process ends; the thread with it */
        }
    }
    pthread_join(errand->thread, NULL);
    if (errand->result < 0) {
        *err = errand->err;
    }
    return errand->result;
}

static int list_phase(struct coordinator *coordinator, struct error *err) {
    if (start_errand(coordinator, list_input, err) < 0 || await_errand(coordinator, err) < 0) {
        return -1;
    }
    int64_t items = coordinator->prepared.items, batch_items = coordinator->job->batch_items;
    struct ledger_options options = {
        .cell_items = batch_items,
        .max_tries = coordinator->job->max_tries,
        .timeout_ms = coordinator->job->timeout_ms,
        /* A coordinator that replaces another never uses its lease numbers. */
        .first_lease = clock_wall_ms() * 1000 % ((int64_t)1 << 52),
        .ahead_max = 1,
        .has_stretches = true,
        .errors_max = -1, /* all others are tried before the job fails */
        .batch_errors_max = -1,
        .batch_errors_percent = -1,
    };
    coordinator->ledger = ledger_new(&options);
    int64_t batches = (items - 1) / batch_items + 1;
    if (ledger_extend(coordinator->ledger, batches, items, /* is_last= */ true, err) < 0) {
        ledger_free(TAKE(coordinator->ledger));
        return -1;
    }
    log_event(LOG_INFO, "%lld items in %lld mini-batches", (long long)items, (long long)batches);
    coordinator->progress.state = PROGRESS_RUNNING;
    coordinator->reported_ms = clock_monotonic_ms();
    for (struct guest *guest = coordinator->guests; guest; guest = guest->next) {
        if (guest->name[0]) {
            admit(coordinator, guest);
        }
    }
    settle(coordinator);
    return 0;
}

static int lease_phase(struct coordinator *coordinator, struct error *err) {
    while (!ledger_is_accounted(coordinator->ledger)) {
        int64_t deadline_ms = ledger_deadline_ms(coordinator->ledger);
        int64_t left_ms = deadline_ms < 0 ? SERVICE_MS : deadline_ms - clock_monotonic_ms();
        if (serve(coordinator, (int)MAX(MIN(left_ms, SERVICE_MS), 1), err) < 0) {
            return -1;
        }
        settle(coordinator);
    }
    size_t count = 0;
    const struct ledger_failure *failures = ledger_failures(coordinator->ledger, &count);
    struct ledger_counts counts = ledger_counts(coordinator->ledger);
    if (count) {
        return error_set(err, ERROR_FAILED,
                         "%s (mini-batch %lld on %s, %d tries; %lld of %lld mini-batches failed)",
                         failures->cause, (long long)failures->cell,
                         ledger_worker(coordinator->ledger, failures->worker).name, failures->tries,
                         (long long)counts.batches.failed, (long long)counts.batches.total);
    }
    return 0;
}

static int join_phase(struct coordinator *coordinator, struct error *err) {
    coordinator->progress.state = PROGRESS_JOINING;
    return start_errand(coordinator, join_outputs, err) < 0 || await_errand(coordinator, err) < 0
               ? -1
               : 0;
}

/* What is wrong with the input, the model or the output folder is the manifest's to correct. */
static int exit_code(const struct error *err, bool was_listed) {
    switch (err->kind) {
    case ERROR_NONE:
        return 0;
    case ERROR_CANCELLED:
        return 130;
    case ERROR_GONE: /* superseded: no verdict */
        return 3;
    case ERROR_INVALID:
    case ERROR_NOT_FOUND:
    case ERROR_DENIED:
    case ERROR_CONFLICT:
    case ERROR_UNSUPPORTED:
        return was_listed ? 1 : 2;
    default:
        return 1;
    }
}

/* Only a long list of outputs can be too long for them. */
static void leave_words(json_t *progress) {
    AUTO(text_freep) char *words = json_dumps(progress, JSON_COMPACT);
    if (strlen(words) > JOB_LAST_WORDS_MAX) {
        json_object_set_new(progress, "outputs", json_array());
        free(words);
        words = json_dumps(progress, JSON_COMPACT);
    }
    job_last_words(words);
}

/* The outcome is known: summary, last words. */
static void conclude(struct coordinator *coordinator, const struct error *outcome) {
    struct progress *progress = &coordinator->progress;
    const struct ledger *ledger = coordinator->ledger;
    progress->state = outcome->kind ? PROGRESS_FAILED : PROGRESS_SUCCEEDED;
    progress->outputs = coordinator->outputs;
    if (outcome->kind == ERROR_CANCELLED && ledger) {
        snprintf(progress->message, sizeof progress->message,
                 "Cancelled; the results of %lld of %lld items are kept",
                 (long long)ledger_counts(ledger).items.done,
                 (long long)ledger_counts(ledger).items.total);
    } else {
        snprintf(progress->message, sizeof progress->message, "%s", outcome->text);
    }
    if (ledger && !coordinator->is_superseded) {
        struct error err = {0};
        struct summary summary = {.job = coordinator->job,
                                  .progress = progress,
                                  .ledger = ledger,
                                  .started_wall_ms = coordinator->started_wall_ms,
                                  .completed_wall_ms = clock_wall_ms(),
                                  .exit_code = exit_code(outcome, /* was_listed= */ true)};
        if (summary_write(&summary, coordinator->prepared.output_path, &err) < 0) {
            log_event(LOG_ERROR, "summary: %s", err.text);
        } else {
            progress->summary = coordinator->prepared.summary_spec;
        }
    }
    log_event(outcome->kind ? LOG_ERROR : LOG_INFO, "%s%s%s", progress_state_name(progress->state),
              *progress->message ? ": " : "", progress->message);
    AUTO(tree_freep) json_t *words = progress_tree(coordinator);
    leave_words(words);
}

/* Workers hear that no work is left. The outcome needs no listener: it is in the last words. */
static void say_farewell(struct coordinator *coordinator) {
    struct error err = {0};
    int64_t start_ms = clock_monotonic_ms();
    coordinator->final_since_ms = start_ms;
    for (struct guest *guest = coordinator->guests; guest; guest = guest->next) {
        if (guest->name[0]) {
            tell(guest, &(struct message){.type = MESSAGE_DONE});
        }
        server_close(guest->peer);
    }
    while (coordinator->guests && !job_is_interrupted() &&
           clock_monotonic_ms() < start_ms + COORDINATOR_FAREWELL_MS) {
        if (server_service(coordinator->server, SERVICE_MS / 2, &err) < 0) {
            return;
        }
    }
}

static void release(struct coordinator *coordinator) {
    server_free(coordinator->server);
    while (coordinator->guests) {
        struct guest *next = coordinator->guests->next;
        free(coordinator->guests);
        coordinator->guests = next;
    }
    free(coordinator->guest_of);
    ledger_free(coordinator->ledger);
    json_decref(coordinator->outputs);
    prepared_release(&coordinator->prepared);
}

/* What went wrong may be no more than that another coordinator has taken over. */
static void look_back(struct coordinator *coordinator, struct error *outcome) {
    struct error err = {0};
    coordinator->is_superseded = parts_check(coordinator->prepared.parts.folder, &err) < 0;
    if (coordinator->is_superseded) {
        parts_remove(coordinator->prepared.parts.folder); /* late workers may have made it again */
    }
    if (coordinator->is_superseded && outcome->kind != ERROR_CANCELLED) {
        *outcome = err;
    }
}

/* A pod that ended while no controller looked, and went: the one in its place says it again. */
static bool has_ended(const struct job *job, int *ret_exit_code) {
    AUTO(tree_freep) json_t *words = summary_recall(job, ret_exit_code);
    if (words) {
        log_event(LOG_INFO, "job %s: an earlier coordinator has ended it: %s", job->name,
                  tree_text(words, "state", ""));
        leave_words(words);
    }
    return words != NULL;
}

int coordinator_run(const struct job *job) {
    struct error err = {0};
    int code = 0;
    if (has_ended(job, &code)) {
        return code;
    }
    struct coordinator coordinator = {.job = job,
                                      .prepared = {.parts = {.lock_fd = -1}},
                                      .outputs = json_array(),
                                      .started_wall_ms = clock_wall_ms(),
                                      .final_since_ms = -1};
    struct server_options options = {.bind = job->bind,
                                     .certificate_pem = job->certificate_pem,
                                     .key_pem = job->key_pem,
                                     .socket_path = "/work",
                                     .token = job->token,
                                     .events = &events,
                                     .context = &coordinator};
    progress_init(&coordinator.progress);
    if (server_open(&options, &coordinator.server, &err) < 0) {
        conclude(&coordinator, &err);
        release(&coordinator);
        return error_exit_code(&err);
    }
    log_event(LOG_INFO, "job %s: listening on %s", job->name, job->bind);
    bool listed = list_phase(&coordinator, &err) == 0;
    if (listed && lease_phase(&coordinator, &err) == 0 && join_phase(&coordinator, &err) == 0) {
        error_clear(&err);
    } else if (listed) {
        look_back(&coordinator, &err);
    }
    conclude(&coordinator, &err);
    if (err.kind != ERROR_CANCELLED) {
        say_farewell(&coordinator);
    } else if (coordinator.errand.run && !atomic_load(&coordinator.errand.ended)) {
        _exit(130); /* a thread is at work with what release would free */
    }
    release(&coordinator);
    return exit_code(&err, listed);
}
