// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger/ledger.h"

#include "agent/score/ledger/ledger_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how leases end --- --------------------------------------------------------------------- */

struct ledger_lease ledger_view(const struct ledger *ledger, int32_t index) {
    const struct queued_lease *lease = &ledger->slots.leases[index];
    return (struct ledger_lease){
        .worker = lease->worker,
        .slot = ledger->slots.of[lease->slot].number,
        .lease = lease->number,
        .first = lease->first,
        .cells = lease->cells,
        .try = lease->try,
        .items = ledger_expected_items(ledger, lease->first, lease->cells),
        .is_second = lease->is_second,
    };
}

int64_t ledger_expected_items(const struct ledger *ledger, int64_t first, int64_t cells) {
    int64_t of_cell = ledger->options.cell_items;
    return of_cell ? MIN((first + cells) * of_cell, ledger->items) - first * of_cell : 0;
}

/* True: its twin continues. False: the caller handles the cells. */
static bool drop_lease(struct ledger *ledger, int32_t index, bool is_late, int64_t now_ms) {
    struct queued_lease lease = ledger->slots.leases[index];
    slots_drop(&ledger->slots, index, is_late, now_ms);
    if (lease.twin >= 0) {
        for (int64_t i = lease.first; i < lease.first + lease.cells; i++) {
            ledger->cells.of[i].lease_or_items = lease.twin;
        }
    }
    return lease.twin >= 0;
}

static void record_revoked(struct ledger *ledger, const struct ledger_lease *lease,
                           enum ledger_decision decision, const char *cause) {
    ledger->taken =
        cells_grow(ledger->taken, ledger->taken_count, &ledger->taken_room, sizeof *ledger->taken);
    struct ledger_revoked *taken = &ledger->taken[ledger->taken_count++];
    bool is_lost = decision != LEDGER_IGNORED;
    *taken = (struct ledger_revoked){.lease = *lease,
                                     .decision = decision,
                                     .is_lost = is_lost,
                                     .fault = is_lost ? LEDGER_MACHINE : LEDGER_NO_FAULT};
    snprintf(taken->cause, sizeof taken->cause, "%s", cause);
}

/* Drops a lease that its worker need not continue. The caller handles its cells. */
static void drop_unwanted(struct ledger *ledger, int32_t index, int64_t now_ms) {
    struct ledger_lease lease = ledger_view(ledger, index);
    struct ledger_slot *slot = &ledger->slots.of[ledger->slots.leases[index].slot];
    if (slot->head == index && slot->stuck_lease < 0) { /* the next head has not begun */
        slots_set_stuck(&ledger->slots, slot, lease.lease);
    }
    slots_drop(&ledger->slots, index, /* is_late= */ false, now_ms);
    record_revoked(ledger, &lease, LEDGER_IGNORED, "");
}

/* Revokes leases of these cells: another worker was faster. */
static void supersede(struct ledger *ledger, int64_t first, int64_t end, int64_t now_ms) {
    struct cells *cells = &ledger->cells;
    for (int64_t i = first; i < end;) {
        if (cells->of[i].state != CELL_LEASED) {
            i++;
            continue;
        }
        int32_t index = cells->of[i].lease_or_items;
        struct queued_lease lease = ledger->slots.leases[index];
        int64_t lease_end = lease.first + lease.cells;
        drop_unwanted(ledger, index, now_ms);
        if (lease.twin >= 0) {
            drop_unwanted(ledger, lease.twin, now_ms);
        }
        cells_put_back(cells, lease.first, MAX(first, lease.first));
        cells_put_back(cells, end, MAX(end, lease_end));
        i = lease_end;
    }
}

static void accept(struct ledger *ledger, const struct ledger_lease *lease,
                   enum ledger_decision decision, int64_t failed) {
    struct ledger_record record = {decision, lease->first, lease->cells, lease->items, failed};
    cells_end(&ledger->cells, &record, CELL_ACCEPTED);
}

static void remember_failure(struct ledger *ledger, const struct ledger_lease *lease,
                             int64_t failed, const char *cause) {
    if (ledger->failure_count == LEDGER_FAILURES_MAX) {
        return;
    }
    if (!ledger->failures) {
        ledger->failures = x_calloc(LEDGER_FAILURES_MAX, sizeof *ledger->failures);
    }
    struct ledger_failure *failure = &ledger->failures[ledger->failure_count++];
    *failure = (struct ledger_failure){.cell = lease->first,
                                       .items = lease->items,
                                       .failed = failed,
                                       .tries = ledger->cells.of[lease->first].tries,
                                       .worker = lease->worker};
    snprintf(failure->cause, sizeof failure->cause, "%s", cause);
}

