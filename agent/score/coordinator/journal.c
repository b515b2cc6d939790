// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/journal.h"

#include "agent/data/parts/pack.h"
#include "agent/score/log/failures.h"
#include "agent/score/log/record_resolver.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_BYTES = 1 << 20, STORED_MS = 5 };

struct journal_range {
    int64_t first, cells;
};

/* ---- opening -------------------------------------------------------------------------------- */

static enum ledger_decision decision_of(enum commit_record_type type) {
    return type == COMMIT_DONE      ? LEDGER_DONE
           : type == COMMIT_PARTIAL ? LEDGER_PARTIAL
                                    : LEDGER_FAILED;
}

bool journal_counts(const struct journal *journal, const struct commit_head *head,
                    const struct commit_record *record) {
    bool is_given_up = record->type == COMMIT_PARTIAL || record->type == COMMIT_FAILED;
    return !is_given_up || strcmp(head->uid, journal->job->uid) == 0;
}

/* True if the retry uses up a try of this job; lost workers and failing storage do not. */
static bool is_own_try(const struct journal *journal, const struct commit_head *head,
                       const struct commit_record *record) {
    return record->fault != COMMIT_LOST && strcmp(head->uid, journal->job->uid) == 0;
}

static void remember_first(struct journal *journal, const struct commit_record *record) {
    struct journal_first_failure *first = &journal->earlier_failure;
    const json_t *of_item = json_array_get(json_array_get(record->failures, 0), 1);
    const char *cause = record->type == COMMIT_FAILED ? record->text : json_string_value(of_item);
    if (first->tries == 0) {
        first->cell = record->first;
        first->tries = MAX(record->try, 1);
        snprintf(first->worker, sizeof first->worker, "%s", record->worker ? record->worker : "");
        snprintf(first->cause, sizeof first->cause, "%s", cause ? cause : "");
    }
}

static int add(struct journal *journal, const struct commit_record *record, int worker,
               struct error *err);

/* A ledger without records. */
static int renew_ledger(struct journal *journal, struct error *err) {
    ledger_free(journal->ledger);
    journal->ledger = ledger_new(&journal->ledger_options);
    journal->earlier_failure = (struct journal_first_failure){0};
    tree_freep(&journal->requests);
    return journal->cells >= 0 ? ledger_extend(journal->ledger, journal->cells, journal->items,
                                               /* is_last= */ true, err)
                               : 0;
}

/* A commit of mini-batches that the input does not have. */
static int refuse_cells(const struct commit_record *record, int64_t cells, struct error *err) {
    return error_set(
        err, ERROR_INVALID, "a commit names mini-batches %lld to %lld, the input has %lld",
        (long long)record->first, (long long)(record->first + record->cells - 1), (long long)cells);
}

static int restore(void *context, const struct commit_head *head,
                   const struct commit_record *record, struct error *err) {
    struct journal *journal = context;
    if (generation_see(&journal->generation, head, record, err) < 0) {
        return -1;
    }
    scored_by_see(&journal->programs, &journal->generation, head, record);
    if (head->number < journal->skips_to) {
        return 0;
    }
    commit_keep_requests(&journal->requests, head);
    struct ledger_record entry = {.decision = decision_of(record->type),
                                  .first = record->first,
                                  .cells = record->cells,
                                  .items = record->items,
                                  .failed = record->failed};
    switch (record->type) {
    case COMMIT_VOID:
        ledger_void(journal->ledger, record->first, record->cells);
        break;
    case COMMIT_BEGIN:
        return renew_ledger(journal, err);
    case COMMIT_PUBLISHED:
        ledger_published(journal->ledger, record->first, record->cells);
        return 0;
    case COMMIT_END: /* generation_see */
        return 0;
    case COMMIT_RETRY:
        ledger_retried(journal->ledger, &entry, is_own_try(journal, head, record));
        return 0;
    default:
        if (!journal_counts(journal, head, record)) {
            return 0;
        }
        if (record->type != COMMIT_DONE) {
            remember_first(journal, record);
        }
        return ledger_restore(journal->ledger, &entry, err);
    }
    return 0;
}

