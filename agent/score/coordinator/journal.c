// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/journal.h"

#include "agent/data/parts/pack.h"
#include "agent/score/log/failures.h"
#include "agent/score/log/record_resolver.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_BYTES = 1 << 20 };

static const char succeeded_text[] = "Succeeded", failed_text[] = "Failed";

/* ---- opening -------------------------------------------------------------------------------- */

static enum ledger_verdict verdict_of(enum commit_verdict verdict) {
    return verdict == COMMIT_DONE      ? LEDGER_DONE
           : verdict == COMMIT_PARTIAL ? LEDGER_PARTIAL
                                       : LEDGER_FAILED;
}

bool books_counts(const struct books *books, const struct commit_head *head,
                  const struct commit_record *record) {
    bool is_given_up = record->verdict == COMMIT_PARTIAL || record->verdict == COMMIT_FAILED;
    return !is_given_up || strcmp(head->uid, books->job->uid) == 0;
}

/* One of the tries that this job has: lost workers and storages are nobody's fault. */
static bool is_own_try(const struct books *books, const struct commit_head *head,
                       const struct commit_record *record) {
    return record->fault != COMMIT_LOST && strcmp(head->uid, books->job->uid) == 0;
}

static void remember_first(struct books *books, const struct commit_record *record) {
    struct books_first *first = &books->first_before;
    const json_t *of_item = json_array_get(json_array_get(record->failures, 0), 1);
    const char *cause =
        record->verdict == COMMIT_FAILED ? record->text : json_string_value(of_item);
    if (first->tries == 0) {
        first->cell = record->first;
        first->tries = MAX(record->try, 1);
        snprintf(first->worker, sizeof first->worker, "%s", record->worker ? record->worker : "");
        snprintf(first->cause, sizeof first->cause, "%s", cause ? cause : "");
    }
}

static int restore(void *context, const struct commit_head *head,
                   const struct commit_record *record, struct error *err) {
    struct books *books = context;
    struct ledger_record entry = {.verdict = verdict_of(record->verdict),
                                  .first = record->first,
                                  .cells = record->cells,
                                  .items = record->items,
                                  .failed = record->failed};
    switch (record->verdict) {
    case COMMIT_VOID:
        ledger_void(books->ledger, record->first, record->cells);
        break;
    case COMMIT_PUBLISHED:
        ledger_published(books->ledger, record->first, record->cells);
        return 0;
    case COMMIT_END:
        books->is_ended = true;
        books->has_succeeded = record->text && record->text_size == strlen(succeeded_text) &&
                               memcmp(record->text, succeeded_text, record->text_size) == 0;
        return 0;
    case COMMIT_RETRY:
        ledger_retried(books->ledger, &entry, is_own_try(books, head, record));
        return 0;
    default:
        if (!books_counts(books, head, record)) {
            break;
        }
        if (ledger_restore(books->ledger, &entry, err) < 0) {
            return -1;
        }
        if (record->verdict != COMMIT_DONE) {
            remember_first(books, record);
        }
        break;
    }
    books->is_ended = false;
    return 0;
}

int books_open(const struct books_options *options, struct books *books, struct error *err) {
    const struct job *job = options->job;
    *books = (struct books){.job = job, .output = options->output};
    struct commit_identity identity = {.run = job->run, .uid = job->uid, .job = job->name};
    books->ledger = ledger_new(&options->ledger);
    bool is_known = options->cells >= 0;
    if ((is_known && ledger_extend(books->ledger, options->cells, options->items,
                                   /* is_last= */ true, err) < 0) ||
        commit_open(options->output, &identity, restore, books, &books->log, err) < 0) {
        books_release(books);
        return -1;
    }
    books->epoch = commit_epoch(books->log);
    books->epoch_ns = clock_monotonic_ns();
    return 0;
}

void books_release(struct books *books) {
    commit_free(TAKE(books->log));
    ledger_free(TAKE(books->ledger));
    free(TAKE(books->entries));
    free(TAKE(books->voids));
}

/* ---- adding --------------------------------------------------------------------------------- */

static void remember(struct books *books, struct books_entry entry) {
    if (books->first > books->count) { /* most of the room lies in front */
        memmove(books->entries, books->entries + books->first,
                books->count * sizeof *books->entries);
        books->first = 0;
    }
    if (books->first + books->count == books->room) {
        books->room = MAX(books->room * 2, (size_t)64);
        books->entries = x_realloc_array(books->entries, books->room, sizeof *books->entries);
    }
    books->entries[books->first + books->count++] = entry;
}

