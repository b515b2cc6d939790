// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger.h"

#include "tests/test.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static struct ledger *new_ledger(int64_t items, int64_t batch_items, int max_tries) {
    struct error err = {0};
    struct ledger *ledger = NULL;
    struct ledger_options options = {items, batch_items, max_tries, 1000, 100};
    CHECK_OK(ledger_new(&options, &ledger, &err), &err);
    return ledger;
}

static int join(struct ledger *ledger, const char *name) {
    struct error err = {0};
    int worker = -1;
    CHECK_OK(ledger_join(ledger, name, &worker, &err), &err);
    return worker;
}

/* Grants one lease and checks who got what. */
static struct ledger_lease grant(struct ledger *ledger, int64_t now_ms, int worker, int64_t batch) {
    struct ledger_lease lease = {.worker = -1};
    CHECK(ledger_grant(ledger, now_ms, &lease));
    CHECK_INT(lease.worker, worker);
    CHECK_INT(lease.batch, batch);
    return lease;
}

static void check_no_grant(struct ledger *ledger) {
    struct ledger_lease lease;
    CHECK(!ledger_grant(ledger, 0, &lease));
}

static void test_uneven_splits_lose_nothing(void) {
    struct ledger *ledger = new_ledger(17, 5, 3);
    CHECK_INT(ledger_counts(ledger)->batches.total, 4);
    CHECK_INT(ledger_batch_items(ledger, 0), 5);
    CHECK_INT(ledger_batch_items(ledger, 3), 2);
    join(ledger, "a");
    for (int i = 0; i < 4; i++) {
        struct ledger_lease lease;
        CHECK(ledger_grant(ledger, 0, &lease));
        CHECK_INT(ledger_finish(ledger, &lease, ledger_batch_items(ledger, lease.batch), 0, NULL),
                  LEDGER_DONE);
    }
    CHECK(ledger_is_done(ledger));
    CHECK_INT(ledger_counts(ledger)->items.done, 17);
    check_no_grant(ledger);
    ledger_free(ledger);
}

static void test_a_worker_holds_two_and_idle_ones_come_first(void) {
    struct ledger *ledger = new_ledger(5, 1, 3);
    int a = join(ledger, "a");
    grant(ledger, 0, a, 0);
    grant(ledger, 0, a, 1);
    check_no_grant(ledger);
    int b = join(ledger, "b");
    struct ledger_lease lease = grant(ledger, 0, b, 2);
    grant(ledger, 0, b, 3); /* two wait for two workers: one ahead is fair */
    check_no_grant(ledger);
    CHECK_INT(ledger_finish(ledger, &lease, 1, 0, NULL), LEDGER_DONE);
    check_no_grant(ledger); /* b still has one; the last is left for whoever has nothing */
    ledger_free(ledger);
}

static void test_a_lost_worker_costs_one_retry(void) {
    struct ledger *ledger = new_ledger(4, 1, 1);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0);
    grant(ledger, 0, a, 1);
    ledger_leave(ledger, a);
    CHECK_INT(ledger_counts(ledger)->batches.retried, 1);
    CHECK_INT(ledger_counts(ledger)->batches.failed, 0); /* although maxTries is 1 */
    CHECK_INT(ledger_counts(ledger)->leased, 0);
    check_no_grant(ledger);
    int b = join(ledger, "b");
    struct ledger_lease again = grant(ledger, 0, b, 0);
    CHECK_INT(again.try, 1);
    struct ledger_lease stolen = {.worker = b, .lease = head.lease};
    CHECK_INT(ledger_finish(ledger, &stolen, 1, 10, NULL), LEDGER_IGNORED);
    /* The lost one comes back with its result: accepted once, and b need not go on. */
    CHECK_INT(join(ledger, "a"), a);
    CHECK_INT(ledger_finish(ledger, &head, 1, 10, NULL), LEDGER_LATE);
    CHECK_INT(ledger_finish(ledger, &head, 1, 10, NULL), LEDGER_IGNORED);
    struct ledger_lease taken;
    enum ledger_verdict verdict;
    CHECK(ledger_take(ledger, 10, &taken, &verdict));
    CHECK_INT(taken.lease, again.lease);
    CHECK_INT(taken.worker, b);
    CHECK_INT(verdict, LEDGER_IGNORED);
    CHECK_INT(ledger_finish(ledger, &again, 1, 10, NULL), LEDGER_IGNORED);
    CHECK_INT(ledger_counts(ledger)->batches.done, 1);
    ledger_free(ledger);
}

