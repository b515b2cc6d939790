// SPDX-License-Identifier: Apache-2.0
/* The course of a job: its slow end, sizes of leases, the ranges of slots, memory and time. */
#include "tests/unit/agent/score/ledger/ledgers.h"

#include <malloc.h>
#include <stdlib.h>
#include <time.h>

/* ---- the end of a job ----------------------------------------------------------------------- */

static void test_a_slow_last_lease_runs_twice(void) {
    struct ledger_options options = plain;
    options.ahead_max = 0;
    struct ledger *ledger = new_ledger(options, 12);
    int a = join(ledger, "a"), b = join_with(ledger, "b", 2);
    struct ledger_lease slow = grant(ledger, 0, a, 0);
    int64_t now_ms = 0;
    for (struct ledger_lease lease; ledger_read_counts(ledger).cells.done < 11;) {
        CHECK(ledger_next_lease(ledger, now_ms, &lease));
        CHECK_INT(lease.worker, b);
        now_ms += 700;
        CHECK_INT(finish(ledger, &lease, 1, 0, now_ms), LEDGER_DONE);
    }
    /* 0.7 s is usual; a's lease is older than twice that, and the idle slots are b's. */
    struct ledger_lease second = grant(ledger, now_ms, b, 0);
    CHECK(second.is_second);
    CHECK_INT(ledger_read_counts(ledger).leased, 1);
    check_no_grant(ledger, now_ms + 50000); /* not a third time */
    CHECK_INT(fail(ledger, &slow, LEDGER_SCORER, "crash", now_ms), LEDGER_RETRY);
    struct ledger_lease third = grant(ledger, now_ms + 50000, a, 0); /* now alone again */
    CHECK_INT(third.try, 2);
    CHECK_INT(finish(ledger, &third, 1, 0, now_ms), LEDGER_DONE);
    check_taken(ledger, now_ms, &second, LEDGER_IGNORED);
    CHECK_INT(finish(ledger, &second, 1, 0, now_ms), LEDGER_IGNORED);
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).cells.done, 12);
    ledger_free(ledger);
}

/* Second runs that cost money: one for a hundred mini-batches, but a few of a small job, too. */
static void test_second_runs_may_be_few(void) {
    enum { SLOW = LEDGER_SECOND_RUNS_MIN + 2, QUICK = 90 };
    struct ledger_options options = plain;
    options.ahead_max = 0;
    options.cells_for_second_run = 100;
    struct ledger *ledger = new_ledger(options, SLOW + QUICK);
    int a = join_with(ledger, "a", SLOW), b = join_with(ledger, "b", SLOW), count = 0;
    struct ledger_lease lease, slow[SLOW];
    for (int given = 0; given < SLOW + QUICK; given++) {
        CHECK(ledger_next_lease(ledger, 0, &lease));
        if (lease.worker == a) {
            slow[count++] = lease;
        } else {
            CHECK_INT(finish(ledger, &lease, 1, 0, 10), LEDGER_DONE);
        }
    }
    CHECK_INT(count, SLOW);
    for (int i = 0; i < LEDGER_SECOND_RUNS_MIN; i++) {
        CHECK(grant(ledger, 2 * LEDGER_SLOW_MS, b, slow[i].first).is_second);
    }
    check_no_grant(ledger, 60000);
    CHECK(ledger_deadline_ms(ledger) >= plain.timeout_ms); /* it does not wait for another one */
    ledger_free(ledger);
}

/* Of a model server: where one answer in a hundred takes 5 s, one of 3 s is not slow, though that
 * is thirty times the median. */
static void test_only_the_slowest_answers_are_asked_for_twice(void) {
    struct ledger_options options = plain;
    options.ahead_max = 0;
    struct ledger *ledger = new_ledger(options, 12);
    int a = join(ledger, "a"), b = join(ledger, "b");
    grant(ledger, 0, a, 0);
    int64_t now_ms = 0;
    while (ledger_read_counts(ledger).cells.done < 11) {
        struct ledger_lease lease = grant(ledger, now_ms, b, 1 + now_ms / 100);
        now_ms += 100;
        CHECK_INT(finish(ledger, &lease, 1, 0, now_ms), LEDGER_DONE);
    }
    ledger_note_latency(ledger, 5000);
    check_no_grant(ledger, 3000);
    CHECK_INT(ledger_deadline_ms(ledger), 5000);
    CHECK(grant(ledger, 5000, b, 0).is_second);
    ledger_free(ledger);
}

