// SPDX-License-Identifier: Apache-2.0
/* The ledger against a model of its contract: workers that die, hang, send false messages or
 * repeats, answer late or hand back, pages that come in, commits of earlier coordinators and voids,
 * in any order. The model knows each cell and each lease, and the right answer to every event.
 * SOAK_SEED and SOAK_ROUNDS choose other worlds; make soak has SOAK_ROUNDS 50000 for it. */
#include "tests/seed.h"
#include "tests/unit/agent/score/ledger/ledgers.h"

#include "agent/score/ledger/ledger_slots.h"

#include <stdlib.h>

enum { WORKERS = 5, SLOTS = 3, CELLS = 200, LEASES = 20000, STEPS_MAX = 20000 };

enum status { FREE, HELD, LATE, UNWANTED, GONE }; /* UNWANTED: its holder must still be notified */

struct model_lease {
    struct ledger_lease lease;
    enum status status;
    int64_t stamp; /* LATE: when */
    enum ledger_decision of_loss;
};

struct model_slot {
    int64_t queue[CELLS + 1]; /* leases, the head first */
    int held;
    int64_t started_ms;
    int64_t waits_ms; /* since when its worker is not ready for the head; or -1 */
    int64_t stuck;    /* or -1 */
};

struct model_cell {
    bool is_known, is_accepted, is_committed, was_leased;
    int holders, tries, losses;
    int64_t items; /* the true number */
    int64_t range; /* accepted: the first cell of its record */
    int64_t done, failed;
    bool is_bad;
};

struct world {
    uint64_t random;
    struct ledger_options options;
    struct ledger *ledger;
    int64_t now_ms, total, known, stamp;
    bool is_all;
    bool is_present[WORKERS];
    int slots[WORKERS];
    struct model_slot slot[WORKERS][SLOTS];
    struct model_cell cells[CELLS];
    struct model_lease leases[LEASES];
    int64_t lease_count; /* leases ever: their number is the index */
    int64_t late, voids_left;
    int expected_losses; /* from ledger_next_revoked: heads of lost workers */
    int unwanted;
};

static int64_t dice(struct world *world, int64_t sides) {
    return (int64_t)test_below(&world->random, (uint64_t)sides);
}

/* ---- actions of the model ------------------------------------------------------------------- */

static int64_t items_of(const struct world *world, int64_t first, int64_t cells) {
    int64_t items = 0;
    for (int64_t i = first; i < first + cells; i++) {
        items += world->cells[i].items;
    }
    return items;
}

static void dequeue(struct world *world, const struct ledger_lease *lease) {
    struct model_slot *slot = &world->slot[lease->worker][lease->slot];
    for (int i = 0; i < slot->held; i++) {
        if (slot->queue[i] == lease->lease) {
            memmove(slot->queue + i, slot->queue + i + 1,
                    (size_t)(--slot->held - i) * sizeof *slot->queue);
            slot->started_ms = i == 0 ? world->now_ms : slot->started_ms;
            slot->waits_ms = i > 0                            ? slot->waits_ms
                             : slot->held && slot->stuck >= 0 ? world->now_ms
                                                              : -1;
            return;
        }
    }
    CHECK(!"a lease that its slot does not hold");
}

/* HELD -> LATE, UNWANTED or GONE. */
static void release(struct world *world, int64_t number, enum status status) {
    struct model_lease *lease = &world->leases[number];
    dequeue(world, &lease->lease);
    lease->status = status;
    for (int64_t i = lease->lease.first; i < lease->lease.first + lease->lease.cells; i++) {
        world->cells[i].holders--;
    }
    world->unwanted += status == UNWANTED;
    if (status != LATE) {
        return;
    }
    lease->stamp = world->stamp++;
    if (++world->late > LATE_LEASES) { /* the oldest is forgotten */
        int64_t oldest = -1;
        for (int64_t i = 0; i < world->lease_count; i++) {
            bool is_older = world->leases[i].status == LATE &&
                            (oldest < 0 || world->leases[i].stamp < world->leases[oldest].stamp);
            oldest = is_older ? i : oldest;
        }
        world->leases[oldest].status = GONE;
        world->late--;
    }
}

static bool is_head(const struct world *world, const struct ledger_lease *lease) {
    const struct model_slot *slot = &world->slot[lease->worker][lease->slot];
    return slot->held && slot->queue[0] == lease->lease;
}