static void test_a_lease_that_outlives_its_time_goes_to_another(void) {
    struct ledger *ledger = new_ledger(3, 1, 2);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0), taken;
    struct ledger_lease ahead = grant(ledger, 0, a, 1);
    enum ledger_verdict verdict;
    CHECK_INT(ledger_deadline_ms(ledger), 1000);
    CHECK(!ledger_take(ledger, 999, &taken, &verdict));
    CHECK(ledger_take(ledger, 1000, &taken, &verdict));
    CHECK_INT(taken.lease, head.lease);
    CHECK_INT(verdict, LEDGER_RETRY);
    CHECK(ledger_take(ledger, 1000, &taken, &verdict)); /* what lay ahead goes, too */
    CHECK_INT(taken.lease, ahead.lease);
    CHECK_INT(ledger_deadline_ms(ledger), -1);
    check_no_grant(ledger); /* a is stuck */
    int b = join(ledger, "b");
    grant(ledger, 1000, b, 0);
    CHECK_INT(ledger_fail(ledger, &head, "cancelled", 1500, NULL), LEDGER_IGNORED);
    grant(ledger, 1500, a, 1); /* a is back */
    CHECK(ledger_take(ledger, 2000, &taken, &verdict));
    CHECK_INT(verdict, LEDGER_FAILED);
    CHECK_INT(taken.batch, 0);
    size_t count = 0;
    const struct ledger_failure *failures = ledger_failures(ledger, &count);
    CHECK_INT(count, 1);
    CHECK_INT(failures[0].tries, 2);
    CHECK_INT(failures[0].worker, b);
    CHECK_STR(failures[0].cause, "no result within 1 s");
    ledger_free(ledger);
}

static void test_the_clock_of_the_second_lease_starts_with_it(void) {
    struct ledger *ledger = new_ledger(3, 1, 2);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0);
    grant(ledger, 0, a, 1);
    CHECK_INT(ledger_finish(ledger, &head, 1, 900, NULL), LEDGER_DONE);
    CHECK_INT(ledger_deadline_ms(ledger), 1900);
    ledger_free(ledger);
}

static void test_errors_count_and_wrong_numbers_are_errors(void) {
    struct ledger *ledger = new_ledger(8, 8, 2);
    int a = join(ledger, "a");
    struct ledger_lease lease = grant(ledger, 0, a, 0);
    CHECK_INT(ledger_fail(ledger, &lease, "no such frame", 0, NULL), LEDGER_RETRY);
    lease = grant(ledger, 0, a, 0);
    CHECK_INT(lease.try, 2);
    CHECK_INT(ledger_finish(ledger, &lease, 7, 0, NULL), LEDGER_FAILED);
    size_t count = 0;
    CHECK_STR(ledger_failures(ledger, &count)[0].cause, "its worker made 7 results of 8 items");
    CHECK(ledger_is_done(ledger));
    CHECK_INT(ledger_counts(ledger)->items.failed, 8);
    CHECK_INT(ledger_counts(ledger)->items.retried, 8);
    ledger_free(ledger);
}

static void test_a_batch_that_kills_its_workers_fails(void) {
    struct ledger *ledger = new_ledger(1, 1, 3);
    for (int i = 0; i < LEDGER_LOSSES_MAX; i++) {
        CHECK(!ledger_is_done(ledger));
        int a = join(ledger, "a");
        grant(ledger, 0, a, 0);
        ledger_leave(ledger, a);
    }
    CHECK(ledger_is_done(ledger));
    CHECK_INT(ledger_counts(ledger)->batches.failed, 1);
    ledger_free(ledger);
}