/* A mini-batch that fails in each of its slow tries ends, though there is always an idle worker for
 * a second run of it. */
static void test_slow_tries_that_fail_come_to_an_end(void) {
    for (int fault = LEDGER_SCORER; fault <= LEDGER_MACHINE; fault++) {
        struct ledger *ledger = new_ledger(plain, 2);
        int64_t now_ms = 0;
        int count = 0;
        join(ledger, "a");
        join(ledger, "b");
        struct ledger_lease leases[2], quick;
        CHECK(ledger_next_lease(ledger, 0, &leases[0]));
        CHECK(ledger_next_lease(ledger, 0, &quick));
        CHECK_INT(finish(ledger, &quick, 1, 0, 1), LEDGER_DONE);
        for (int running = 1; running > 0 && count < 100; count++) {
            now_ms += 2 * LEDGER_SLOW_MS;
            while (running < 2 && ledger_next_lease(ledger, now_ms, &leases[running])) {
                running++;
            }
            fail(ledger, &leases[0], (enum ledger_fault)fault, "no", now_ms);
            leases[0] = leases[1];
            running -= 1;
            while (running < 2 && ledger_next_lease(ledger, now_ms, &leases[running])) {
                running++;
            }
        }
        CHECK(ledger_is_accounted(ledger));
        CHECK(count <= (fault == LEDGER_SCORER ? 4 : LEDGER_LOSSES_MAX + 1));
        ledger_free(ledger);
    }
}

/* What would fail again alike is not waited for. */
static void test_a_final_failure_ends_both_runs(void) {
    struct ledger *ledger = new_ledger(plain, 2);
    int a = join(ledger, "a"), b = join(ledger, "b");
    struct ledger_lease first = grant(ledger, 0, a, 0), quick = grant(ledger, 0, b, 1);
    CHECK_INT(finish(ledger, &quick, 1, 0, 1), LEDGER_DONE);
    struct ledger_lease second = grant(ledger, 2 * LEDGER_SLOW_MS, b, 0);
    CHECK(second.is_second);
    const struct ledger_report report = {.worker = a,
                                         .lease = first.lease,
                                         .items = 1,
                                         .failed = 1,
                                         .is_final = true,
                                         .took_us = -1};
    CHECK_INT(ledger_take_report(ledger, &report, 2 * LEDGER_SLOW_MS, NULL), LEDGER_FAILED);
    check_taken(ledger, 2 * LEDGER_SLOW_MS, &second, LEDGER_IGNORED);
    CHECK(ledger_is_accounted(ledger));
    ledger_free(ledger);
}

/* The results of a last try are not given up for those that a second run may have. */
static void test_a_last_try_that_is_good_in_part_counts(void) {
    struct ledger_options options = plain;
    options.cell_items = 100;
    options.max_tries = 2;
    struct ledger *ledger = new_ledger(options, 2);
    int a = join(ledger, "a"), b = join(ledger, "b");
    struct ledger_lease first = grant(ledger, 0, a, 0), quick = grant(ledger, 0, b, 1);
    CHECK_INT(finish(ledger, &quick, 100, 0, 1), LEDGER_DONE);
    int64_t now_ms = 2 * LEDGER_SLOW_MS;
    struct ledger_lease second = grant(ledger, now_ms, b, 0);
    CHECK_INT(finish(ledger, &first, 100, 1, now_ms),
              LEDGER_RETRY); /* the other one may be complete */
    now_ms += 2 * LEDGER_SLOW_MS;
    struct ledger_lease third = grant(ledger, now_ms, a, 0);
    CHECK_INT(third.try, 2);
    CHECK_INT(finish(ledger, &second, 100, 1, now_ms), LEDGER_PARTIAL);
    check_taken(ledger, now_ms, &third, LEDGER_IGNORED);
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.failed, 1);
    CHECK_INT(ledger_read_counts(ledger).items.done, 199);
    ledger_free(ledger);
}