/* Accepted: from now on no other worker may have it. */
static void accept(struct world *world, const struct ledger_lease *lease, int64_t items,
                   int64_t failed) {
    for (int64_t i = lease->first; i < lease->first + lease->cells; i++) {
        struct model_cell *cell = &world->cells[i];
        CHECK(!cell->is_accepted); /* twice */
        cell->is_accepted = cell->was_leased = true;
        cell->is_committed = false;
        cell->range = lease->first;
        cell->done = i == lease->first ? items - failed : 0;
        cell->failed = i == lease->first ? failed : 0;
        cell->is_bad = failed > 0;
    }
    for (int64_t number = 0; number < world->lease_count; number++) {
        const struct ledger_lease *other = &world->leases[number].lease;
        if (world->leases[number].status == HELD && other->first < lease->first + lease->cells &&
            lease->first < other->first + other->cells) {
            struct model_slot *slot = &world->slot[other->worker][other->slot];
            slot->stuck = is_head(world, other) && slot->stuck < 0 ? number : slot->stuck;
            release(world, number, UNWANTED);
        }
    }
}

/* The expected answer for a failed lease that was released already. */
static enum ledger_decision end_badly(struct world *world, const struct ledger_lease *lease,
                                      enum ledger_fault fault, int64_t items, int64_t failed) {
    struct model_cell *cell = &world->cells[lease->first];
    if (lease->cells > 1) {
        return LEDGER_RETRY;
    }
    cell->tries += fault == LEDGER_SCORER;
    cell->losses += fault == LEDGER_MACHINE;
    bool is_partial = failed > 0 && failed < items,
         has_tries = cell->tries < world->options.max_tries;
    if ((cell->holders > 0 && (has_tries || !is_partial)) ||
        (has_tries && cell->losses < LEDGER_LOSSES_MAX)) {
        return LEDGER_RETRY;
    }
    int64_t known = world->options.cell_items ? cell->items : MAX(items, 1);
    accept(world, lease, known, is_partial ? failed : known);
    return is_partial ? LEDGER_PARTIAL : LEDGER_FAILED;
}

/* ---- answers of the ledger ------------------------------------------------------------------ */

static void check_counts(struct world *world) {
    struct ledger_counts counts = ledger_read_counts(world->ledger), sums = {0};
    bool never = false;
    for (int64_t i = 0; i < world->total; i++) {
        const struct model_cell *cell = &world->cells[i];
        CHECK(cell->holders >= 0 && cell->holders <= 2);
        CHECK(!cell->is_accepted || cell->holders == 0);
        sums.leased += cell->holders > 0;
        sums.waiting += cell->is_known && !cell->is_accepted && cell->holders == 0;
        sums.committed += cell->is_committed;
        *(cell->is_bad ? &sums.cells.failed : &sums.cells.done) += cell->is_accepted;
        sums.items.done += cell->is_accepted ? cell->done : 0;
        sums.items.failed += cell->is_accepted ? cell->failed : 0;
        never = never || (cell->is_known && !cell->was_leased);
    }
    CHECK_INT(counts.leased, sums.leased);
    CHECK_INT(counts.waiting, sums.waiting);
    CHECK_INT(counts.committed, sums.committed);
    CHECK_INT(counts.cells.done, sums.cells.done);
    CHECK_INT(counts.cells.failed, sums.cells.failed);
    CHECK_INT(counts.items.done, sums.items.done);
    CHECK_INT(counts.items.failed, sums.items.failed);
    int64_t ended = sums.cells.done + sums.cells.failed;
    CHECK_INT(ledger_is_accounted(world->ledger), world->is_all && ended == world->total);
    const struct ledger_options *options = &world->options;
    bool is_over =
        (options->errors_max >= 0 && sums.items.failed > options->errors_max) ||
        (options->cell_errors_max >= 0 && sums.cells.failed > options->cell_errors_max) ||
        (options->cell_errors_percent >= 0 && world->is_all && !never &&
         (double)sums.cells.failed * 100 > options->cell_errors_percent * (double)world->total);
    struct error err = {0};
    CHECK_INT(ledger_check_thresholds(world->ledger, &err), is_over ? -1 : 0);
}

