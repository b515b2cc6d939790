// SPDX-License-Identifier: Apache-2.0
/* The ledger's life cycle: cells of the input, commits that are restored. */
#include "agent/score/ledger/ledger_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct ledger *ledger_new(const struct ledger_options *options) {
    assert(options->cell_items >= 0 && options->max_tries >= 1 &&
           options->max_tries <= UINT16_MAX && options->ahead_max >= 0 &&
           options->ahead_max <= LEDGER_AHEAD_MAX);
    struct ledger *ledger = x_calloc(1, sizeof *ledger);
    ledger->options = *options;
    ledger->lease_cells = LEDGER_LEASE_CELLS;
    cells_init(&ledger->cells, options->is_partitioned);
    slots_init(&ledger->slots, options->ahead_max);
    return ledger;
}

void ledger_number_leases(struct ledger *ledger, int64_t epoch) {
    assert(epoch >= 0 && epoch <= LEDGER_EPOCH_MAX && ledger->next_lease == 0);
    ledger->next_lease = epoch << LEDGER_LEASE_BITS;
}

void ledger_free(struct ledger *ledger) {
    if (!ledger) {
        return;
    }
    for (size_t i = 0; i < ledger->worker_count; i++) {
        free(ledger->workers[i].name);
    }
    free(ledger->workers);
    cells_release(&ledger->cells);
    slots_release(&ledger->slots);
    free(ledger->taken);
    free(ledger->failures);
    free(ledger);
}

/* ---- the input, and what earlier coordinators did ------------------------------------------- */

static int refuse_cell(const struct ledger *ledger, int64_t cell, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "the commits name mini-batch %lld, but the input has only %lld",
                     (long long)cell, (long long)ledger->cells.known);
}

int ledger_extend(struct ledger *ledger, int64_t cells, int64_t items, bool is_last,
                  struct error *err) {
    assert(!ledger->is_all && cells >= 0 && (items >= 0 || ledger->options.cell_items == 0));
    if (cells > LEDGER_CELLS_MAX - ledger->cells.known) {
        return error_set(err, ERROR_INVALID,
                         "spec.miniBatchSize: the input makes more than %d mini-batches, make it "
                         "larger",
                         LEDGER_CELLS_MAX);
    }
    cells_extend(&ledger->cells, cells);
    ledger->items += MAX(items, 0);
    ledger->is_all = is_last;
    return is_last && (int64_t)ledger->cells.count > ledger->cells.known
               ? refuse_cell(ledger, (int64_t)ledger->cells.count - 1, err)
               : 0;
}

static enum cell_end end_of(enum ledger_decision decision) {
    return decision == LEDGER_FAILED    ? CELL_FAILED
           : decision == LEDGER_PARTIAL ? CELL_PARTIAL
                                        : CELL_DONE;
}

int ledger_restore(struct ledger *ledger, const struct ledger_record *record, struct error *err) {
    if (record->first < 0 || record->cells < 1 || record->first >= LEDGER_CELLS_MAX ||
        record->cells > LEDGER_CELLS_MAX - record->first || record->items < 0 ||
        record->items > INT32_MAX || record->failed < 0 || record->failed > record->items) {
        return error_set(err, ERROR_INVALID,
                         "a commit names %lld mini-batches from %lld on with %lld failed of %lld "
                         "items, which no input has",
                         (long long)record->cells, (long long)record->first,
                         (long long)record->failed, (long long)record->items);
    }
    int64_t end = record->first + record->cells;
    if (ledger->is_all && end > ledger->cells.known) {
        return refuse_cell(ledger, end - 1, err);
    }
    cells_cover(&ledger->cells, end);
    for (int64_t i = record->first; i < end; i++) {
        const struct cell *cell = &ledger->cells.of[i];
        assert(cell->state != CELL_LEASED);
        if (cell->state >= CELL_ACCEPTED && (enum cell_end)cell->end >= end_of(record->decision)) {
            return 0;
        }
    }
    cells_end(&ledger->cells, record, CELL_COMMITTED);
    return 0;
}

/* Commits name cells, and a commit from a store may name any number. */
static bool is_range(int64_t first, int64_t cells) {
    return first >= 0 && cells > 0 && first < LEDGER_CELLS_MAX && cells <= LEDGER_CELLS_MAX;
}