static int claim(struct journal *journal, const struct journal_options *options,
                 struct error *err) {
    const struct job *job = options->job;
    struct generation *generation = &journal->generation;
    struct commit_identity identity = {
        .run = generation->home, .uid = job->uid, .job = job->name, .seen = options->seen};
    identity.trouble = options->trouble;
    if (renew_ledger(journal, err) < 0 ||
        commit_open(options->output, &identity, restore, journal, &journal->log, err) < 0) {
        return -1;
    }
    commit_name_programs(journal->log, journal->programs);
    journal->epoch = commit_epoch(journal->log);
    if (journal->epoch > LEDGER_EPOCH_MAX) {
        return error_set(err, ERROR_EXHAUSTED,
                         "spec.output.path: this run has over %d commits: choose another output",
                         LEDGER_EPOCH_MAX);
    }
    if (generation->number > 0) {
        commit_start_after(journal->log, generation->begun, generation->epoch);
    }
    ledger_number_leases(journal->ledger, journal->epoch);
    journal->epoch_ns = clock_monotonic_ns();
    return 0;
}

int journal_open(const struct journal_options *options, struct journal *journal,
                 struct error *err) {
    const struct generation *known = options->generation;
    *journal = (struct journal){.job = options->job,
                                .output = options->output,
                                .ledger_options = options->ledger,
                                .cells = options->cells,
                                .items = options->items,
                                .skips_to = options->begins ? INT64_MAX
                                            : known         ? known->begun
                                                            : 0};
    struct generation fresh = {0};
    snprintf(fresh.home, sizeof fresh.home, "%s", options->job->run);
    generation_start(known ? known : &fresh, &journal->generation);
    if (claim(journal, options, err) < 0) {
        journal_release(journal);
        return -1;
    }
    return 0;
}

static void ignore(void *context UNUSED, const struct journal_entry *entry UNUSED) {
}

int journal_begin(struct journal *journal, const char *restart, int64_t keeps, struct error *err) {
    struct generation *generation = &journal->generation;
    AUTO(text_freep) char *text = generation_text(journal->job->run, restart, keeps);
    struct commit_record record = {.type = COMMIT_BEGIN,
                                   .first = generation->number + 1,
                                   .text = text,
                                   .text_size = strlen(text)};
    struct commit_head head = {
        .uid = journal->job->uid, .job = journal->job->name, .epoch = journal->epoch};
    head.number = commit_next_number(journal->log);
    if (add(journal, &record, -1, err) < 0) {
        return -1;
    }
    while (!journal_is_stored(journal)) { /* the log gives up if the store takes nothing */
        if (journal_turn(journal, /* at_once= */ true, ignore, NULL, err) < 0) {
            return -1;
        }
        poll(NULL, 0, STORED_MS);
    }
    commit_start_after(journal->log, head.number, head.epoch);
    journal->skips_to = 0;
    if (renew_ledger(journal, err) < 0 || generation_see(generation, &head, &record, err) < 0) {
        return -1;
    }
    scored_by_see(&journal->programs, generation, &head, &record);
    commit_name_programs(journal->log, journal->programs);
    ledger_number_leases(journal->ledger, journal->epoch);
    return 0;
}

void journal_release(struct journal *journal) {
    commit_free(TAKE(journal->log));
    ledger_free(TAKE(journal->ledger));
    tree_freep(&journal->programs);
    tree_freep(&journal->requests);
    free(TAKE(journal->pending));
    free(TAKE(journal->broken));
}

/* ---- adding --------------------------------------------------------------------------------- */

static void remember(struct journal *journal, struct journal_entry entry) {
    if (journal->pending_first >
        journal->pending_count) { /* most of the room is before pending_first */
        memmove(journal->pending, journal->pending + journal->pending_first,
                journal->pending_count * sizeof *journal->pending);
        journal->pending_first = 0;
    }
    if (journal->pending_first + journal->pending_count == journal->pending_room) {
        journal->pending_room = MAX(journal->pending_room * 2, (size_t)64);
        journal->pending =
            x_realloc_array(journal->pending, journal->pending_room, sizeof *journal->pending);
    }
    journal->pending[journal->pending_first + journal->pending_count++] = entry;
}