static int add(struct books *books, const struct commit_record *record, int worker,
               struct error *err) {
    if (commit_add(books->log, record, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    books->is_ended = books->is_ended && record->verdict >= COMMIT_PUBLISHED;
    remember(books, (struct books_entry){.verdict = record->verdict,
                                         .first = record->first,
                                         .cells = record->cells,
                                         .worker = worker,
                                         .lease = record->lease});
    return 0;
}

static void place(struct commit_record *record, const struct message_result *result) {
    static const enum commit_place places[] = {COMMIT_OBJECT, COMMIT_TEXT, COMMIT_NOWHERE};
    record->place = places[result->place];
    if (result->place == MESSAGE_OBJECT) {
        record->size_bytes = result->size_bytes;
        record->crc = result->crc;
    } else if (result->place == MESSAGE_TEXT) {
        record->text = result->text;
        record->text_size = result->text_size;
    }
}

static void tell_failures(struct commit_record *record, const struct message_result *result) {
    record->failures = result->failures;
    record->failures_bytes = result->failures_bytes;
    record->failures_crc = result->failures_crc;
}

/* Of a lease that has ended now, after so long. */
static struct commit_record record_of(const struct books *books, enum commit_verdict verdict,
                                      const struct ledger_lease *lease, int64_t took_us) {
    /* Start and end are cut to milliseconds, not what lies between: short ones add up, too. */
    int64_t end_us = (clock_monotonic_ns() - books->epoch_ns) / 1000;
    int64_t start_ms = MAX(end_us - took_us, 0) / 1000;
    return (struct commit_record){
        .verdict = verdict,
        .first = lease->first,
        .cells = lease->cells,
        .items = lease->items,
        .lease = lease->lease,
        .try = lease->try,
        .worker = ledger_worker(books->ledger, lease->worker).name,
        .start_ms = start_ms,
        .took_ms = end_us / 1000 - start_ms,
    };
}

static void blame(struct commit_record *record, const struct books_failure *failure) {
    record->fault = failure->fault;
    record->text = failure->cause;
    record->text_size = strlen(failure->cause);
}

int books_accept(struct books *books, enum ledger_verdict verdict, const struct ledger_lease *lease,
                 const struct message_result *result, const struct books_failure *failure,
                 struct error *err) {
    enum commit_verdict told = verdict == LEDGER_PARTIAL  ? COMMIT_PARTIAL
                               : verdict == LEDGER_FAILED ? COMMIT_FAILED
                                                          : COMMIT_DONE;
    int64_t took_us = result && !result->is_fault ? result->took_us : 0;
    struct commit_record record = record_of(books, told, lease, took_us);
    if (told == COMMIT_FAILED) {
        record.failed = lease->items;
        blame(&record, failure);
        if (result && !result->is_fault && result->failed == lease->items) { /* each by itself */
            tell_failures(&record, result);
        }
    } else {
        record.failed = result->failed;
        place(&record, result);
        tell_failures(&record, result);
    }
    return add(books, &record, lease->worker, err);
}

int books_retried(struct books *books, const struct ledger_lease *lease,
                  const struct books_failure *failure, struct error *err) {
    struct commit_record record = record_of(books, COMMIT_RETRY, lease, 0);
    blame(&record, failure);
    return add(books, &record, -1, err);
}

int books_published(struct books *books, int64_t first, int64_t cells, struct error *err) {
    struct commit_record record = {.verdict = COMMIT_PUBLISHED, .first = first, .cells = cells};
    ledger_published(books->ledger, first, cells);
    return add(books, &record, -1, err);
}

int books_end(struct books *books, bool succeeded, struct error *err) {
    if (books->is_ended && books->has_succeeded == succeeded) {
        return 0;
    }
    struct ledger_counts total = ledger_counts(books->ledger);
    const char *text = succeeded ? succeeded_text : failed_text;
    struct commit_record record = {.verdict = COMMIT_END,
                                   .cells = total.batches.total,
                                   .items = total.items.total,
                                   .failed = total.items.failed,
                                   .text = text,
                                   .text_size = strlen(text)};
    if (add(books, &record, -1, err) < 0) {
        return -1;
    }
    books->is_ended = true;
    books->has_succeeded = succeeded;
    return 0;
}

int books_turn(struct books *books, bool at_once, books_stored *stored, void *context,
               struct error *err) {
    int64_t through = 0;
    int turned = commit_turn(books->log, at_once, clock_monotonic_ms(), &through, err);
    if (turned <= 0) {
        return turned;
    }
    while (books->stored < through) {
        struct books_entry entry = books->entries[books->first++];
        books->count--;
        books->stored++;
        if (entry.verdict <= COMMIT_FAILED) {
            ledger_committed(books->ledger, entry.first, entry.cells);
        }
        stored(context, &entry);
    }
    return 0;
}

bool books_are_stored(const struct books *books) {
    return books->count == 0;
}

bool books_are_full(const struct books *books) {
    return commit_is_full(books->log);
}

struct books_first books_first_failure(const struct books *books) {
    size_t count = 0;
    struct books_first first = books->first_before;
    const struct ledger_failure *failure = ledger_failures(books->ledger, &count);
    if (first.tries == 0 && count) {
        first.cell = failure->cell;
        first.tries = MAX(failure->tries, 1); /* lost ten times it may have had none */
        snprintf(first.worker, sizeof first.worker, "%s",
                 ledger_worker(books->ledger, failure->worker).name);
        snprintf(first.cause, sizeof first.cause, "%s", failure->cause);
    }
    return first;
}

/* ---- when all is committed ------------------------------------------------------------------ */

void books_broken(struct books *books, int64_t first, int64_t cells) {
    if (books->void_count == books->void_room) {
        books->void_room = MAX(books->void_room * 2, (size_t)16);
        books->voids = x_realloc_array(books->voids, books->void_room, sizeof *books->voids);
    }
    books->voids[books->void_count++] = (struct books_void){first, cells};
}

struct finding {
    const struct books *books;
    struct parts *parts;
};

static int find_part(void *context, const struct commit_head *head,
                     const struct commit_record *record, struct error *err) {
    struct finding *finding = context;
    struct parts *parts = finding->parts;
    if (record->verdict != COMMIT_DONE && record->verdict != COMMIT_VOID) {
        return 0;
    }
    if (record->first >= parts->count || record->cells > parts->count - record->first) {
        return error_set(err, ERROR_INVALID, "a commit of cells that the input does not have");
    }
    struct part_place *at = &parts->places[record->first];
    if (record->verdict == COMMIT_VOID) {
        memset(at, 0, (size_t)record->cells * sizeof *at);
    } else if (!at->is_there) {
        *at = (struct part_place){.epoch = head->epoch,
                                  .lease = record->lease,
                                  .cells = record->cells,
                                  .size_bytes = record->size_bytes,
                                  .crc = record->crc,
                                  .is_there = record->place == COMMIT_OBJECT};
    }
    return 0;
}

int books_parts(struct books *books, struct parts *ret_parts, struct error *err) {
    struct parts parts = {
        .store = books->output, .run = books->job->run, .count = ledger_cells(books->ledger)};
    parts.places = x_calloc((size_t)parts.count, sizeof *parts.places);
    struct finding finding = {books, &parts};
    if (commit_replay(books->log, find_part, &finding, err) < 0) {
        free(parts.places);
        return -1;
    }
    *ret_parts = parts;
    return 0;
}

struct publishing {
    struct books *books;
    struct standing *standing;
    bool *published; /* by cell */
    char *room;      /* for a part that is small */
    int64_t cells;
};

/* END has all cells, RETRY leaves nothing, and what another job gave up counts for nobody. */
static bool is_heard(const struct publishing *publishing, const struct commit_head *head,
                     const struct commit_record *record) {
    return record->verdict < COMMIT_END && books_counts(publishing->books, head, record);
}

static int see_first(void *context, const struct commit_head *head,
                     const struct commit_record *record, struct error *err) {
    struct publishing *publishing = context;
    if (!is_heard(publishing, head, record)) {
        return 0;
    }
    if (record->first >= publishing->cells || record->cells > publishing->cells - record->first) {
        return error_set(err, ERROR_INVALID, "a commit of cells that the input does not have");
    }
    /* What comes behind is to be published again: a DONE of what was given up, say. */
    memset(publishing->published + record->first, record->verdict == COMMIT_PUBLISHED,
           (size_t)record->cells);
    return standing_add(publishing->standing, record, err);
}

static bool are_published(const struct publishing *publishing, const struct commit_record *record) {
    return !memchr(publishing->published + record->first, false, (size_t)record->cells);
}

/* Of the second reading. */
static int publish_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct publishing *publishing = context;
    struct books *books = publishing->books;
    if (!is_heard(publishing, head, record) || standing_next(publishing->standing, record) == 0 ||
        record->verdict == COMMIT_FAILED || record->place == COMMIT_NOWHERE ||
        are_published(publishing, record)) {
        return 0;
    }
    struct part part = {
        .store = books->output, .size_bytes = record->size_bytes, .crc = record->crc};
    part_name(books->job->run, head->epoch, record->lease, part.name);
    bool is_void = false;
    if (record->place == COMMIT_TEXT) {
        part.bytes = record->text;
        part.size_bytes = (int64_t)record->text_size;
    } else if (part_load(&part, publishing->room, ROOM_BYTES, &is_void, err) < 0) {
        if (is_void) {
            books_broken(books, record->first, record->cells);
            error_clear(err);
        }
        return is_void ? 0 : -1;
    }
    return pack_publish(&part, books->output, err);
}

int books_publish(struct books *books, struct error *err) {
    struct publishing publishing = {.books = books, .cells = ledger_cells(books->ledger)};
    if (ledger_unpublished(books->ledger, 0) < 0) {
        return 0;
    }
    publishing.standing = standing_new(publishing.cells);
    publishing.room = x_malloc(ROOM_BYTES);
    publishing.published = x_calloc((size_t)publishing.cells, sizeof *publishing.published);
    int result = commit_replay(books->log, see_first, &publishing, err) < 0
                     ? -1
                     : commit_replay(books->log, publish_record, &publishing, err);
    standing_free(publishing.standing);
    free(publishing.published);
    free(publishing.room);
    if (result < 0) {
        return error_context(err, "spec.output.path");
    }
    return books->void_count == 0
               ? 0
               : error_set(err, ERROR_INVALID, "spec.output.path: %zu results are gone",
                           books->void_count);
}

struct checking {
    struct books *books;
    struct standing *standing;
};

static int note_standing(void *context, const struct commit_head *head,
                         const struct commit_record *record, struct error *err) {
    struct checking *checking = context;
    return books_counts(checking->books, head, record)
               ? standing_add(checking->standing, record, err)
               : 0;
}

/* Of the second reading. */
static int check_record(void *context, const struct commit_head *head,
                        const struct commit_record *record, struct error *err) {
    struct checking *checking = context;
    struct books *books = checking->books;
    bool is_broken = false;
    if (!books_counts(books, head, record) || standing_next(checking->standing, record) == 0 ||
        failures_check(books->output, books->job->run, record, &is_broken, err) == 0) {
        return 0;
    }
    if (!is_broken) {
        return -1;
    }
    books_broken(books, record->first, record->cells);
    error_clear(err);
    return 0;
}

int books_check_failures(struct books *books, struct error *err) {
    struct checking checking = {.books = books};
    if (ledger_counts(books->ledger).items.failed == 0) {
        return 0;
    }
    checking.standing = standing_new(ledger_cells(books->ledger));
    int result = commit_replay(books->log, note_standing, &checking, err) < 0
                     ? -1
                     : commit_replay(books->log, check_record, &checking, err);
    standing_free(checking.standing);
    if (result == 0 && books->void_count > 0) {
        result =
            error_set(err, ERROR_INVALID, "%zu lists of failed items are gone", books->void_count);
    }
    return result < 0 ? error_context(err, "spec.output.path") : 0;
}

int books_void_broken(struct books *books, const struct parts *parts, int64_t *ret_count,
                      struct error *err) {
    static const char cause[] = "its try object is gone, or has other bytes";
    for (int64_t i = 0; parts && i < parts->count; i++) {
        if (parts->places[i].is_broken) {
            books_broken(books, i, MAX(parts->places[i].cells, 1));
        }
    }
    for (size_t i = 0; i < books->void_count; i++) {
        struct commit_record record = {.verdict = COMMIT_VOID,
                                       .first = books->voids[i].first,
                                       .cells = books->voids[i].cells,
                                       .text = cause,
                                       .text_size = strlen(cause)};
        ledger_void(books->ledger, record.first, record.cells);
        if (add(books, &record, -1, err) < 0) {
            return -1;
        }
    }
    *ret_count = (int64_t)books->void_count;
    books->void_count = 0;
    return 0;
}