void ledger_retried(struct ledger *ledger, const struct ledger_record *record, bool is_try) {
    static const int64_t believed = (int64_t)1 << 40; /* limit for a record's numbers, since a store
                                                         may hold any */
    ledger->cells_retried += MAX(MIN(record->cells, believed), 0);
    ledger->items_retried += MAX(MIN(record->items, believed), 0);
    bool is_behind = ledger->is_all && record->first >= ledger->cells.known;
    if (is_try && record->cells == 1 && is_range(record->first, 1) && !is_behind) {
        cells_cover(&ledger->cells, record->first + 1);
        struct cell *cell = &ledger->cells.of[record->first];
        cell->tries = (uint16_t)MIN(cell->tries + 1, ledger->options.max_tries - 1);
    }
}

void ledger_committed(struct ledger *ledger, int64_t first, int64_t cells) {
    if (is_range(first, cells)) {
        cells_advance(&ledger->cells, first, first + cells, CELL_ACCEPTED, CELL_COMMITTED);
    }
}

void ledger_published(struct ledger *ledger, int64_t first, int64_t cells) {
    if (is_range(first, cells)) {
        cells_advance(&ledger->cells, first, first + cells, CELL_COMMITTED, CELL_PUBLISHED);
    }
}

int64_t ledger_unpublished(const struct ledger *ledger, int64_t from) {
    for (int64_t i = from; i < (int64_t)ledger->cells.count; i++) {
        const struct cell *cell = &ledger->cells.of[i];
        if (cell->state == CELL_COMMITTED && cell->end != CELL_FAILED) {
            return i;
        }
    }
    return -1;
}

bool ledger_is_published(const struct ledger *ledger, int64_t first, int64_t cells) {
    int64_t count = (int64_t)ledger->cells.count, end = first + cells;
    for (int64_t i = first; i < MIN(end, count); i++) {
        if (ledger->cells.of[i].state != CELL_PUBLISHED) {
            return false;
        }
    }
    return end <= count;
}

void ledger_void(struct ledger *ledger, int64_t first, int64_t cells) {
    if (is_range(first, cells)) {
        cells_void(&ledger->cells, first, first + cells);
    }
}

/* ---- the state ------------------------------------------------------------------------------ */

bool ledger_is_accounted(const struct ledger *ledger) {
    const int64_t *in = ledger->cells.in;
    return ledger->is_all && in[CELL_UNKNOWN] + in[CELL_WAITING] + in[CELL_LEASED] == 0;
}

bool ledger_is_committed(const struct ledger *ledger) {
    return ledger_is_accounted(ledger) && ledger->cells.in[CELL_ACCEPTED] == 0;
}

enum threshold { WITHIN, OVER_ERRORS, OVER_BATCHES, OVER_PERCENT };

static enum threshold exceeded_threshold(const struct ledger *ledger) {
    const struct ledger_options *options = &ledger->options;
    const struct cells *cells = &ledger->cells;
    bool knows_all = ledger->is_all && cells->never_leased == 0;
    double share = (double)cells->cells.failed * 100;
    return options->errors_max >= 0 && cells->items.failed > options->errors_max ? OVER_ERRORS
           : options->cell_errors_max >= 0 && cells->cells.failed > options->cell_errors_max
               ? OVER_BATCHES
           : options->cell_errors_percent >= 0 && knows_all &&
                   share > options->cell_errors_percent * (double)cells->known
               ? OVER_PERCENT
               : WITHIN;
}

bool ledger_is_over(const struct ledger *ledger) {
    return exceeded_threshold(ledger) != WITHIN;
}

bool ledger_may_repeat(const struct ledger *ledger) {
    int64_t each = ledger->options.cells_for_second_run;
    int64_t most =
        each > 0 ? MAX(ledger->cells.known / each, (int64_t)LEDGER_SECOND_RUNS_MIN) : INT64_MAX;
    return !ledger->options.runs_once && ledger->seconds < most;
}

int64_t ledger_slow_ms(const struct ledger *ledger, int32_t cells) {
    int64_t median_us = sizes_median_us(&ledger->sizes, cells);
    int64_t least_ms = MAX(ledger->p99_ms, (int64_t)LEDGER_SLOW_MS);
    return median_us < 0 ? -1 : MAX(2 * median_us / 1000, least_ms);
}

