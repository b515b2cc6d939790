// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/dispatcher.h"

#include "agent/score/worker/scorer.h"
#include "lib/log.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A lease that is committed, and that its worker publishes now. */
struct telling {
    int64_t lease, first, cells;
};

/* A connection; owned by the list until `closed`. */
struct guest {
    struct server_peer *peer;
    struct guest *previous, *next;
    char name[MESSAGE_NAME_MAX + 1]; /* "" before hello */
    int slots;
    int worker; /* index in the ledger, or -1 */
    int64_t since_ms;
    bool is_leaving;                        /* its next results are its last */
    struct message_batch leases, committed; /* on their way out */
    struct telling *tellings;               /* oldest first */
    size_t telling_count, telling_room;
};

/* What a worker said while the desk held. */
struct held {
    struct held *next;
    struct guest *guest;
    size_t size;
    char text[];
};

static struct books *books_of(const struct desk *desk) {
    return &desk->prepared->books;
}

static struct ledger *ledger_of(const struct desk *desk) {
    return desk->prepared->books.ledger;
}

/* ---- out ------------------------------------------------------------------------------------ */

static void tell(struct guest *guest, const struct message *message) {
    AUTO(text_freep) char *text = message_format(message);
    server_send(guest->peer, text);
}

static void send_batch(struct guest *guest, struct message_batch *batch) {
    AUTO(text_freep) char *text = message_batch_take(batch);
    if (text) {
        server_send(guest->peer, text);
    }
}

static void flush(struct desk *desk) {
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        send_batch(guest, &guest->committed);
        send_batch(guest, &guest->leases);
    }
}

/* The job cannot go on without its books; the course of the job finds out. */
static void keep(struct desk *desk, int result, const struct error *err) {
    if (result < 0 && !desk->failure.kind) {
        desk->failure = *err;
    }
}

/* A lease has ended; what is accepted by that goes into the books. */
static enum ledger_verdict report(struct desk *desk, const struct ledger_report *said,
                                  const struct message_result *result,
                                  struct ledger_lease *ret_lease) {
    int64_t now_ms = clock_monotonic_ms();
    struct error err = {0};
    enum ledger_verdict verdict = ledger_report(ledger_of(desk), said, now_ms, ret_lease);
    const struct books_failure failure = {
        .fault = said->fault == LEDGER_MACHINE ? COMMIT_LOST : COMMIT_ERROR,
        .cause = said->cause ? said->cause : "a wrong number of results"};
    if (verdict == LEDGER_RETRY && said->fault != LEDGER_BACK) {
        keep(desk, books_retried(books_of(desk), ret_lease, &failure, &err), &err);
    } else if (verdict != LEDGER_IGNORED && verdict != LEDGER_RETRY) {
        keep(desk, books_accept(books_of(desk), verdict, ret_lease, result, &failure, &err), &err);
        progress_add(&desk->progress, ledger_counts(ledger_of(desk)).items.done, now_ms);
    }
    return verdict;
}

/* A mini-batch whose description is too long for a message fails like any other try. */
static void give(struct desk *desk, const struct ledger_lease *lease) {
    struct guest *guest = desk->guest_of[lease->worker];
    struct prepared *prepared = desk->prepared;
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    int described = prepared_work(prepared, lease->first, lease->cells, &text, &err);
    if (described < 0 && err.kind != ERROR_EXHAUSTED) {
        keep(desk, -1, &err); /* the list is torn: nobody can go on */
        return;
    }
    struct message_lease row = {.lease = lease->lease,
                                .slot = lease->slot,
                                .first = lease->first,
                                .cells = lease->cells,
                                .try = lease->try};
    int added = text ? message_batch_lease(&guest->leases, &row, text) : -1;
    if (added == 0) {
        send_batch(guest, &guest->leases);
        added = message_batch_lease(&guest->leases, &row, text);
    }
    if (added < 0) {
        struct ledger_lease ended;
        char cause[LEDGER_CAUSE_MAX];
        snprintf(cause, sizeof cause, "its description is larger than a message: %s",
                 scorer_size_hint(desk->job->spec));
        struct ledger_report said = {.worker = lease->worker,
                                     .lease = lease->lease,
                                     .fault = LEDGER_SCORER,
                                     .items = lease->items,
                                     .took_us = -1,
                                     .cause = cause};
        if (lease->cells > 1) { /* our own choice: it goes out again in smaller ones */
            said.fault = LEDGER_BACK;
            ledger_limit(ledger_of(desk), lease->cells / 2);
        }
        (void)report(desk, &said, NULL, &ended);
        return;
    }
    log_event(LOG_DEBUG, "mini-batch %lld, try %d: leased to %s", (long long)lease->first,
              lease->try, guest->name);
}