static void check_granted(struct world *world, const struct ledger_lease *lease, bool is_over) {
    struct model_slot *slot = &world->slot[lease->worker][lease->slot];
    CHECK(!is_over && world->is_present[lease->worker]);
    CHECK(lease->slot < world->slots[lease->worker]);
    CHECK_INT(slot->stuck, -1);
    CHECK(slot->held <= world->options.ahead_max);
    CHECK_INT(lease->lease, world->lease_count);
    CHECK(lease->cells == 1 || (world->options.is_auto && lease->cells > 1));
    CHECK_INT(lease->try, lease->cells > 1 ? 1 : world->cells[lease->first].tries + 1);
    CHECK_INT(lease->items,
              world->options.cell_items ? items_of(world, lease->first, lease->cells) : 0);
    for (int64_t i = lease->first; i < lease->first + lease->cells; i++) {
        CHECK(world->cells[i].is_known && !world->cells[i].is_accepted);
        CHECK_INT(world->cells[i].holders++, lease->is_second);
        world->cells[i].was_leased = true;
    }
    if (lease->is_second) {
        CHECK(world->is_all && ledger_read_counts(world->ledger).waiting == 0 && slot->held == 0);
    }
    slot->started_ms = slot->held ? slot->started_ms : world->now_ms;
    slot->queue[slot->held++] = lease->lease;
    world->leases[world->lease_count++] = (struct model_lease){.lease = *lease, .status = HELD};
}

static void check_taken_one(struct world *world, const struct ledger_revoked *taken) {
    struct model_lease *lease = &world->leases[taken->lease.lease];
    if (taken->decision == LEDGER_IGNORED && lease->status == UNWANTED) {
        lease->status = GONE;
        world->unwanted--;
        return;
    }
    if (taken->decision == LEDGER_IGNORED) { /* it has not begun, and goes to another slot */
        CHECK_INT(lease->status, HELD);
        CHECK(!is_head(world, &lease->lease) ||
              world->slot[taken->lease.worker][taken->lease.slot].stuck >= 0);
        release(world, taken->lease.lease, LATE);
        return;
    }
    CHECK_INT(taken->is_lost, lease->status != HELD);
    if (taken->is_lost) {
        CHECK_INT(taken->decision, lease->of_loss);
        world->expected_losses--;
        return;
    }
    struct model_slot *slot = &world->slot[taken->lease.worker][taken->lease.slot];
    CHECK(is_head(world, &lease->lease));
    bool waits = slot->waits_ms >= 0;
    CHECK(waits ? world->now_ms - slot->waits_ms >= world->options.wait_ms
                : world->now_ms - slot->started_ms >= world->options.timeout_ms);
    slot->stuck = slot->stuck >= 0 ? slot->stuck : taken->lease.lease;
    release(world, taken->lease.lease, LATE);
    enum ledger_fault fault = waits ? LEDGER_MACHINE : LEDGER_SCORER;
    CHECK_INT(taken->decision, end_badly(world, &lease->lease, fault, 0, 0));
}

/* Handles all consequences of an event. Afterwards no slot that could work is idle. */
static void settle(struct world *world) {
    struct ledger_revoked taken;
    struct ledger_lease lease;
    struct error err = {0};
    bool is_over = ledger_check_thresholds(world->ledger, &err) < 0;
    for (bool has_news = true; has_news;) {
        has_news = false;
        while (ledger_next_revoked(world->ledger, world->now_ms, &taken)) {
            check_taken_one(world, &taken);
            error_clear(&err);
            is_over = ledger_check_thresholds(world->ledger, &err) < 0;
            has_news = true;
        }
        while (ledger_next_lease(world->ledger, world->now_ms, &lease)) {
            check_granted(world, &lease, is_over);
            is_over = ledger_check_thresholds(world->ledger, &err) < 0; /* all were leased once */
            has_news = true;
        }
    }
    CHECK_INT(world->unwanted, 0);
    CHECK_INT(world->expected_losses, 0);
    bool has_waiting = ledger_read_counts(world->ledger).waiting > 0 && !is_over;
    for (int worker = 0; worker < WORKERS; worker++) {
        for (int i = 0; i < (world->is_present[worker] ? world->slots[worker] : 0); i++) {
            const struct model_slot *slot = &world->slot[worker][i];
            CHECK(!has_waiting || slot->held || slot->stuck >= 0);
            CHECK(!slot->held ||
                  (slot->waits_ms >= 0
                       ? world->now_ms - slot->waits_ms < world->options.wait_ms
                       : world->now_ms - slot->started_ms < world->options.timeout_ms));
        }
    }
    int64_t deadline_ms = ledger_deadline_ms(world->ledger);
    CHECK(deadline_ms == -1 || deadline_ms > world->now_ms);
    check_counts(world);
}