/* Both runs of a lease of many cells, one after the other. */
static struct ledger *pair_of_many(struct ledger_lease ret_leases[static 2], int64_t *now_ms) {
    struct ledger_options options = plain;
    options.is_auto = true;
    options.timeout_ms = 600000;
    struct ledger *ledger = new_ledger(options, 40000);
    join(ledger, "a");
    struct ledger_lease lease;
    while (ledger_next_lease(ledger, *now_ms, &lease) && lease.first + lease.cells < 40000) {
        *now_ms += 20 + lease.cells;
        struct ledger_report report = {.worker = lease.worker,
                                       .lease = lease.lease,
                                       .items = lease.cells,
                                       .took_us = (20 + lease.cells) * 1000};
        CHECK_INT(ledger_take_report(ledger, &report, *now_ms, NULL), LEDGER_DONE);
    }
    join(ledger, "b");
    *now_ms += 2 * LEDGER_SLOW_MS;
    CHECK(lease.cells > 1 && ledger_next_lease(ledger, *now_ms, &ret_leases[1]));
    CHECK(ret_leases[1].is_second && ret_leases[1].cells == lease.cells);
    ret_leases[0] = lease;
    return ledger;
}

static void test_many_cells_run_twice_again_when_a_machine_is_lost(void) {
    struct ledger_lease leases[2], again;
    int64_t now_ms = 0;
    int runs = 1;
    struct ledger *ledger = pair_of_many(leases, &now_ms);
    for (; runs < 100; runs++) { /* of a lease that kills each machine, not without end */
        CHECK_INT(fail(ledger, &leases[1], LEDGER_MACHINE, "lost", now_ms), LEDGER_RETRY);
        if (!ledger_next_lease(ledger, now_ms, &leases[1])) {
            break;
        }
        CHECK(leases[1].is_second);
    }
    CHECK_INT(runs, LEDGER_LOSSES_MAX);
    CHECK_INT(finish(ledger, &leases[0], leases[0].cells, 0, now_ms), LEDGER_DONE);
    CHECK(ledger_is_accounted(ledger));
    ledger_free(ledger);
    /* A scorer that fails gets no second run while the first one goes on; the cells are halved
     * when that ends, too. */
    now_ms = 0;
    ledger = pair_of_many(leases, &now_ms);
    CHECK_INT(fail(ledger, &leases[1], LEDGER_SCORER, "no", now_ms), LEDGER_RETRY);
    check_no_grant(ledger, now_ms + 50000);
    CHECK_INT(fail(ledger, &leases[0], LEDGER_SCORER, "no", now_ms), LEDGER_RETRY);
    CHECK(ledger_next_lease(ledger, now_ms, &again) && !again.is_second);
    CHECK(again.cells < leases[0].cells);
    ledger_free(ledger);
}

/* A lease waiting ahead of a busy slot goes to an idle one after a second. */
static void test_nothing_waits_behind_a_slow_head(void) {
    struct ledger *ledger = new_ledger(plain, 3);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0), ahead = grant(ledger, 0, a, 1);
    int b = join(ledger, "b");
    struct ledger_lease last = grant(ledger, 0, b, 2);
    CHECK_INT(finish(ledger, &last, 1, 0, 900), LEDGER_DONE);
    struct ledger_revoked taken;
    CHECK(!ledger_next_revoked(ledger, 999, &taken));
    check_no_grant(ledger, 999);
    CHECK_INT(ledger_deadline_ms(ledger), 1000);
    check_taken(ledger, 1000, &ahead, LEDGER_IGNORED);
    ahead = grant(ledger, 1000, b, 1);
    CHECK(!ahead.is_second);
    CHECK_INT(finish(ledger, &ahead, 1, 0, 1500), LEDGER_DONE);
    CHECK_INT(finish(ledger, &head, 1, 0, 1500), LEDGER_DONE);
    CHECK(ledger_is_accounted(ledger));
    ledger_free(ledger);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* A program with 20 ms of start-up and 1 ms an item: 20 / (0.02 * 1) = 1,000 items a lease. */
