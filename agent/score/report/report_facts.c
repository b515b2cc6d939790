// SPDX-License-Identifier: Apache-2.0
#include "agent/score/report/report_facts.h"

#include "lib/number/keyed_hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_SLOTS = 1 << 15, PER_STRIP = FACTS_BUCKETS / FACTS_STRIP };
/* A log may contain any number: larger times are limited to this, and sums saturate at SUM_MAX. */
#define TIME_MAX_MS ((int64_t)1 << 40) /* 35 years */
#define ITEMS_MAX ((int64_t)1 << 40)
#define SUM_MAX ((int64_t)1 << 60)

struct facts *facts_new(void) {
    struct facts *facts = x_calloc(1, sizeof *facts);
    facts->width_ms = FACTS_FIRST_MS;
    facts->epoch = -1;
    facts->failures = x_calloc(FACTS_FAILURES, sizeof *facts->failures);
    facts->causes = x_calloc(FACTS_CAUSES, sizeof *facts->causes);
    facts->worker_slots = x_calloc(HASH_SLOTS, sizeof *facts->worker_slots);
    return facts;
}

void facts_free(struct facts *facts) {
    if (!facts) {
        return;
    }
    for (int i = 0; i < facts->worker_count; i++) {
        free(facts->workers[i].name);
    }
    free(facts->workers);
    free(facts->worker_slots);
    free(facts->causes);
    free(facts->failures);
    free(facts);
}

void facts_freep(struct facts **facts) {
    facts_free(*facts);
}

static void sum(int64_t *total, int64_t more) {
    *total = MIN(*total + more, SUM_MAX);
}

/* ---- workers -------------------------------------------------------------------------------- */

/* -1: too many workers. */
static int worker_index(struct facts *facts, const char *name) {
    int *slot;
    for (size_t at = (size_t)keyed_hash(name, strlen(name));; at++) {
        slot = &facts->worker_slots[at % HASH_SLOTS];
        if (*slot == 0 || strcmp(facts->workers[*slot - 1].name, name) == 0) {
            break;
        }
    }
    if (*slot == 0) {
        int count = facts->worker_count;
        if (count == FACTS_WORKERS_MAX) {
            return -1;
        }
        if ((count & (count - 1)) == 0) { /* 0, 1, 2, 4, 8, ...: double the room */
            facts->workers =
                x_realloc_array(facts->workers, MAX((size_t)count * 2, 1), sizeof *facts->workers);
        }
        facts->workers[count] =
            (struct facts_worker){.name = x_strdup(name), .epoch = -1, .first_ms = INT64_MAX};
        *slot = ++facts->worker_count;
    }
    return *slot - 1;
}

/* The epoch has ended: the workers' times in it are complete. */
static void close_epoch(struct facts *facts) {
    for (int i = 0; i < facts->worker_count; i++) {
        struct facts_worker *worker = &facts->workers[i];
        if (worker->epoch == facts->epoch && worker->epoch >= 0) {
            worker->span_ms += worker->epoch_last_ms - worker->epoch_first_ms;
            worker->after_ms += facts->end_ms - worker->epoch_last_ms;
            worker->epoch = -1;
        }
    }
}

/* ---- time ----------------------------------------------------------------------------------- */

static void halve(double *values) {
    for (int i = 0; i < FACTS_BUCKETS; i++) {
        values[i] = i < FACTS_BUCKETS / 2 ? values[2 * i] + values[2 * i + 1] : 0;
    }
}

static void widen(struct facts *facts) {
    facts->width_ms *= 2;
    halve(facts->items_at);
    halve(facts->busy_at);
    halve(facts->done_at);
    halve(facts->failed_at);
    for (int w = 0; w < facts->worker_count; w++) {
        float *strip = facts->workers[w].strip;
        for (int i = 0; i < FACTS_STRIP; i++) {
            strip[i] = i < FACTS_STRIP / 2 ? strip[2 * i] + strip[2 * i + 1] : 0;
        }
    }
}