static int add(struct journal *journal, const struct commit_record *record, int worker,
               struct error *err) {
    if (commit_add(journal->log, record, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    journal->generation.is_ended = journal->generation.is_ended && record->type >= COMMIT_PUBLISHED;
    remember(journal, (struct journal_entry){.type = record->type,
                                             .first = record->first,
                                             .cells = record->cells,
                                             .worker = worker,
                                             .lease = record->lease});
    return 0;
}

static void set_place(struct commit_record *record, const struct message_result *result) {
    if (result->place == MESSAGE_OBJECT) {
        record->place = COMMIT_OBJECT;
        record->size_bytes = result->size_bytes;
        record->crc = result->crc;
    } else if (result->place == MESSAGE_TEXT) {
        record->place = COMMIT_TEXT;
        record->text = result->text;
        record->text_size = result->text_size;
    }
}

static void set_failures(struct commit_record *record, const struct message_result *result) {
    record->failures = result->failures;
    record->failures_bytes = result->failures_bytes;
    record->failures_crc = result->failures_crc;
}

/* The record of a lease that ended just now, after took_us. */
static struct commit_record record_of(const struct journal *journal, enum commit_record_type type,
                                      const struct ledger_lease *lease, int64_t took_us) {
    /* Start and end are truncated to milliseconds, the duration is not, so that short leases add
     * up. */
    int64_t end_us = (clock_monotonic_ns() - journal->epoch_ns) / 1000;
    int64_t start_ms = MAX(end_us - took_us, 0) / 1000;
    return (struct commit_record){
        .type = type,
        .first = lease->first,
        .cells = lease->cells,
        .items = lease->items,
        .lease = lease->lease,
        .try = lease->try,
        .worker = ledger_find_worker(journal->ledger, lease->worker).name,
        .start_ms = start_ms,
        .took_ms = end_us / 1000 - start_ms,
    };
}

static void set_cause(struct commit_record *record, const struct journal_failure *failure) {
    record->fault = failure->fault;
    record->text = failure->cause;
    record->text_size = strlen(failure->cause);
}

int journal_accept(struct journal *journal, enum ledger_decision decision,
                   const struct ledger_lease *lease, const struct message_result *result,
                   const struct journal_failure *failure, struct error *err) {
    enum commit_record_type recorded = decision == LEDGER_PARTIAL  ? COMMIT_PARTIAL
                                       : decision == LEDGER_FAILED ? COMMIT_FAILED
                                                                   : COMMIT_DONE;
    int64_t took_us = result && !result->is_fault ? result->took_us : 0;
    struct commit_record record = record_of(journal, recorded, lease, took_us);
    if (recorded == COMMIT_FAILED) {
        record.failed = lease->items;
        set_cause(&record, failure);
        if (result && !result->is_fault && result->failed == lease->items) { /* each item has a
                                                                                cause */
            set_failures(&record, result);
        }
    } else {
        record.failed = result->failed;
        set_place(&record, result);
        set_failures(&record, result);
    }
    return add(journal, &record, lease->worker, err);
}

int journal_retried(struct journal *journal, const struct ledger_lease *lease,
                    const struct journal_failure *failure, struct error *err) {
    struct commit_record record = record_of(journal, COMMIT_RETRY, lease, 0);
    set_cause(&record, failure);
    return add(journal, &record, -1, err);
}

int journal_published(struct journal *journal, int64_t first, int64_t cells, struct error *err) {
    struct commit_record record = {.type = COMMIT_PUBLISHED, .first = first, .cells = cells};
    ledger_published(journal->ledger, first, cells);
    return add(journal, &record, -1, err);
}

int journal_end(struct journal *journal, bool succeeded, struct error *err) {
    if (journal->generation.is_ended && journal->generation.has_succeeded == succeeded) {
        return 0;
    }
    struct ledger_counts total = ledger_read_counts(journal->ledger);
    const char *text = succeeded ? "Succeeded" : "Failed";
    struct commit_record record = {.type = COMMIT_END,
                                   .cells = total.cells.total,
                                   .items = total.items.total,
                                   .failed = total.items.failed,
                                   .text = text,
                                   .text_size = strlen(text)};
    if (add(journal, &record, -1, err) < 0) {
        return -1;
    }
    journal->generation.is_ended = true;
    journal->generation.has_succeeded = succeeded;
    return 0;
}

int journal_turn(struct journal *journal, bool at_once, journal_stored *stored, void *context,
                 struct error *err) {
    int64_t through = 0;
    int turned = commit_poll(journal->log, at_once, clock_monotonic_ms(), &through, err);
    if (turned <= 0) {
        return turned;
    }
    while (journal->stored_count < through) {
        struct journal_entry entry = journal->pending[journal->pending_first++];
        journal->pending_count--;
        journal->stored_count++;
        if (entry.type <= COMMIT_FAILED) {
            ledger_committed(journal->ledger, entry.first, entry.cells);
        }
        journal->kept_count += entry.type <= COMMIT_FAILED || entry.type == COMMIT_PUBLISHED;
        stored(context, &entry);
    }
    return 0;
}

bool journal_is_stored(const struct journal *journal) {
    return journal->pending_count == 0;
}

bool journal_is_full(const struct journal *journal) {
    return commit_is_full(journal->log);
}

struct journal_first_failure journal_find_first_failure(const struct journal *journal) {
    size_t count = 0;
    struct journal_first_failure first = journal->earlier_failure;
    const struct ledger_failure *failure = ledger_failures(journal->ledger, &count);
    if (first.tries == 0 && count) {
        first.cell = failure->cell;
        first.tries = MAX(failure->tries, 1); /* a lease that was only lost may have had no try */
        snprintf(first.worker, sizeof first.worker, "%s",
                 ledger_find_worker(journal->ledger, failure->worker).name);
        snprintf(first.cause, sizeof first.cause, "%s", failure->cause);
    }
    return first;
}

/* ---- when all is committed ------------------------------------------------------------------ */

void journal_broken(struct journal *journal, int64_t first, int64_t cells) {
    if (journal->broken_count == journal->broken_room) {
        journal->broken_room = MAX(journal->broken_room * 2, (size_t)16);
        journal->broken =
            x_realloc_array(journal->broken, journal->broken_room, sizeof *journal->broken);
    }
    journal->broken[journal->broken_count++] = (struct journal_range){first, cells};
}

struct finding {
    const struct journal *journal;
    struct parts *parts;
};

static int find_part(void *context, const struct commit_head *head,
                     const struct commit_record *record, struct error *err) {
    struct finding *finding = context;
    struct parts *parts = finding->parts;
    bool is_failed = record->type == COMMIT_FAILED;
    bool is_partial = record->type == COMMIT_PARTIAL;
    if ((record->type != COMMIT_DONE && record->type != COMMIT_VOID && !is_partial && !is_failed) ||
        !journal_counts(finding->journal, head, record)) {
        return 0;
    }
    if (record->first >= parts->count || record->cells > parts->count - record->first) {
        return refuse_cells(record, parts->count, err);
    }
    struct part_place *at = &parts->places[record->first];
    if (record->type == COMMIT_VOID) {
        memset(at, 0, (size_t)record->cells * sizeof *at);
    } else if (is_failed) {
        at->is_failed = !at->is_there;
        at->cells = at->is_there ? at->cells : record->cells;
    } else if (!at->is_there || (at->is_partial && !is_partial)) {
        *at = (struct part_place){.epoch = head->epoch,
                                  .lease = record->lease,
                                  .cells = record->cells,
                                  .size_bytes = record->size_bytes,
                                  .crc = record->crc,
                                  .is_partial = is_partial,
                                  .is_there = record->place == COMMIT_OBJECT};
    }
    return 0;
}

int journal_parts(struct journal *journal, struct parts *ret_parts, struct error *err) {
    struct parts parts = {
        .store = journal->output, .run = journal->job->run, .count = ledger_cells(journal->ledger)};
    parts.places = x_calloc((size_t)parts.count, sizeof *parts.places);
    struct finding finding = {journal, &parts};
    if (commit_replay(journal->log, find_part, &finding, err) < 0) {
        free(parts.places);
        return -1;
    }
    *ret_parts = parts;
    return 0;
}

struct publishing {
    struct journal *journal;
    struct record_resolver *resolver;
    char *room; /* for small parts */
    int64_t cells;
    bool all; /* also what has been published */
};

/* False for END, which covers all cells, for RETRY, which has no result, and for failures under
 * another job. */
static bool has_cells(const struct publishing *publishing, const struct commit_head *head,
                      const struct commit_record *record) {
    return record->type < COMMIT_END && journal_counts(publishing->journal, head, record);
}

static int resolve_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct publishing *publishing = context;
    if (!has_cells(publishing, head, record)) {
        return 0;
    }
    if (record->first >= publishing->cells || record->cells > publishing->cells - record->first) {
        return refuse_cells(record, publishing->cells, err);
    }
    return record_resolver_add(publishing->resolver, record, err);
}

/* (A later record is published again, for example a DONE after a PARTIAL: the ledger knows.) */
static bool are_published(const struct publishing *publishing, const struct commit_record *record) {
    return !publishing->all &&
           ledger_is_published(publishing->journal->ledger, record->first, record->cells);
}

/* Of the second reading. */
static int publish_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct publishing *publishing = context;
    struct journal *journal = publishing->journal;
    if (!has_cells(publishing, head, record) ||
        record_resolver_next(publishing->resolver, record) == 0 || record->type == COMMIT_FAILED ||
        record->place == COMMIT_NOWHERE || are_published(publishing, record)) {
        return 0;
    }
    struct part part = {
        .store = journal->output, .size_bytes = record->size_bytes, .crc = record->crc};
    part_name(journal->job->run, head->epoch, record->lease, part.name);
    bool is_void = false;
    if (record->place == COMMIT_TEXT) {
        part.bytes = record->text;
        part.size_bytes = (int64_t)record->text_size;
    } else if (part_load(&part, publishing->room, ROOM_BYTES, &is_void, err) < 0) {
        if (is_void) {
            journal_broken(journal, record->first, record->cells);
            error_clear(err);
        }
        return is_void ? 0 : -1;
    }
    return pack_publish(&part, journal->output, err);
}