static void test_sizes_follow_the_costs(void) {
    struct ledger_options options = plain;
    options.is_auto = true;
    options.timeout_ms = 600000;
    enum { CELLS = 200000 };
    struct ledger *ledger = new_ledger(options, CELLS);
    join(ledger, "a");
    join(ledger, "b");
    int64_t now_ms = 0, largest = 0, last = 0, leases = 0;
    for (struct ledger_lease lease; ledger_next_lease(ledger, now_ms, &lease); leases++) {
        int64_t took_ms = 20 + lease.cells;
        now_ms += took_ms;
        largest = MAX(largest, lease.cells);
        last = lease.cells;
        struct ledger_report report = {.worker = lease.worker,
                                       .lease = lease.lease,
                                       .items = lease.cells,
                                       .took_us = took_ms * 1000};
        CHECK_INT(ledger_take_report(ledger, &report, now_ms, NULL), LEDGER_DONE);
    }
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.done, CELLS);
    CHECK(largest >= 950 && largest <= 1024);
    CHECK(last <= 40); /* they shrink towards the end, down to two start-ups */
    CHECK(leases < 240);
    ledger_free(ledger);
}

/* A program that ends after each answer: a lease costs its start, 500 ms. If this happens only
 * once, in the middle of others, it does not count. */
static void test_who_is_started_anew_for_each_gets_large_ones(void) {
    for (int starts_each = 0; starts_each < 2; starts_each++) {
        struct ledger_options options = plain;
        options.is_auto = true;
        options.timeout_ms = options.wait_ms = 600000;
        struct ledger *ledger = new_ledger(options, 200000);
        int a = join(ledger, "a");
        int64_t now_ms = 0, largest = 0;
        struct ledger_lease lease;
        for (int i = 0; i < 40 && ledger_next_lease(ledger, now_ms, &lease); i++) {
            bool starts = i > 0 && (starts_each || i == 12);
            if (starts) {
                ledger_set_ready(ledger, a, lease.lease, false, now_ms);
                now_ms += 500;
                ledger_set_ready(ledger, a, lease.lease, true, now_ms);
            }
            now_ms += 2 + lease.cells;
            largest = MAX(largest, lease.cells);
            struct ledger_report report = {.worker = a,
                                           .lease = lease.lease,
                                           .items = lease.cells,
                                           .took_us = (2 + lease.cells + 500 * starts) * 1000};
            CHECK_INT(ledger_take_report(ledger, &report, now_ms, NULL), LEDGER_DONE);
        }
        CHECK(starts_each ? largest > 5000 : largest >= 90 && largest <= 256);
        ledger_free(ledger);
    }
}

/* A lease never takes a quarter of the time-out; and a bad item fails alone. */
static void test_a_bad_item_is_found_by_halves(void) {
    struct ledger_options options = plain;
    options.is_auto = true;
    options.timeout_ms = 4000;
    options.max_tries = 2;
    struct ledger *ledger = new_ledger(options, 5000);
    join(ledger, "a");
    int64_t now_ms = 0, bad = 3333, leases = 0;
    int32_t largest = 0;
    for (struct ledger_lease lease; ledger_next_lease(ledger, now_ms, &lease); leases++) {
        bool has_bad = lease.first <= bad && bad < lease.first + lease.cells;
        largest = MAX(largest, lease.cells);
        now_ms += 100 + 5 * lease.cells;
        enum ledger_decision decision = finish(ledger, &lease, lease.cells, has_bad, now_ms);
        CHECK(has_bad || decision == LEDGER_DONE);
        CHECK(!has_bad || lease.cells > 1 ||
              decision == (lease.try == 2 ? LEDGER_FAILED : LEDGER_RETRY));
    }
    CHECK(largest > 100 && largest <= 200); /* 1 s of 5 ms each */
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.failed, 1);
    CHECK_INT(ledger_read_counts(ledger).items.done, 4999);
    size_t count = 0;
    CHECK_INT(ledger_failures(ledger, &count)[0].cell, bad);
    CHECK_INT(count, 1);
    ledger_free(ledger);
}

/* ---- partition, speed, memory --------------------------------------------------------------- */