static void test_a_name_that_is_present_is_refused(void) {
    struct error err = {0};
    struct ledger *ledger = new_ledger(1, 1, 3);
    int worker = join(ledger, "a");
    CHECK_INT(ledger_join(ledger, "a", &worker, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    ledger_free(ledger);
}

/* A world of workers that die, hang, lie, repeat themselves and answer late; the model beside it
 * keeps what must be true. */
enum { WORLD_WORKERS = 12, WORLD_BATCHES = 400, WORLD_MEMORY = 4096 };

struct world {
    uint64_t random;
    struct ledger *ledger;
    int64_t now_ms;
    bool present[WORLD_WORKERS];
    struct ledger_lease held[WORLD_WORKERS][LEDGER_LEASES]; /* as the workers know it */
    int held_count[WORLD_WORKERS];
    int ended[WORLD_BATCHES];
    struct ledger_lease memory[WORLD_MEMORY]; /* leases ever given, for late words and lies */
    size_t memory_count;
};

static uint64_t dice(struct world *world, uint64_t sides) {
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random % sides;
}

static void world_forget(struct world *world, int worker, int64_t lease) {
    for (int i = 0; i < world->held_count[worker]; i++) {
        if (world->held[worker][i].lease == lease) {
            world->held[worker][i] = world->held[worker][world->held_count[worker] - 1];
            if (i == 0 && world->held_count[worker] == 2) {
                world->held[worker][0] = world->held[worker][1];
            }
            world->held_count[worker]--;
            return;
        }
    }
}

static void world_verdict(struct world *world, enum ledger_verdict verdict, int64_t batch) {
    if (verdict == LEDGER_DONE || verdict == LEDGER_LATE || verdict == LEDGER_FAILED) {
        world->ended[batch]++;
        CHECK_INT(world->ended[batch], 1);
    }
}

static void world_report(struct world *world, const struct ledger_lease *lease) {
    int64_t batch = -1, items = ledger_batch_items(world->ledger, lease->batch);
    uint64_t how = dice(world, 20);
    enum ledger_verdict verdict =
        how < 2 ? ledger_fail(world->ledger, lease, "an error", world->now_ms, &batch)
                : ledger_finish(world->ledger, lease, how == 2 ? items + 1 : items, world->now_ms,
                                &batch);
    world_verdict(world, verdict, batch);
    world_forget(world, lease->worker, lease->lease);
}

static void world_settle(struct world *world) {
    struct ledger_lease lease;
    enum ledger_verdict verdict;
    while (ledger_take(world->ledger, world->now_ms, &lease, &verdict)) {
        world_verdict(world, verdict, lease.batch);
        world_forget(world, lease.worker, lease.lease);
    }
    while (ledger_grant(world->ledger, world->now_ms, &lease)) {
        CHECK(world->present[lease.worker]);
        CHECK_INT(world->ended[lease.batch], 0);
        CHECK(world->held_count[lease.worker] < LEDGER_LEASES);
        world->held[lease.worker][world->held_count[lease.worker]++] = lease;
        world->memory[world->memory_count++ % WORLD_MEMORY] = lease;
    }
    int64_t leased = 0;
    for (int i = 0; i < WORLD_WORKERS; i++) {
        leased += world->held_count[i];
    }
    CHECK_INT(ledger_counts(world->ledger)->leased, leased);
}

static void world_step(struct world *world) {
    int worker = (int)dice(world, WORLD_WORKERS);
    world->now_ms += (int64_t)dice(world, 60);
    uint64_t what = dice(world, 100);
    if (!world->present[worker]) {
        char name[32];
        snprintf(name, sizeof name, "worker-%d", worker);
        CHECK_INT(join(world->ledger, name), worker);
        world->present[worker] = true;
    } else if (what < 3) {
        int64_t failed_before = ledger_counts(world->ledger)->batches.failed;
        struct ledger_lease head = world->held[worker][0];
        bool had = world->held_count[worker] > 0;
        ledger_leave(world->ledger, worker);
        if (had && ledger_counts(world->ledger)->batches.failed > failed_before) {
            world_verdict(world, LEDGER_FAILED, head.batch);
        }
        world->present[worker] = false;
        world->held_count[worker] = 0;
    } else if (what < 8 && world->memory_count) {
        /* any old lease, said by its worker if that is here: late, double, or still good */
        size_t known = MIN(world->memory_count, (size_t)WORLD_MEMORY);
        struct ledger_lease old = world->memory[dice(world, known)];
        if (world->present[old.worker]) {
            world_report(world, &old);
        }
    } else if (what < 10) {
        struct ledger_lease lie = {.worker = worker, .lease = (int64_t)dice(world, 5000)};
        bool own = false;
        for (size_t i = 0; i < MIN(world->memory_count, (size_t)WORLD_MEMORY); i++) {
            own = own || (world->memory[i].worker == worker && world->memory[i].lease == lie.lease);
        }
        if (!own) {
            CHECK_INT(ledger_finish(world->ledger, &lie, 1, world->now_ms, NULL), LEDGER_IGNORED);
        }
    } else if (what < 60 && world->held_count[worker]) {
        struct ledger_lease head = world->held[worker][0];
        world_report(world, &head);
    }
    world_settle(world);
}

static void test_every_batch_ends_exactly_once(void) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world *world = x_calloc(1, sizeof *world);
        world->random = seed * 0x9E3779B97F4A7C15u;
        int64_t items = (WORLD_BATCHES - 1) * 3 + 1 + (int64_t)(seed % 3);
        world->ledger = new_ledger(items, 3, 1 + (int)(seed % 4));
        for (int i = 0; i < WORLD_WORKERS; i++) { /* so that an index is a name */
            char name[32];
            snprintf(name, sizeof name, "worker-%d", i);
            CHECK_INT(join(world->ledger, name), i);
            world->present[i] = true;
        }
        int steps = 0;
        while (!ledger_is_done(world->ledger) && ++steps < 1000000) {
            world_step(world);
        }
        const struct ledger_counts *counts = ledger_counts(world->ledger);
        CHECK(ledger_is_done(world->ledger));
        CHECK_INT(counts->leased, 0);
        CHECK_INT(counts->items.done + counts->items.failed, items);
        for (int i = 0; i < WORLD_BATCHES; i++) {
            CHECK_INT(world->ended[i], 1);
        }
        size_t failures = 0;
        ledger_failures(world->ledger, &failures);
        CHECK_INT(failures, MIN(counts->batches.failed, LEDGER_FAILURES_MAX));
        ledger_free(world->ledger);
        free(world);
        if (test_failures) {
            printf("# seed %llu\n", (unsigned long long)seed);
            return;
        }
    }
}