void ledger_note_latency(struct ledger *ledger, int64_t p99_ms) {
    ledger->p99_ms = p99_ms;
}

bool ledger_find_exceeded(const struct ledger *ledger,
                          char ret_text[static LEDGER_THRESHOLD_BYTES]) {
    const struct ledger_options *options = &ledger->options;
    const struct cells *cells = &ledger->cells;
    enum { SIZE = LEDGER_THRESHOLD_BYTES };
    ret_text[0] = 0;
    switch (exceeded_threshold(ledger)) {
    case WITHIN:
        return false;
    case OVER_ERRORS:
        snprintf(ret_text, SIZE, "%lld %s failed, spec.errorThreshold is %lld",
                 (long long)cells->items.failed,
                 cells->items.failed == 1 ? "item has" : "items have",
                 (long long)options->errors_max);
        break;
    case OVER_BATCHES:
        snprintf(ret_text, SIZE, "%lld %s failed, spec.miniBatchErrorThreshold is %lld",
                 (long long)cells->cells.failed,
                 cells->cells.failed == 1 ? "mini-batch has" : "mini-batches have",
                 (long long)options->cell_errors_max);
        break;
    case OVER_PERCENT:
        snprintf(ret_text, SIZE,
                 "%lld of %lld mini-batches have failed, spec.miniBatchErrorThreshold is %g%%",
                 (long long)cells->cells.failed, (long long)cells->known,
                 options->cell_errors_percent);
        break;
    }
    return true;
}

int ledger_check_thresholds(const struct ledger *ledger, struct error *err) {
    char over[LEDGER_THRESHOLD_BYTES];
    if (!ledger_find_exceeded(ledger, over)) {
        return 0;
    }
    if (!ledger->failure_count) {
        return error_set(err, ERROR_FAILED, "%s", over);
    }
    const struct ledger_failure *first = ledger->failures;
    return error_set(err, ERROR_FAILED, "%s (mini-batch %lld on %s, %d tries; %s)", first->cause,
                     (long long)first->cell, ledger->workers[first->worker].name, first->tries,
                     over);
}

/* If only results have the number of items: an estimate from the cells that have ended; exact once
 * all have. */
static int64_t total_items(const struct ledger *ledger) {
    const struct cells *cells = &ledger->cells;
    int64_t items = cells->items.done + cells->items.failed;
    int64_t ended = cells->cells.done + cells->cells.failed;
    if (ledger->options.cell_items || ledger->items || ended == 0 ||
        ended == (int64_t)cells->count) {
        return MAX(ledger->items, items);
    }
    return (int64_t)((double)items / (double)ended * (double)cells->count);
}

int64_t ledger_cells(const struct ledger *ledger) {
    return (int64_t)ledger->cells.count;
}

struct ledger_counts ledger_read_counts(const struct ledger *ledger) {
    const struct cells *cells = &ledger->cells;
    struct ledger_counts counts = {.cells = cells->cells,
                                   .items = cells->items,
                                   .leased = cells->in[CELL_LEASED],
                                   .waiting = cells->in[CELL_WAITING],
                                   .committed =
                                       cells->in[CELL_COMMITTED] + cells->in[CELL_PUBLISHED],
                                   .workers = ledger->workers_present,
                                   .slots = ledger->slots_present};
    counts.cells.total = (int64_t)cells->count;
    counts.cells.retried = ledger->cells_retried;
    counts.items.total = total_items(ledger);
    counts.items.retried = ledger->items_retried;
    return counts;
}

int ledger_ahead(const struct ledger *ledger, int worker, int slot) {
    return slots_ahead(&ledger->slots, ledger->workers[worker].first_slot + slot);
}

struct ledger_worker ledger_find_worker(const struct ledger *ledger, int index) {
    struct ledger_worker worker = ledger->workers[index].public;
    worker.name = ledger->workers[index].name;
    return worker;
}

const struct ledger_failure *ledger_failures(const struct ledger *ledger, size_t *ret_count) {
    *ret_count = ledger->failure_count;
    return ledger->failures;
}