/* Slots of one speed walk along the input: nearly every lease is adjacent to the last. */
static void test_slots_walk_along_the_input(void) {
    enum { CELLS = 400, WORKERS = 4 };
    struct ledger_options options = plain;
    options.is_partitioned = true;
    struct ledger *ledger = new_ledger(options, CELLS);
    int64_t last[WORKERS] = {-1, -1, -1, -1};
    int jumps = 0;
    for (int i = 0; i < WORKERS; i++) {
        join(ledger, (char[]){(char)('a' + i), 0});
    }
    for (struct ledger_lease lease; ledger_next_lease(ledger, 0, &lease);) {
        jumps += lease.first != last[lease.worker] + 1;
        last[lease.worker] = lease.first;
        CHECK_INT(finish(ledger, &lease, 1, 0, 0), LEDGER_DONE);
    }
    CHECK(ledger_is_accounted(ledger));
    CHECK(jumps <= CELLS / 8); /* in round-robin there would be 400 */
    ledger_free(ledger);
}

/* A slot that joined, took the largest share and stopped: the other one does the rest, and waits
 * only for what was leased. */
static void test_nothing_waits_in_the_range_of_another(void) {
    enum { CELLS = 100 };
    struct ledger_options options = plain;
    options.is_partitioned = true;
    struct ledger *ledger = new_ledger(options, CELLS);
    int slow = join(ledger, "slow");
    grant(ledger, 0, slow, 0);
    grant(ledger, 0, slow, 1);
    join(ledger, "quick");
    int64_t done = 0;
    for (struct ledger_lease lease; ledger_next_lease(ledger, 0, &lease); done++) {
        CHECK(lease.worker != slow);
        CHECK_INT(finish(ledger, &lease, 1, 0, 0), LEDGER_DONE);
    }
    CHECK_INT(done, CELLS - 2);
    ledger_free(ledger);
}

/* Returns 0 under a sanitizer. */
static int64_t allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

static void test_a_million_cells_are_quick_and_small(void) {
    enum { CELLS = 1000000, WORKERS = 1000 };
    int64_t before = allocated();
    struct ledger *ledger = new_ledger(plain, CELLS);
    struct ledger_lease *leases = x_calloc(2 * WORKERS, sizeof *leases);
    clock_t start = clock();
    for (int i = 0; i < WORKERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "w%d", i);
        join(ledger, name);
    }
    size_t granted = 0, finished = 0; /* leases is a ring: the oldest is finished first */
    while (!ledger_is_accounted(ledger)) {
        while (ledger_next_lease(ledger, (int64_t)finished, &leases[granted % (2 * WORKERS)])) {
            granted++;
        }
        const struct ledger_lease *lease = &leases[finished % (2 * WORKERS)];
        finish(ledger, lease, 1, 0, (int64_t)finished);
        finished++;
        struct ledger_revoked taken;
        while (ledger_next_revoked(ledger, 0, &taken)) {
        }
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    int64_t bytes = allocated() - before - (int64_t)(2 * WORKERS * sizeof *leases);
    printf("# %d cells, %d workers: %.2f s, %.2f bytes a cell\n", CELLS, WORKERS, seconds,
           (double)bytes / CELLS);
    CHECK_INT(ledger_read_counts(ledger).cells.done, CELLS);
    CHECK(bytes <= 12 * CELLS + (1 << 20)); /* workers, slots, leases: 1 MB */
    CHECK(seconds < 10);
    free(leases);
    ledger_free(ledger);
}

int main(void) {
    TEST(test_a_slow_last_lease_runs_twice);
    TEST(test_second_runs_may_be_few);
    TEST(test_only_the_slowest_answers_are_asked_for_twice);
    TEST(test_slow_tries_that_fail_come_to_an_end);
    TEST(test_a_final_failure_ends_both_runs);
    TEST(test_a_last_try_that_is_good_in_part_counts);
    TEST(test_many_cells_run_twice_again_when_a_machine_is_lost);
    TEST(test_nothing_waits_behind_a_slow_head);
    TEST(test_sizes_follow_the_costs);
    TEST(test_who_is_started_anew_for_each_gets_large_ones);
    TEST(test_a_bad_item_is_found_by_halves);
    TEST(test_slots_walk_along_the_input);
    TEST(test_nothing_waits_in_the_range_of_another);
    TEST(test_a_million_cells_are_quick_and_small);
    return TEST_END();
}