/* ---- events --------------------------------------------------------------------------------- */

static void report(struct world *world, int64_t number) {
    struct model_lease *lease = &world->leases[number];
    struct ledger_lease it = lease->lease, told = {0};
    int64_t items = items_of(world, it.first, it.cells);
    struct ledger_report said = {
        .worker = it.worker, .lease = number, .items = items, .took_us = -1, .cause = "no"};
    int64_t how = dice(world, 20);
    said.fault = how >= 4 || how == 0 ? LEDGER_NO_FAULT : (enum ledger_fault)how; /* 1 to 3 */
    said.failed = how == 4 || how == 5 ? 1 + dice(world, items) : 0;
    said.items = how == 6 && world->options.cell_items ? items + 1 : items;
    said.items = said.fault && !world->options.cell_items ? dice(world, 3) : said.items;
    bool is_sound = !said.fault && !said.failed && said.items == items;
    struct model_slot *slot = &world->slot[it.worker][it.slot];
    enum ledger_decision wanted = LEDGER_IGNORED,
                         decision = ledger_take_report(world->ledger, &said, world->now_ms, &told);
    if (slot->stuck == number) {
        slot->stuck = -1;
        slot->started_ms = slot->waits_ms >= 0 ? world->now_ms : slot->started_ms;
        slot->waits_ms = -1;
    }
    if (lease->status == HELD) {
        release(world, number, GONE);
        enum ledger_fault fault = said.fault ? said.fault : LEDGER_SCORER;
        if (is_sound) {
            wanted = LEDGER_DONE;
            accept(world, &it, items, 0);
        } else {
            int64_t failed = said.items == items && !said.fault ? said.failed : 0;
            wanted = end_badly(world, &it, fault, said.items, failed);
        }
    } else if (lease->status == LATE) {
        lease->status = GONE;
        world->late--;
        bool is_open = true;
        for (int64_t i = it.first; i < it.first + it.cells; i++) {
            is_open = is_open && !world->cells[i].is_accepted;
        }
        if (is_sound && is_open) {
            wanted = LEDGER_LATE;
            accept(world, &it, items, 0);
        }
    }
    CHECK_INT(decision, wanted);
    if (decision != LEDGER_IGNORED) {
        CHECK_INT(told.lease, number);
        CHECK_INT(told.first, it.first);
        CHECK_INT(told.cells, it.cells);
    }
}

/* A worker reports that it is not ready for a lease, or begins it. */
static void tell_wait(struct world *world, int64_t number, bool is_ready) {
    const struct ledger_lease *lease = &world->leases[number].lease;
    struct model_slot *slot = &world->slot[lease->worker][lease->slot];
    ledger_set_ready(world->ledger, lease->worker, number, is_ready, world->now_ms);
    if (world->leases[number].status != HELD || !is_head(world, lease)) {
        return;
    }
    if (is_ready && slot->waits_ms >= 0 && slot->stuck < 0) {
        slot->started_ms = world->now_ms;
        slot->waits_ms = -1;
    } else if (!is_ready && slot->waits_ms < 0) {
        slot->waits_ms = world->now_ms;
    }
}

static void join_or_leave(struct world *world, int worker) {
    if (!world->is_present[worker]) {
        char name[32];
        snprintf(name, sizeof name, "worker-%d", worker);
        world->slots[worker] = 1 + (int)dice(world, SLOTS);
        world->is_present[worker] = true;
        CHECK_INT(join_with(world->ledger, name, world->slots[worker]), worker);
        return;
    }
    ledger_leave(world->ledger, worker);
    world->is_present[worker] = false;
    for (int i = 0; i < world->slots[worker]; i++) {
        struct model_slot *slot = &world->slot[worker][i];
        slot->stuck = -1;
        for (bool head = true; slot->held; head = false) {
            struct ledger_lease lease = world->leases[slot->queue[0]].lease;
            release(world, lease.lease, LATE);
            if (head) {
                world->leases[lease.lease].of_loss = end_badly(world, &lease, LEDGER_MACHINE, 0, 0);
                world->expected_losses++;
            }
        }
    }
}