/* How a lease failed, as reported by its worker or found by us. */
struct bad_end {
    enum ledger_fault fault;
    int64_t items, failed; /* of a result with failed items; otherwise items is the lease's number,
                              or 0 */
    const char *cause;
    bool has_result, is_final;
};

static void count_end(struct ledger *ledger, const struct ledger_lease *lease,
                      enum ledger_fault fault) {
    struct cell *cell = &ledger->cells.of[lease->first];
    if (lease->cells > 1) {
        if (fault == LEDGER_SCORER) {
            sizes_failed(&ledger->sizes, lease->cells);
        }
    } else if (fault == LEDGER_SCORER) {
        cell->tries = (uint16_t)MIN(cell->tries + 1, UINT16_MAX);
    } else if (fault == LEDGER_MACHINE) {
        cell->losses = (uint8_t)MIN(cell->losses + 1, UINT8_MAX);
    }
}

/* The lease is already dropped. Sets lease->items to the counted number. */
static enum ledger_decision end_badly(struct ledger *ledger, struct ledger_lease *lease,
                                      bool twin_goes_on, const struct bad_end *bad) {
    const struct cell *cell = &ledger->cells.of[lease->first];
    int64_t end = lease->first + lease->cells;
    if (!lease->items) {
        lease->items = bad->items > 0 ? MIN(bad->items, INT32_MAX) : lease->cells;
    }
    count_end(ledger, lease, bad->fault);
    bool is_used_up =
        lease->cells == 1 && (bad->is_final || cell->tries >= ledger->options.max_tries ||
                              cell->losses >= LEDGER_LOSSES_MAX);
    if (twin_goes_on) {
        struct queued_lease *twin = &ledger->slots.leases[cell->lease_or_items];
        twin->losses += lease->cells > 1 && bad->fault == LEDGER_MACHINE;
        twin->is_last_chance = is_used_up || (lease->cells > 1 && bad->fault == LEDGER_SCORER) ||
                               twin->losses >= LEDGER_LOSSES_MAX;
    }
    bool is_last = is_used_up && !twin_goes_on;
    if (is_last) {
        bool is_partial = bad->has_result && bad->failed < bad->items;
        int64_t failed = is_partial ? bad->failed : lease->items;
        accept(ledger, lease, is_partial ? LEDGER_PARTIAL : LEDGER_FAILED, failed);
        remember_failure(ledger, lease, failed, bad->cause);
        return is_partial ? LEDGER_PARTIAL : LEDGER_FAILED;
    }
    if (bad->fault != LEDGER_HANDED_BACK) {
        ledger->cells_retried += lease->cells;
        ledger->items_retried += lease->items;
    }
    if (!twin_goes_on) {
        int64_t middle =
            bad->fault == LEDGER_HANDED_BACK ? end : lease->first + (lease->cells + 1) / 2;
        cells_put_back(&ledger->cells, lease->first, middle);
        cells_put_back(&ledger->cells, middle, end);
    }
    return LEDGER_RETRY;
}

/* ---- workers -------------------------------------------------------------------------------- */