static int publish(struct journal *journal, bool all, struct error *err) {
    struct publishing publishing = {
        .journal = journal, .cells = ledger_cells(journal->ledger), .all = all};
    publishing.resolver = record_resolver_new(publishing.cells);
    publishing.room = x_malloc(ROOM_BYTES);
    int result = commit_replay(journal->log, resolve_record, &publishing, err) < 0
                     ? -1
                     : commit_replay(journal->log, publish_record, &publishing, err);
    record_resolver_free(publishing.resolver);
    free(publishing.room);
    if (result < 0) {
        return error_context(err, "spec.output.path");
    }
    return journal->broken_count == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.output.path: %zu committed results are missing or were changed",
                           journal->broken_count);
}

int journal_publish(struct journal *journal, struct error *err) {
    return ledger_unpublished(journal->ledger, 0) < 0 ? 0 : publish(journal, /* all= */ false, err);
}

int journal_publish_all(struct journal *journal, struct error *err) {
    return publish(journal, /* all= */ true, err);
}

struct checking {
    struct journal *journal;
    struct record_resolver *resolver;
};

static int note_record(void *context, const struct commit_head *head,
                       const struct commit_record *record, struct error *err) {
    struct checking *checking = context;
    return journal_counts(checking->journal, head, record)
               ? record_resolver_add(checking->resolver, record, err)
               : 0;
}