static void extend(struct world *world) {
    struct error err = {0};
    int64_t cells = dice(world, world->total / 2 + 2);
    cells = MIN(cells, world->total - world->known);
    for (int64_t i = world->known; i < world->known + cells; i++) {
        world->cells[i].is_known = true;
    }
    int64_t items = world->options.cell_items ? items_of(world, world->known, cells) : -1;
    world->known += cells;
    world->is_all = world->known == world->total && dice(world, 2);
    CHECK_OK(ledger_extend(world->ledger, cells, items, world->is_all, &err), &err);
}

/* A record of accepted cells was stored; or an object that one of them names is gone. */
static void commit_or_void(struct world *world) {
    int64_t cell = dice(world, world->total), first = world->cells[cell].range, end = first;
    if (!world->cells[cell].is_accepted) {
        return;
    }
    bool is_void = world->voids_left > 0 && world->cells[cell].is_committed && dice(world, 2);
    world->voids_left -= is_void;
    for (; end < world->total && world->cells[end].is_accepted && world->cells[end].range == first;
         end++) {
        world->cells[end].is_committed = true;
        if (is_void) {
            struct model_cell fresh = {.is_known = world->cells[end].is_known,
                                       .was_leased = true,
                                       .items = world->cells[end].items};
            world->cells[end] = fresh;
        }
    }
    if (is_void) {
        ledger_void(world->ledger, first, end - first);
    } else {
        ledger_committed(world->ledger, first, end - first);
    }
}

/* Commits of an earlier coordinator, before a page is known. */
static void restore(struct world *world) {
    for (int64_t cell = 0; cell < world->total; cell++) {
        int64_t how = dice(world, 6), items = world->cells[cell].items;
        if (how > 2) {
            continue;
        }
        struct error err = {0};
        struct ledger_lease lease = {.first = cell, .cells = 1};
        struct ledger_record record = {LEDGER_DONE, cell, 1, items, 0};
        if (how == 2 && items > 1) {
            record.decision = LEDGER_PARTIAL;
            record.failed = 1;
        } else if (how == 0) {
            record.decision = LEDGER_FAILED;
            record.failed = items;
        }
        accept(world, &lease, record.items, record.failed);
        world->cells[cell].is_committed = true;
        CHECK_OK(ledger_restore(world->ledger, &record, &err), &err);
        CHECK_OK(ledger_restore(world->ledger, &record, &err), &err); /* changes nothing */
    }
}

static void step(struct world *world) {
    int64_t what = dice(world, 100), worker = dice(world, WORKERS);
    if (!world->is_all && what < 20) {
        extend(world);
    } else if (what < (world->total < 9 ? 40 : 4) || (!world->is_present[worker] && what < 60)) {
        join_or_leave(world, (int)worker);
    } else if (what < 10 && world->lease_count) { /* late, double, or out of order */
        int64_t number = dice(world, world->lease_count);
        if (world->is_present[world->leases[number].lease.worker]) {
            report(world, number);
        }
    } else if (what < 12) {
        struct ledger_lease lie = {.worker = 0, .lease = world->lease_count + dice(world, 9)};
        if (world->lease_count && dice(world, 2)) { /* another worker's */
            lie.lease = dice(world, world->lease_count);
            lie.worker = (world->leases[lie.lease].lease.worker + 1) % WORKERS;
        }
        CHECK_INT(finish(world->ledger, &lie, 1, 0, world->now_ms), LEDGER_IGNORED);
    } else if (what < 17 && world->lease_count) { /* mostly of a head, which is among the last */
        int64_t last = world->lease_count - 1, number = last - dice(world, MIN(last, 9) + 1);
        tell_wait(world, number, dice(world, 2));
    } else if (what < 25) {
        commit_or_void(world);
    } else if (what < 30) { /* nothing happens before the deadline, something at the deadline */
        int64_t deadline_ms = ledger_deadline_ms(world->ledger);
        struct ledger_revoked taken;
        struct ledger_lease lease;
        if (deadline_ms > world->now_ms) {
            CHECK(!ledger_next_revoked(world->ledger, deadline_ms - 1, &taken));
            CHECK(!ledger_next_lease(world->ledger, deadline_ms - 1, &lease));
            world->now_ms = deadline_ms;
            int64_t leases = world->lease_count;
            if (ledger_next_revoked(world->ledger, deadline_ms, &taken)) {
                check_taken_one(world, &taken);
                leases = -1;
            }
            settle(world);
            CHECK(world->lease_count > leases);
        }
    } else {
        struct model_slot *slot = &world->slot[worker][dice(world, SLOTS)];
        world->now_ms += dice(world, 40);
        if (slot->held) {
            report(world, slot->queue[0]);
        } else if (slot->stuck >= 0 && world->is_present[worker]) {
            report(world, slot->stuck);
        }
    }
    settle(world);
}