/* Workers of one speed walk along the input: nearly every lease is the neighbour of the last. */
static void test_workers_walk_along_the_input(void) {
    enum { BATCHES = 400, WORKERS = 4 };
    struct ledger *ledger = new_ledger(BATCHES, 1, 3);
    int64_t last[WORKERS] = {-1, -1, -1, -1};
    int jumps = 0;
    for (int i = 0; i < WORKERS; i++) {
        join(ledger, (char[]){(char)('a' + i), 0});
    }
    struct ledger_lease lease;
    while (ledger_grant(ledger, 0, &lease)) {
        jumps += lease.batch != last[lease.worker] + 1;
        last[lease.worker] = lease.batch;
        CHECK_INT(ledger_finish(ledger, &lease, 1, 0, NULL), LEDGER_DONE);
    }
    CHECK(ledger_is_done(ledger));
    CHECK(jumps <= BATCHES / 8); /* dealt in turn they would be 400 */
    ledger_free(ledger);
}

/* One that came, took the most and stopped: the other one does what it left, and waits for no
 * mini-batch but those that were leased. */
static void test_nothing_waits_in_the_stretch_of_another(void) {
    enum { BATCHES = 100 };
    struct ledger *ledger = new_ledger(BATCHES, 1, 3);
    int slow = join(ledger, "slow");
    grant(ledger, 0, slow, 0);
    grant(ledger, 0, slow, 1);
    join(ledger, "quick");
    int64_t done = 0;
    for (struct ledger_lease lease; ledger_grant(ledger, 0, &lease); done++) {
        CHECK(lease.worker != slow);
        CHECK_INT(ledger_finish(ledger, &lease, 1, 0, NULL), LEDGER_DONE);
    }
    CHECK_INT(done, BATCHES - 2);
    ledger_free(ledger);
}

static void test_a_million_batches_are_quick_and_small(void) {
    enum { BATCHES = 1000000, WORKERS = 1000 };
    struct ledger *ledger = new_ledger(BATCHES, 1, 3);
    struct ledger_lease *leases = x_calloc(2 * WORKERS, sizeof *leases);
    clock_t start = clock();
    for (int i = 0; i < WORKERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "w%d", i);
        join(ledger, name);
    }
    size_t granted = 0, finished = 0; /* leases is a ring: the oldest is finished first */
    while (!ledger_is_done(ledger)) {
        while (ledger_grant(ledger, (int64_t)finished, &leases[granted % (2 * WORKERS)])) {
            granted++;
        }
        const struct ledger_lease *lease = &leases[finished % (2 * WORKERS)];
        ledger_finish(ledger, lease, 1, (int64_t)finished++, NULL);
        struct ledger_lease taken;
        enum ledger_verdict verdict;
        while (ledger_take(ledger, 0, &taken, &verdict)) {
        }
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("# %d mini-batches, %d workers: %.2f s, %ld MB\n", BATCHES, WORKERS, seconds,
           usage.ru_maxrss / 1024);
    CHECK_INT(ledger_counts(ledger)->batches.done, BATCHES);
    CHECK(seconds < 10);
    free(leases);
    ledger_free(ledger);
}

int main(void) {
    TEST(test_uneven_splits_lose_nothing);
    TEST(test_a_worker_holds_two_and_idle_ones_come_first);
    TEST(test_a_lost_worker_costs_one_retry);
    TEST(test_a_lease_that_outlives_its_time_goes_to_another);
    TEST(test_the_clock_of_the_second_lease_starts_with_it);
    TEST(test_errors_count_and_wrong_numbers_are_errors);
    TEST(test_a_batch_that_kills_its_workers_fails);
    TEST(test_a_name_that_is_present_is_refused);
    TEST(test_every_batch_ends_exactly_once);
    TEST(test_workers_walk_along_the_input);
    TEST(test_nothing_waits_in_the_stretch_of_another);
    TEST(test_a_million_batches_are_quick_and_small);
    return TEST_END();
}