/* Spreads a record over the buckets of its time. */
static void spread(struct facts *facts, struct facts_worker *worker, int64_t from_ms, int64_t to_ms,
                   double items) {
    int64_t width = facts->width_ms, took = to_ms - from_ms;
    if (took == 0) {
        facts->items_at[from_ms / width] += items;
        return;
    }
    for (int64_t i = from_ms / width; i <= (to_ms - 1) / width; i++) {
        int64_t inside = MIN(to_ms, (i + 1) * width) - MAX(from_ms, i * width);
        facts->items_at[i] += items * (double)inside / (double)took;
        facts->busy_at[i] += (double)inside;
        if (worker) {
            worker->strip[i / PER_STRIP] += (float)inside;
        }
    }
}

/* ---- durations, causes ---------------------------------------------------------------------- */

int facts_duration(int64_t ms) {
    int bucket = ms < 1 ? 0 : 1 + (int)floor(log2((double)ms) * FACTS_OCTAVE);
    return MIN(bucket, FACTS_DURATIONS - 1);
}

int64_t facts_duration_ms(int bucket) {
    return bucket == 0 ? 0 : (int64_t)ceil(exp2((double)(bucket - 1) / FACTS_OCTAVE) - 1e-9);
}

int64_t facts_quantile_ms(const struct facts *facts, double share) {
    int64_t wanted = (int64_t)ceil(share * (double)facts->duration_count), seen = 0;
    for (int i = 0; i < FACTS_DURATIONS; i++) {
        seen += facts->durations[i];
        if (seen >= wanted && seen > 0) {
            /* The middle of the bucket, but at most the slowest duration. */
            int64_t middle = (facts_duration_ms(i) + facts_duration_ms(i + 1)) / 2;
            return share >= 1 ? facts->slowest_ms : MIN(middle, facts->slowest_ms);
        }
    }
    return 0;
}

static void note_slow(struct facts *facts, const struct commit_record *record, int worker) {
    int at = facts->slowest_count;
    while (at > 0 && facts->slowest[at - 1].took_ms < record->took_ms) {
        at--;
    }
    if (at == FACTS_SLOWEST) {
        return;
    }
    int last = MIN(facts->slowest_count, FACTS_SLOWEST - 1);
    memmove(facts->slowest + at + 1, facts->slowest + at,
            (size_t)(last - at) * sizeof *facts->slowest);
    facts->slowest[at] = (struct facts_slow){.first = record->first,
                                             .items = record->items,
                                             .took_ms = record->took_ms,
                                             .try = record->try,
                                             .worker = worker};
    facts->slowest_count = last + 1;
}

/* Texts that differ only in their numbers are one cause. */
static uint64_t cause_key(const char *text, size_t size) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        bool was_digit = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
        if (!is_digit || !was_digit) {
            hash = (hash ^ (unsigned char)(is_digit ? '#' : text[i])) * 1099511628211u;
        }
    }
    return hash;
}

static void note_cause(struct facts *facts, const struct commit_record *record, const char *text,
                       size_t size, int64_t items, bool is_first) {
    uint64_t key = cause_key(text, size);
    int at = 0;
    while (at < facts->cause_count && facts->causes[at].key != key) {
        at++;
    }
    if (at == FACTS_CAUSES) {
        sum(&facts->other_cause_items, items);
        return;
    }
    struct facts_cause *cause = &facts->causes[at];
    if (at == facts->cause_count) {
        facts->cause_count++;
        *cause = (struct facts_cause){.key = key, .example = record->first};
        snprintf(cause->cause, sizeof cause->cause, "%.*s", (int)MIN(size, (size_t)INT32_MAX),
                 text);
    }
    sum(&cause->items, items);
    cause->batches += is_first;
}

static const char *first_cause(const struct commit_record *record, size_t *ret_size) {
    if (record->type == COMMIT_FAILED) {
        *ret_size = record->text_size;
        return record->text ? record->text : "";
    }
    const json_t *text = json_array_get(json_array_get(record->failures, 0), 1);
    *ret_size = json_string_length(text);
    return json_is_string(text) ? json_string_value(text) : "";
}