static void take_away(struct desk *desk, const struct ledger_taken *taken) {
    struct guest *guest = desk->guest_of[taken->lease.worker];
    const struct books_failure failure = {.fault = taken->fault == LEDGER_MACHINE ? COMMIT_LOST
                                                                                  : COMMIT_TIMEOUT,
                                          .cause = taken->cause};
    struct error err = {0};
    if (taken->verdict == LEDGER_RETRY) {
        keep(desk, books_retried(books_of(desk), &taken->lease, &failure, &err), &err);
    }
    if (taken->is_lost && taken->verdict == LEDGER_RETRY) {
        return; /* its worker may be here again with the result, which is welcome */
    }
    if (taken->verdict != LEDGER_IGNORED) {
        log_event(taken->verdict == LEDGER_FAILED ? LOG_ERROR : LOG_WARNING,
                  "mini-batch %lld, try %d on %s: %s", (long long)taken->lease.first,
                  taken->lease.try, ledger_worker(ledger_of(desk), taken->lease.worker).name,
                  taken->cause);
    }
    if (taken->verdict == LEDGER_FAILED) {
        keep(desk, books_accept(books_of(desk), LEDGER_FAILED, &taken->lease, NULL, &failure, &err),
             &err);
    }
    if (guest) {
        tell(guest, &(struct message){.type = MESSAGE_CANCEL, .lease = taken->lease.lease});
    }
}

void desk_settle(struct desk *desk) {
    struct ledger_taken taken;
    struct ledger_lease lease;
    int64_t now_ms = clock_monotonic_ms();
    if (!desk->prepared || desk->is_closed || desk->holds) {
        return;
    }
    while (ledger_take(ledger_of(desk), now_ms, &taken)) {
        take_away(desk, &taken);
    }
    while (desk->gives && !desk->failure.kind && !books_are_full(books_of(desk)) &&
           ledger_grant(ledger_of(desk), now_ms, &lease)) {
        progress_start(&desk->progress, now_ms);
        give(desk, &lease);
    }
    flush(desk);
}

/* ---- what is committed ---------------------------------------------------------------------- */

/* Whoever made it may publish it now. */
static void on_stored(void *context, const struct books_entry *entry) {
    struct desk *desk = context;
    struct guest *guest = entry->worker >= 0 && (size_t)entry->worker < desk->guest_of_count
                              ? desk->guest_of[entry->worker]
                              : NULL;
    if (!guest || desk->prepared->form != SINK_PACKS ||
        (entry->verdict != COMMIT_DONE && entry->verdict != COMMIT_PARTIAL)) {
        return;
    }
    if (message_batch_number(&guest->committed, entry->lease) == 0) {
        send_batch(guest, &guest->committed);
        (void)message_batch_number(&guest->committed, entry->lease);
    }
    if (guest->telling_count == guest->telling_room) {
        guest->telling_room = MAX(guest->telling_room * 2, (size_t)16);
        guest->tellings =
            x_realloc_array(guest->tellings, guest->telling_room, sizeof *guest->tellings);
    }
    guest->tellings[guest->telling_count++] =
        (struct telling){entry->lease, entry->first, entry->cells};
    desk->publishing++;
    desk->published_ms = clock_monotonic_ms();
}