/* Of the second reading. */
static int check_record(void *context, const struct commit_head *head,
                        const struct commit_record *record, struct error *err) {
    struct checking *checking = context;
    struct journal *journal = checking->journal;
    bool is_broken = false;
    if (!journal_counts(journal, head, record) ||
        record_resolver_next(checking->resolver, record) == 0 ||
        failures_check(journal->output, journal->job->run, record, &is_broken, err) == 0) {
        return 0;
    }
    if (!is_broken) {
        return -1;
    }
    journal_broken(journal, record->first, record->cells);
    error_clear(err);
    return 0;
}

int journal_check_failures(struct journal *journal, struct error *err) {
    struct checking checking = {.journal = journal};
    if (ledger_read_counts(journal->ledger).items.failed == 0) {
        return 0;
    }
    checking.resolver = record_resolver_new(ledger_cells(journal->ledger));
    int result = commit_replay(journal->log, note_record, &checking, err) < 0
                     ? -1
                     : commit_replay(journal->log, check_record, &checking, err);
    record_resolver_free(checking.resolver);
    if (result == 0 && journal->broken_count > 0) {
        result = error_set(err, ERROR_INVALID, "%zu lists of failed items are missing or changed",
                           journal->broken_count);
    }
    return result < 0 ? error_context(err, "spec.output.path") : 0;
}

int journal_void_broken(struct journal *journal, const struct parts *parts, int64_t *ret_count,
                        struct error *err) {
    static const char cause[] = "the object of its result is missing or damaged";
    for (int64_t i = 0; parts && i < parts->count; i++) {
        if (parts->places[i].is_broken) {
            journal_broken(journal, i, MAX(parts->places[i].cells, 1));
        }
    }
    for (size_t i = 0; i < journal->broken_count; i++) {
        struct commit_record record = {.type = COMMIT_VOID,
                                       .first = journal->broken[i].first,
                                       .cells = journal->broken[i].cells,
                                       .text = cause,
                                       .text_size = strlen(cause)};
        ledger_void(journal->ledger, record.first, record.cells);
        if (add(journal, &record, -1, err) < 0) {
            return -1;
        }
    }
    *ret_count = (int64_t)journal->broken_count;
    journal->broken_count = 0;
    return 0;
}