/* ---- worlds --------------------------------------------------------------------------------- */

static struct world *new_world(uint64_t seed) {
    struct world *world = x_calloc(1, sizeof *world);
    world->random = seed;
    static const int aheads[] = {0, 1, 5, 100};
    struct ledger_options *options = &world->options;
    options->cell_items = dice(world, 2) * 3;
    options->max_tries = 1 + (int)dice(world, 4);
    options->timeout_ms = 200 + dice(world, 4000);
    options->wait_ms = 200 + dice(world, 4000);
    options->ahead_max = aheads[dice(world, ARRAY_LEN(aheads))];
    options->is_auto = dice(world, 2);
    options->is_partitioned = dice(world, 2);
    options->errors_max = dice(world, 4) ? -1 : dice(world, 30);
    options->cell_errors_max = dice(world, 4) ? -1 : dice(world, 30);
    options->cell_errors_percent = dice(world, 4) ? -1 : (double)dice(world, 20);
    world->ledger = ledger_new(options);
    world->total = 1 + dice(world, dice(world, 4) ? CELLS : 9); /* few: some kill workers */
    world->voids_left = dice(world, 30);
    for (int64_t i = 0; i < world->total; i++) {
        world->cells[i].items = options->cell_items ? 3 : 1 + dice(world, 5);
    }
    world->cells[world->total - 1].items = options->cell_items ? 1 + dice(world, 3) : 1;
    for (int worker = 0; worker < WORKERS; worker++) {
        for (int i = 0; i < SLOTS; i++) {
            world->slot[worker][i].stuck = world->slot[worker][i].waits_ms = -1;
        }
    }
    if (dice(world, 4) == 0) {
        extend(world);
    }
    if (dice(world, 2)) {
        restore(world);
    }
    for (int worker = 0; worker < WORKERS; worker++) { /* so that an index is a name */
        join_or_leave(world, worker);
    }
    settle(world);
    return world;
}

static void live(uint64_t seed, int64_t *leases, int64_t *over) {
    struct world *world = new_world(seed);
    struct error err = {0};
    int steps = 0;
    while (!(ledger_is_accounted(world->ledger) && !world->voids_left) && !test_failures &&
           ++steps < STEPS_MAX && world->lease_count < LEASES - 1000 &&
           ledger_check_thresholds(world->ledger, &err) == 0) {
        step(world);
        world->voids_left -=
            ledger_is_accounted(world->ledger) && world->voids_left && !dice(world, 9);
    }
    *over += err.kind != ERROR_NONE;
    *leases += world->lease_count;
    if (!err.kind && !test_failures) {
        CHECK(ledger_is_accounted(world->ledger));
        for (int64_t i = 0; i < world->total; i++) {
            CHECK(world->cells[i].is_accepted);
            ledger_committed(world->ledger, i, 1);
        }
        CHECK(ledger_is_committed(world->ledger));
        CHECK_INT(ledger_read_counts(world->ledger).leased, 0);
    }
    ledger_free(world->ledger);
    free(world);
}

static void test_no_cell_is_lost_or_taken_twice(void) {
    int64_t rounds = MAX(25 * test_rounds(20), 1);
    uint64_t seed = test_seed(1);
    int64_t leases = 0, over = 0;
    for (int64_t i = 0; i < rounds && !test_failures; i++) {
        live(seed + (uint64_t)i, &leases, &over);
        if (test_failures) {
            printf("# SOAK_SEED=%llu SOAK_ROUNDS=0 shows it\n",
                   (unsigned long long)(seed + (uint64_t)i));
        }
    }
    printf("# %lld worlds from seed %llu on, %lld leases; %lld were over a threshold\n",
           (long long)rounds, (unsigned long long)seed, (long long)leases, (long long)over);
}

int main(void) {
    TEST(test_no_cell_is_lost_or_taken_twice);
    return TEST_END();
}