int desk_turn(struct desk *desk, bool at_once, struct error *err) {
    int result = books_turn(books_of(desk), at_once, on_stored, desk, err);
    flush(desk);
    return result;
}

static void on_published(struct desk *desk, struct guest *guest, int64_t lease) {
    for (size_t i = 0; i < guest->telling_count; i++) {
        struct telling told = guest->tellings[i];
        if (told.lease == lease) {
            struct error err = {0};
            memmove(guest->tellings + i, guest->tellings + i + 1,
                    (--guest->telling_count - i) * sizeof told);
            desk->publishing--;
            desk->published_ms = clock_monotonic_ms();
            keep(desk, books_published(books_of(desk), told.first, told.cells, &err), &err);
            return;
        }
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

static void leave(struct desk *desk, struct guest *guest) {
    if (guest->worker >= 0) {
        int64_t retried = ledger_counts(ledger_of(desk)).batches.retried;
        ledger_leave(ledger_of(desk), guest->worker);
        desk->guest_of[guest->worker] = NULL;
        guest->worker = -1;
        desk->publishing -= (int64_t)guest->telling_count;
        guest->telling_count = 0;
        bool had_work = ledger_counts(ledger_of(desk)).batches.retried > retried;
        /* It may have been writing: a result, a file of its final name, a log. */
        desk->losses += !guest->is_leaving && !desk->is_closed;
        log_event(had_work ? LOG_WARNING : LOG_INFO, "worker %s is gone%s", guest->name,
                  had_work ? ", its mini-batch goes to another" : "");
    }
}

/* A worker that connects again may be quicker than the news that its old connection is dead. */
static void replace_namesake(struct desk *desk, const struct guest *guest) {
    for (size_t i = 0; i < desk->guest_of_count; i++) {
        struct guest *other = desk->guest_of[i];
        if (other && strcmp(other->name, guest->name) == 0) {
            leave(desk, other);
            server_close(other->peer);
            return;
        }
    }
}

static void admit(struct desk *desk, struct guest *guest) {
    struct error err = {0};
    if (desk->is_closed) {
        tell(guest, &(struct message){.type = MESSAGE_DONE});
        server_close(guest->peer);
        return;
    }
    if (!desk->prepared || desk->holds) {
        return; /* admitted when the input is listed, or the desk goes on */
    }
    replace_namesake(desk, guest);
    if (ledger_join(ledger_of(desk), guest->name, guest->slots, &guest->worker, &err) < 0) {
        refuse(guest, err.text);
        return;
    }
    size_t count = ledger_worker_count(ledger_of(desk));
    if (count > desk->guest_of_count) {
        desk->guest_of = x_realloc_array(desk->guest_of, count, sizeof(void *));
        memset(desk->guest_of + desk->guest_of_count, 0,
               (count - desk->guest_of_count) * sizeof(void *));
        desk->guest_of_count = count;
    }
    desk->guest_of[guest->worker] = guest;
    int64_t epoch = books_of(desk)->epoch;
    message_batch_init(&guest->leases, MESSAGE_LEASES, epoch);
    message_batch_init(&guest->committed, MESSAGE_COMMITTED, epoch);
    log_event(LOG_INFO, "worker %s is here", guest->name);
}

/* Who came while nobody was admitted. In that order: of two connections of one name the later one
 * is the worker's, the other is dead, or will be. */
static void admit_all(struct desk *desk) {
    struct guest *guest = desk->guests;
    while (guest && guest->next) {
        guest = guest->next;
    }
    for (; guest; guest = guest->previous) {
        if (guest->is_leaving && guest->worker < 0) {
            server_close(guest->peer);
        } else if (guest->name[0] && guest->worker < 0) {
            admit(desk, guest);
        }
    }
}

void desk_start(struct desk *desk, struct prepared *prepared) {
    desk->prepared = prepared;
    desk->gives = true;
    admit_all(desk);
    desk_settle(desk);
}

/* ---- in ------------------------------------------------------------------------------------- */

/* Of items that have failed: what the first one says. */
static const char *first_cause(const struct message_result *result, struct error *line) {
    const json_t *pair = json_array_get(result->failures, 0);
    const char *cause = json_string_value(json_array_get(pair, 1));
    if (result->failed == 0 || !cause) {
        return NULL;
    }
    error_set(line, ERROR_FAILED, "%s", cause);
    return line->text;
}

static void on_result(struct desk *desk, const struct guest *guest,
                      const struct message_result *result) {
    static const enum ledger_fault faults[] = {LEDGER_SCORER, LEDGER_MACHINE, LEDGER_BACK};
    struct error line = {0}; /* an error's text is one tidy, bounded line */
    struct ledger_lease lease;
    struct ledger_report said = {.worker = guest->worker,
                                 .lease = result->lease,
                                 .items = result->items,
                                 .failed = result->failed,
                                 .took_us = result->took_us,
                                 .cause = first_cause(result, &line)};
    if (result->word != MESSAGE_ENDS) {
        ledger_wait(ledger_of(desk), guest->worker, result->lease, result->word == MESSAGE_BEGINS,
                    clock_monotonic_ms());
        return;
    }
    if (result->is_fault) {
        error_set(&line, ERROR_FAILED, "%.*s", (int)MIN(result->text_size, (size_t)4096),
                  result->text);
        said.fault = faults[result->fault];
        said.took_us = -1;
        said.cause = line.text;
    }
    enum ledger_verdict verdict = report(desk, &said, result, &lease);
    bool has_failed = verdict == LEDGER_FAILED || verdict == LEDGER_PARTIAL;
    if (has_failed && result->said_size > 0 && !*desk->progress.failed_log) {
        output_tail_text(result->said, result->said_size, desk->progress.failed_log);
    }
    if (verdict == LEDGER_RETRY || verdict == LEDGER_FAILED) {
        log_event(verdict == LEDGER_FAILED ? LOG_ERROR : LOG_WARNING, "mini-batch %lld %s: %s: %s",
                  (long long)lease.first, verdict == LEDGER_FAILED ? "failed" : "is tried again",
                  guest->name, *line.text ? line.text : "a wrong number of results");
    }
}

/* Of another epoch: what an earlier coordinator asked for. */
static void on_batch(struct desk *desk, struct guest *guest, const struct message *message) {
    if (message->epoch != books_of(desk)->epoch) {
        return;
    }
    for (size_t i = 0; i < message->count; i++) {
        if (message->type == MESSAGE_RESULTS) {
            on_result(desk, guest, &message->results[i]);
        } else {
            on_published(desk, guest, message->numbers[i]);
        }
    }
}

/* ---- while the books are another thread's --------------------------------------------------- */

/* Of a worker that is admitted. */
static void hold(struct desk *desk, struct guest *guest, const char *text, size_t size) {
    if (desk->held_bytes + size > DESK_HELD_BYTES) {
        server_close(guest->peer); /* its leases go to others, as if it were lost */
        return;
    }
    struct held *held = x_malloc(sizeof *held + size);
    *held = (struct held){.guest = guest, .size = size};
    memcpy(held->text, text, size);
    desk->held_bytes += size;
    *desk->held_end = held;
    desk->held_end = &held->next;
}

void desk_hold(struct desk *desk) {
    desk->holds = true;
    desk->held_end = &desk->held;
}

static void guest_free(struct guest *guest) {
    message_batch_release(&guest->leases);
    message_batch_release(&guest->committed);
    free(guest->tellings);
    free(guest);
}

/* Nothing of it happens. */
static void drop_held(struct desk *desk) {
    while (desk->held) {
        struct held *next = desk->held->next;
        free(desk->held);
        desk->held = next;
    }
    while (desk->gone) {
        struct guest *next = desk->gone->next;
        guest_free(desk->gone);
        desk->gone = next;
    }
    desk->held_bytes = 0;
}

/* A message of a worker's; true: its last. */
static bool on_message(struct desk *desk, struct guest *guest, const struct message *message) {
    if (message->type == MESSAGE_LEAVING) {
        guest->is_leaving = true;
        return false;
    }
    on_batch(desk, guest, message);
    return guest->is_leaving && message->type == MESSAGE_RESULTS;
}

/* Nobody is told of anything before all has happened: who said it may be gone. */
void desk_go_on(struct desk *desk) {
    desk->holds = false;
    for (const struct held *held = desk->held; held; held = held->next) {
        struct error err = {0};
        AUTO(message_release) struct message message = {0};
        if (held->guest->worker >= 0 &&
            message_parse(held->text, held->size, &message, &err) == 0 &&
            on_message(desk, held->guest, &message)) {
            leave(desk, held->guest);
        }
    }
    for (struct guest *guest = desk->gone; guest; guest = guest->next) {
        leave(desk, guest);
    }
    drop_held(desk);
    admit_all(desk);
    desk_settle(desk);
}

/* ---- events --------------------------------------------------------------------------------- */

void desk_received(void *context, struct server_peer *peer, const char *text, size_t size) {
    struct desk *desk = context;
    struct guest *guest = server_peer_get(peer);
    struct error err = {0};
    AUTO(message_release) struct message message = {0};
    if (message_parse(text, size, &message, &err) < 0) {
        refuse(guest, err.text);
        return;
    }
    bool is_batch = message.type == MESSAGE_RESULTS || message.type == MESSAGE_PUBLISHED;
    bool is_workers = is_batch || message.type == MESSAGE_LEAVING;
    if (message.type == MESSAGE_HELLO && !guest->name[0]) {
        memcpy(guest->name, message.name, sizeof guest->name);
        guest->slots = message.slots;
        admit(desk, guest);
    } else if (is_workers && guest->worker >= 0 && desk->holds) {
        hold(desk, guest, text, size);
    } else if (is_workers && guest->worker >= 0) {
        if (on_message(desk, guest, &message)) {
            leave(desk, guest);
            server_close(guest->peer);
        }
    } else if (message.type == MESSAGE_LEAVING && guest->name[0]) {
        server_close(guest->peer); /* it has nothing of ours */
    } else if (!is_batch || !guest->name[0]) {
        /* A result from before the coordinator was replaced may come before we are ready. */
        refuse(guest, "a worker says hello once, then results");
    }
    desk_settle(desk);
}

void desk_opened(void *context, struct server_peer *peer) {
    struct desk *desk = context;
    struct guest *guest = x_calloc(1, sizeof *guest);
    *guest = (struct guest){
        .peer = peer, .worker = -1, .since_ms = clock_monotonic_ms(), .next = desk->guests};
    if (guest->next) {
        guest->next->previous = guest;
    }
    desk->guests = guest;
    server_peer_set(peer, guest);
}

void desk_closed(void *context, struct server_peer *peer) {
    struct desk *desk = context;
    struct guest *guest = server_peer_get(peer);
    *(guest->previous ? &guest->previous->next : &desk->guests) = guest->next;
    if (guest->next) {
        guest->next->previous = guest->previous;
    }
    if (desk->holds && !desk->is_closed && guest->worker >= 0) {
        guest->next = desk->gone;
        desk->gone = guest;
        return;
    }
    leave(desk, guest);
    guest_free(guest);
    desk_settle(desk);
}

void desk_tick(struct desk *desk) {
    int64_t now_ms = clock_monotonic_ms();
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (!guest->name[0] && now_ms - guest->since_ms > DESK_HELLO_MS) {
            guest->since_ms = now_ms;
            refuse(guest, "no hello came");
        }
    }
}

void desk_dismiss(struct desk *desk) {
    desk->is_closed = true;
    for (struct guest *guest = desk->guests; guest; guest = guest->next) {
        if (guest->name[0]) {
            tell(guest, &(struct message){.type = MESSAGE_DONE});
        }
        server_close(guest->peer);
    }
}

void desk_release(struct desk *desk) {
    while (desk->guests) {
        struct guest *next = desk->guests->next;
        guest_free(desk->guests);
        desk->guests = next;
    }
    drop_held(desk);
    free(desk->guest_of);
}