static int find_worker(const struct ledger *ledger, const char *name) {
    for (size_t i = 0; i < ledger->worker_count; i++) {
        if (strcmp(ledger->workers[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int ledger_join(struct ledger *ledger, const char *name, int slots, int *ret_worker,
                struct error *err) {
    if (slots < 1 || slots > LEDGER_SLOTS_MAX) {
        return error_set(err, ERROR_INVALID, "worker %s has %d slots, expected 1 to %d", name,
                         slots, LEDGER_SLOTS_MAX);
    }
    int index = find_worker(ledger, name);
    if (index >= 0 && ledger->workers[index].public.present) {
        return error_set(err, ERROR_CONFLICT, "a worker named %s is already connected", name);
    }
    bool is_new = index < 0, wants_slots = is_new || slots > ledger->workers[index].slot_room;
    if ((is_new && ledger->worker_count == LEDGER_WORKERS_MAX) ||
        (wants_slots && ledger->slots.count + (size_t)slots > LEDGER_WORKERS_MAX)) {
        return error_set(err, ERROR_EXHAUSTED, "more than %d workers", LEDGER_WORKERS_MAX);
    }
    if (is_new) {
        ledger->workers = cells_grow(ledger->workers, ledger->worker_count, &ledger->worker_room,
                                     sizeof *ledger->workers);
        index = (int)ledger->worker_count++;
        ledger->workers[index] = (struct worker){.name = x_strdup(name)};
    }
    struct worker *worker = &ledger->workers[index];
    if (wants_slots) {
        worker->first_slot = slots_add(&ledger->slots, index, slots);
        worker->slot_room = slots;
    }
    worker->slots = slots;
    worker->public.present = true;
    ledger->workers_present++;
    ledger->slots_present += slots;
    for (int slot = worker->first_slot; slot < worker->first_slot + slots; slot++) {
        ledger->slots.of[slot].is_present = true;
        slots_place(&ledger->slots, slot);
    }
    *ret_worker = index;
    return 0;
}

static void lose_slot(struct ledger *ledger, int index) {
    struct ledger_slot *slot = &ledger->slots.of[index];
    static const struct bad_end lost = {.fault = LEDGER_MACHINE,
                                        .cause = "too many of its workers were lost"};
    slot->is_present = false;
    slots_set_stuck(&ledger->slots, slot, -1);
    for (bool is_head = true; slot->held; is_head = false) {
        struct ledger_lease lease = ledger_view(ledger, slot->head);
        bool goes_on = drop_lease(ledger, slot->head, /* is_late= */ true, slot->started_ms);
        if (is_head) {
            enum ledger_decision decision = end_badly(ledger, &lease, goes_on, &lost);
            bool is_last = decision == LEDGER_FAILED;
            record_revoked(ledger, &lease, decision, is_last ? lost.cause : "its worker was lost");
        } else if (!goes_on) {
            cells_put_back(&ledger->cells, lease.first, lease.first + lease.cells);
        }
    }
    slots_place(&ledger->slots, index);
}

void ledger_leave(struct ledger *ledger, int index) {
    struct worker *worker = &ledger->workers[index];
    assert(worker->public.present);
    worker->public.present = false;
    ledger->workers_present--;
    ledger->slots_present -= worker->slots;
    for (int slot = worker->first_slot; slot < worker->first_slot + worker->slots; slot++) {
        lose_slot(ledger, slot);
    }
}

/* ---- granting------------------------------------------------------------------------------- */

static int64_t waiting(const struct ledger *ledger) {
    return ledger->cells.in[CELL_WAITING];
}

static int next_try(const struct ledger *ledger, int64_t first, int32_t cells) {
    return cells > 1 ? 1 : ledger->cells.of[first].tries + 1;
}

/* left: leases that there may still be; for_idle: no slot gets one ahead. */
static int pick_slot(const struct ledger *ledger, int64_t left, bool for_idle) {
    const struct slots *slots = &ledger->slots;
    int64_t present = ledger->slots_present;
    int more = slots->first[LIST_MORE];
    return slots->first[LIST_IDLE] >= 0                          ? slots->first[LIST_IDLE]
           : for_idle                                            ? -1
           : left >= present && slots->first[LIST_ONE] >= 0      ? slots->first[LIST_ONE]
           : more >= 0 && left >= present * slots->of[more].held ? more
                                                                 : -1;
}

/* An idle slot, of another worker if possible. */
static int idle_slot_for(const struct ledger *ledger, int worker) {
    int index = ledger->slots.first[LIST_IDLE];
    while (index >= 0 && ledger->workers_present > 1 && ledger->slots.of[index].worker == worker) {
        index = ledger->slots.of[index].next[LINK_ROOM];
    }
    return index;
}

/* When the next lease becomes slow that an idle slot could duplicate, and which; INT64_MAX: none.
 * Leases that have not begun are slow after LEDGER_SLOW_MS, others after ledger_slow_ms. The list
 * is sorted by age, so the walk ends where no lease is old enough to become slow earlier. */
static int64_t next_slow(const struct ledger *ledger, int32_t *ret_lease, int *ret_slot) {
    const struct slots *slots = &ledger->slots;
    int64_t best_ms = INT64_MAX;
    if (waiting(ledger) || !ledger->is_all || slots->first[LIST_IDLE] < 0 ||
        ledger_is_over(ledger)) {
        return best_ms;
    }
    for (int32_t i = slots->oldest_alone; i >= 0; i = slots->leases[i].newer) {
        const struct queued_lease *lease = &slots->leases[i];
        if (lease->granted_ms + LEDGER_SLOW_MS >= best_ms) {
            break;
        }
        if (lease->is_last_chance) {
            continue;
        }
        const struct ledger_slot *holder = &slots->of[lease->slot];
        bool has_begun = holder->head == i;
        if (has_begun && !ledger_may_repeat(ledger)) {
            continue;
        }
        int64_t after_ms = has_begun ? ledger_slow_ms(ledger, lease->cells) : LEDGER_SLOW_MS;
        int64_t due_ms = (has_begun ? holder->started_ms : lease->granted_ms) + after_ms;
        int slot = has_begun ? idle_slot_for(ledger, lease->worker) : slots->first[LIST_IDLE];
        if (after_ms >= 0 && slot >= 0 && due_ms < best_ms) {
            best_ms = due_ms;
            *ret_lease = i;
            *ret_slot = slot;
        }
    }
    return best_ms;
}

static bool grant_second(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease) {
    int32_t first = -1;
    int slot = -1;
    if (next_slow(ledger, &first, &slot) > now_ms) {
        return false;
    }
    struct queued_lease lease = ledger->slots.leases[first];
    if (ledger->slots.of[lease.slot].head != first) {
        return false; /* ledger_next_revoked takes it back */
    }
    lease.number = ledger->next_lease++;
    lease.try = next_try(ledger, lease.first, lease.cells);
    lease.is_second = true;
    ledger->seconds++;
    int32_t second = slots_lease(&ledger->slots, slot, &lease, now_ms);
    slots_pair(&ledger->slots, first, second);
    *ret_lease = ledger_view(ledger, second);
    return true;
}

bool ledger_next_lease(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease) {
    if (ledger_is_over(ledger)) {
        return false;
    }
    if (!waiting(ledger)) {
        return grant_second(ledger, now_ms, ret_lease);
    }
    int32_t most = 1;
    bool grows = false;
    if (ledger->options.is_auto) {
        struct size_query question = {.waiting = waiting(ledger),
                                      .slots = ledger->slots_present,
                                      .timeout_us = ledger->options.timeout_ms * 1000,
                                      .most = ledger->lease_cells};
        most = sizes_next(&ledger->sizes, &question, &grows);
    }
    int slot = pick_slot(ledger, waiting(ledger) / most, grows);
    if (slot < 0) {
        return false;
    }
    struct queued_lease lease = {.number = ledger->next_lease++};
    lease.first = cells_next(&ledger->cells, slot, ledger->slots_present, most, &lease.cells);
    lease.try = next_try(ledger, lease.first, lease.cells);
    int32_t index = slots_lease(&ledger->slots, slot, &lease, now_ms);
    cells_lease(&ledger->cells, lease.first, lease.first + lease.cells, index);
    *ret_lease = ledger_view(ledger, index);
    return true;
}

void ledger_limit_lease_cells(struct ledger *ledger, int32_t cells) {
    ledger->lease_cells = MAX(MIN(ledger->lease_cells, cells), 1);
}

/* ---- revoking ------------------------------------------------------------------------------- */

static bool next_revoked(struct ledger *ledger, struct ledger_revoked *ret_revoked) {
    if (ledger->taken_next == ledger->taken_count) {
        ledger->taken_next = ledger->taken_count = 0;
        return false;
    }
    *ret_revoked = ledger->taken[ledger->taken_next++];
    return true;
}

/* Takes back a lease that has not begun; if its worker has begun it nevertheless, its result is
 * still accepted. */
static void take_back(struct ledger *ledger, int32_t index, int64_t now_ms) {
    struct ledger_lease lease = ledger_view(ledger, index);
    bool goes_on = drop_lease(ledger, index, /* is_late= */ true, now_ms);
    record_revoked(ledger, &lease, LEDGER_IGNORED, "");
    if (!goes_on) {
        cells_put_back(&ledger->cells, lease.first, lease.first + lease.cells);
    }
}

/* When the next running or waiting lease times out, and its slot; INT64_MAX: none. */
static int64_t next_expired(const struct ledger *ledger, int *ret_slot) {
    const struct slots *slots = &ledger->slots;
    int running = slots->first[LIST_RUNNING], waiting = slots->first[LIST_WAITING];
    int64_t run_ms =
        running < 0 ? INT64_MAX : slots->of[running].started_ms + ledger->options.timeout_ms;
    int64_t wait_ms =
        waiting < 0 ? INT64_MAX : slots->of[waiting].waits_ms + ledger->options.wait_ms;
    *ret_slot = run_ms <= wait_ms ? running : waiting;
    return MIN(run_ms, wait_ms);
}

static bool take_expired(struct ledger *ledger, int64_t now_ms,
                         struct ledger_revoked *ret_revoked) {
    int index = -1;
    if (now_ms < next_expired(ledger, &index) || index < 0) {
        return false;
    }
    struct ledger_slot *slot = &ledger->slots.of[index];
    bool waits = slot->list[LINK_RUNNING] == LIST_WAITING;
    *ret_revoked = (struct ledger_revoked){.lease = ledger_view(ledger, slot->head)};
    snprintf(ret_revoked->cause, sizeof ret_revoked->cause, "%s within %g s",
             waits ? "its worker was not ready for it" : "no result",
             (double)(waits ? ledger->options.wait_ms : ledger->options.timeout_ms) / 1000);
    if (slot->stuck_lease < 0) { /* otherwise the worker never began this lease */
        slots_set_stuck(&ledger->slots, slot, ret_revoked->lease.lease);
    }
    bool goes_on = drop_lease(ledger, slot->head, /* is_late= */ true, now_ms);
    while (slot->held) {
        take_back(ledger, slot->tail, now_ms);
    }
    ret_revoked->fault = waits ? LEDGER_MACHINE : LEDGER_SCORER;
    const struct bad_end expired = {.fault = ret_revoked->fault, .cause = ret_revoked->cause};
    ret_revoked->decision = end_badly(ledger, &ret_revoked->lease, goes_on, &expired);
    return true;
}

bool ledger_next_revoked(struct ledger *ledger, int64_t now_ms,
                         struct ledger_revoked *ret_revoked) {
    int32_t lease = -1;
    int slot = -1;
    if (next_revoked(ledger, ret_revoked) || take_expired(ledger, now_ms, ret_revoked)) {
        return true;
    }
    if (next_slow(ledger, &lease, &slot) <= now_ms &&
        ledger->slots.of[ledger->slots.leases[lease].slot].head != lease) {
        take_back(ledger, lease, now_ms);
        return next_revoked(ledger, ret_revoked);
    }
    return false;
}

int64_t ledger_deadline_ms(const struct ledger *ledger) {
    int32_t lease = -1;
    int slot = -1;
    if (ledger->taken_next < ledger->taken_count) {
        return 0;
    }
    int64_t expires_ms = next_expired(ledger, &slot);
    int64_t due_ms = MIN(expires_ms, next_slow(ledger, &lease, &slot));
    return due_ms == INT64_MAX ? -1 : due_ms;
}

void ledger_set_ready(struct ledger *ledger, int worker, int64_t lease, bool is_ready,
                      int64_t now_ms) {
    int32_t index = slots_find(&ledger->slots, lease);
    const struct queued_lease *it = index < 0 ? NULL : &ledger->slots.leases[index];
    if (it && !it->is_late && it->worker == worker && ledger->slots.of[it->slot].head == index) {
        slots_set_ready(&ledger->slots, it->slot, is_ready, now_ms);
    }
}

/* ---- reports -------------------------------------------------------------------------------- */

/* The worker has reported the lease that blocked its slot. */
static void no_longer_stuck(struct ledger *ledger, int worker, int64_t lease, int64_t now_ms) {
    const struct worker *it = &ledger->workers[worker];
    int end = ledger->slots.stuck > 0 ? it->first_slot + it->slots : 0;
    for (int slot = it->first_slot; slot < end; slot++) {
        if (ledger->slots.of[slot].stuck_lease == lease) {
            slots_set_stuck(&ledger->slots, &ledger->slots.of[slot], -1);
            slots_set_ready(&ledger->slots, slot, /* is_ready= */ true, now_ms);
            slots_place(&ledger->slots, slot);
        }
    }
}

/* An invalid result counts as a failure. */
static bool is_sound(const struct ledger_lease *lease, const struct ledger_report *report,
                     struct bad_end *ret_bad, char cause[static LEDGER_CAUSE_MAX]) {
    *ret_bad = (struct bad_end){.fault = LEDGER_SCORER, .cause = cause};
    cause[0] = 0;
    if (report->fault != LEDGER_NO_FAULT) {
        ret_bad->fault = report->fault;
        ret_bad->items = report->items;
        ret_bad->is_final = report->fault == LEDGER_SCORER && report->is_final;
        snprintf(cause, LEDGER_CAUSE_MAX, "%s", report->cause ? report->cause : "");
        return false;
    }
    if (lease->items && report->items != lease->items) {
        snprintf(cause, LEDGER_CAUSE_MAX, "its worker made %lld results of %lld items",
                 (long long)report->items, (long long)lease->items);
        return false;
    }
    if (report->failed == 0 && report->items >= 0 && report->items <= INT32_MAX) {
        return true;
    }
    ret_bad->items = report->items;
    ret_bad->failed = report->failed;
    ret_bad->has_result =
        report->failed > 0 && report->failed <= report->items && report->items <= INT32_MAX;
    ret_bad->is_final = ret_bad->has_result && report->is_final;
    if (report->cause && *report->cause) {
        snprintf(cause, LEDGER_CAUSE_MAX, "%s", report->cause);
    } else {
        snprintf(cause, LEDGER_CAUSE_MAX, "%lld of %lld items failed", (long long)report->failed,
                 (long long)report->items);
    }
    return false;
}

/* A revoked lease: its end was counted then, but its results may be the first. */
static enum ledger_decision report_late(struct ledger *ledger, int32_t index,
                                        const struct ledger_report *report, int64_t now_ms,
                                        struct ledger_lease *ret_lease) {
    struct ledger_lease lease = ledger_view(ledger, index);
    struct bad_end bad;
    char cause[LEDGER_CAUSE_MAX];
    int64_t end = lease.first + lease.cells;
    slots_forget(&ledger->slots, index);
    bool is_welcome = is_sound(&lease, report, &bad, cause);
    for (int64_t i = lease.first; i < end && is_welcome; i++) {
        is_welcome = ledger->cells.of[i].state <= CELL_LEASED;
    }
    if (!is_welcome) {
        return LEDGER_IGNORED;
    }
    supersede(ledger, lease.first, end, now_ms);
    lease.items = report->items;
    accept(ledger, &lease, LEDGER_DONE, 0);
    *ret_lease = lease;
    return LEDGER_LATE;
}

/* The worker's time includes waiting. Waiting counts as part of a lease if every lease has it: a
 * program that is started again for each. */
static void measure(struct ledger *ledger, int32_t index, const struct ledger_report *report,
                    int64_t now_ms, bool is_sample) {
    const struct queued_lease *lease = &ledger->slots.leases[index];
    struct ledger_slot *slot = &ledger->slots.of[lease->slot];
    int64_t us = (now_ms - slot->started_ms) * 1000;
    if (slot->head != index) {
        return; /* its clock is stopped */
    }
    bool waited = slot->waits_ms >= 0, is_usual = !waited || slot->has_waited;
    slot->has_waited = waited;
    slots_measure(&ledger->slots, lease->slot, us);
    if (is_sample && is_usual) {
        sizes_add(&ledger->sizes, lease->cells, report->took_us >= 0 ? report->took_us : us);
    }
}

/* Waiting for the other run would put what this one has at risk. */
static bool is_final(const struct ledger *ledger, const struct ledger_lease *lease,
                     const struct bad_end *bad) {
    bool is_last = ledger->cells.of[lease->first].tries + 1 >= ledger->options.max_tries;
    return lease->cells == 1 &&
           (bad->is_final || (is_last && bad->has_result && bad->failed < bad->items));
}

enum ledger_decision ledger_take_report(struct ledger *ledger, const struct ledger_report *report,
                                        int64_t now_ms, struct ledger_lease *ret_lease) {
    int32_t index = slots_find(&ledger->slots, report->lease);
    struct ledger_lease ignored;
    struct bad_end bad;
    char cause[LEDGER_CAUSE_MAX];
    ret_lease = ret_lease ? ret_lease : &ignored;
    no_longer_stuck(ledger, report->worker, report->lease, now_ms);
    if (index < 0 || ledger->slots.leases[index].worker != report->worker) {
        return LEDGER_IGNORED;
    }
    if (ledger->slots.leases[index].is_late) {
        return report_late(ledger, index, report, now_ms, ret_lease);
    }
    struct ledger_lease lease = ledger_view(ledger, index);
    bool is_done = is_sound(&lease, report, &bad, cause);
    measure(ledger, index, report, now_ms, is_done);
    bool goes_on = drop_lease(ledger, index, /* is_late= */ false, now_ms);
    enum ledger_decision decision = LEDGER_DONE;
    if (goes_on && (is_done || is_final(ledger, &lease, &bad))) {
        supersede(ledger, lease.first, lease.first + lease.cells, now_ms);
        goes_on = false;
    }
    if (is_done) {
        lease.items = report->items;
        accept(ledger, &lease, LEDGER_DONE, 0);
    } else {
        decision = end_badly(ledger, &lease, goes_on, &bad);
    }
    *ret_lease = lease;
    return decision;
}