/* A cause counts a mini-batch once if the items with it are consecutive, as is usual. */
void facts_add_failed(struct facts *facts, const struct commit_record *record, const char *cause,
                      size_t size) {
    uint64_t key = cause_key(cause, size);
    bool is_first = !facts->has_last_key || key != facts->last_key;
    note_cause(facts, record, cause, size, 1, is_first);
    facts->last_key = key;
    facts->has_last_key = true;
}

static void note_failure(struct facts *facts, const struct commit_record *record, int worker) {
    size_t size = 0;
    const char *cause = first_cause(record, &size);
    if (facts->failure_count < FACTS_FAILURES) {
        struct facts_failure *failure = &facts->failures[facts->failure_count++];
        *failure = (struct facts_failure){.first = record->first,
                                          .items = record->items,
                                          .failed = record->failed,
                                          .try = record->try,
                                          .worker = worker,
                                          .is_partial = record->type == COMMIT_PARTIAL};
        snprintf(failure->cause, sizeof failure->cause, "%.*s", (int)MIN(size, (size_t)INT32_MAX),
                 cause);
    }
    facts->has_last_key = false;
    if (record->type == COMMIT_FAILED && !record->failures) {
        note_cause(facts, record, cause, size, record->failed,
                   /* is_first= */ true);
        return;
    }
    size_t i;
    json_t *pair;
    json_array_foreach(record->failures_bytes ? NULL : record->failures, i, pair) {
        const json_t *text = json_array_get(pair, 1);
        const char *bytes = json_is_string(text) ? json_string_value(text) : "";
        facts_add_failed(facts, record, bytes, json_string_length(text));
    }
}

/* ---- records -------------------------------------------------------------------------------- */

static void begin_epoch(struct facts *facts, int64_t epoch) {
    close_epoch(facts);
    facts->epoch = epoch;
    facts->epoch_offset_ms = facts->end_ms;
    if (facts->epoch_count < FACTS_EPOCHS) {
        facts->epoch_at_ms[facts->epoch_count] = facts->end_ms;
    }
    facts->epoch_count++;
}

static void note_time(struct facts *facts, const struct commit_record *record, int worker,
                      double items, double failed) {
    int64_t from_ms = MIN(facts->epoch_offset_ms + record->start_ms, TIME_MAX_MS);
    int64_t to_ms = MIN(from_ms + record->took_ms, TIME_MAX_MS);
    while (to_ms / facts->width_ms >= FACTS_BUCKETS) {
        widen(facts);
    }
    struct facts_worker *who = worker < 0 ? NULL : &facts->workers[worker];
    spread(facts, who, from_ms, to_ms, items - failed);
    facts->done_at[to_ms / facts->width_ms] += items - failed;
    facts->failed_at[to_ms / facts->width_ms] += failed;
    sum(&facts->busy_ms, to_ms - from_ms);
    facts->end_ms = MAX(facts->end_ms, to_ms);
    if (who) {
        if (who->epoch != facts->epoch) {
            who->epoch = facts->epoch;
            who->epoch_first_ms = from_ms;
            who->epoch_last_ms = to_ms;
        }
        who->epoch_first_ms = MIN(who->epoch_first_ms, from_ms);
        who->epoch_last_ms = MAX(who->epoch_last_ms, to_ms);
        who->first_ms = MIN(who->first_ms, from_ms);
        who->last_ms = MAX(who->last_ms, to_ms);
        sum(&who->busy_ms, to_ms - from_ms);
        who->slowest_ms = MAX(who->slowest_ms, to_ms - from_ms);
    }
}

/* The items of the cells for which a record counts: all, or the same share as the cells. */
static int64_t own_share(int64_t items, int64_t own_cells, int64_t cells) {
    return own_cells == cells ? items
                              : (int64_t)((double)items * (double)own_cells / (double)cells);
}

static void note_result(struct facts *facts, const struct commit_record *record, int worker,
                        int64_t items, int64_t failed) {
    bool is_failed = record->type == COMMIT_FAILED, is_partial = record->failed > 0 && !is_failed;
    facts->batches++;
    facts->failed_batches += is_failed;
    facts->partial_batches += is_partial;
    sum(&facts->items, items);
    sum(&facts->failed_items, failed);
    facts->tries[MAX(0, MIN(record->try, FACTS_TRIES) - 1)]++;
    facts->durations[facts_duration(record->took_ms)]++;
    facts->duration_count++;
    facts->slowest_ms = MAX(facts->slowest_ms, record->took_ms);
    note_slow(facts, record, worker);
    if (is_failed || is_partial) {
        note_failure(facts, record, worker);
    }
    if (worker >= 0) {
        struct facts_worker *who = &facts->workers[worker];
        who->batches++;
        sum(&who->items, items);
        sum(&who->failed_items, failed);
        who->failed_batches += is_failed || is_partial;
    }
}

/* Counts a failed try, the last one or not. */
static void note_fault(struct facts *facts, const struct commit_record *record) {
    int index = worker_index(facts, record->worker ? record->worker : "");
    if (index >= 0 && record->type != COMMIT_DONE) {
        struct facts_worker *worker = &facts->workers[index];
        worker->errors += record->fault == COMMIT_ERROR;
        worker->timeouts += record->fault == COMMIT_TIMEOUT;
        worker->losses += record->fault == COMMIT_LOST;
    }
}

static void add_scored(struct facts *facts, const struct commit_record *record, int64_t own_cells) {
    if (record->epoch != facts->epoch) {
        begin_epoch(facts, record->epoch);
    }
    int worker = worker_index(facts, record->worker ? record->worker : "");
    facts->uncounted += worker < 0;
    int64_t items = own_cells ? own_share(record->items, own_cells, record->cells) : 0;
    int64_t failed = own_cells ? own_share(record->failed, own_cells, record->cells) : 0;
    note_time(facts, record, worker, (double)items, (double)failed);
    if (worker >= 0 && record->type != COMMIT_FAILED) {
        sum(&facts->workers[worker].scored_cells, own_cells);
    }
    if (own_cells) {
        note_result(facts, record, worker, items, failed);
    }
}

void facts_add(struct facts *facts, const struct commit_record *record, int64_t own_cells) {
    facts->records++;
    facts->voids += record->type == COMMIT_VOID;
    if (record->type == COMMIT_END) {
        facts->has_end = true;
        snprintf(facts->verdict, sizeof facts->verdict, "%s", record->text ? record->text : "");
    }
    if (commit_is_try(record->type)) {
        note_fault(facts, record);
    }
    if (record->type <= COMMIT_FAILED) {
        struct commit_record bounded = *record;
        bounded.items = MIN(record->items, ITEMS_MAX);
        bounded.failed = MIN(record->failed, ITEMS_MAX);
        bounded.start_ms = MIN(record->start_ms, TIME_MAX_MS);
        bounded.took_ms = MIN(record->took_ms, TIME_MAX_MS);
        add_scored(facts, &bounded, own_cells);
    }
}

/* ---- finishing ------------------------------------------------------------------------------ */

static int by_items(const void *a, const void *b) {
    const struct facts_cause *one = a, *other = b;
    if (one->items != other->items) {
        return one->items > other->items ? -1 : 1;
    }
    return one->example < other->example ? -1 : one->example > other->example;
}

void facts_finish(struct facts *facts) {
    close_epoch(facts);
    for (int i = 0; i < facts->worker_count; i++) { /* a worker without any record has no start */
        struct facts_worker *worker = &facts->workers[i];
        worker->first_ms = MIN(worker->first_ms, worker->last_ms);
    }
    qsort(facts->causes, (size_t)facts->cause_count, sizeof *facts->causes, by_items);
}

int64_t facts_after_ms(const struct facts_worker *worker, int slots) {
    return worker->after_ms * slots;
}

int64_t facts_idle_ms(const struct facts_worker *worker, int slots) {
    return MAX(0, worker->span_ms * slots - worker->busy_ms);
}

double facts_busy_share(const struct facts_worker *worker, int slots) {
    int64_t there = worker->busy_ms + facts_idle_ms(worker, slots);
    return there > 0 ? (double)worker->busy_ms / (double)there : worker->batches > 0;
}
