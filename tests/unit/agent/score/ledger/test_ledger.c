// SPDX-License-Identifier: Apache-2.0
/* Leases, faults, thresholds, commits, one by one; test_ledger_model.c combines them. */
#include "tests/unit/agent/score/ledger/ledgers.h"

/* ---- leases --------------------------------------------------------------------------------- */

static void test_the_last_cell_may_have_fewer_items(void) {
    struct error err = {0};
    struct ledger_options options = plain;
    options.cell_items = 5;
    struct ledger *ledger = ledger_new(&options);
    CHECK_OK(ledger_extend(ledger, 2, 10, false, &err), &err);
    CHECK(!ledger_is_accounted(ledger));
    CHECK_OK(ledger_extend(ledger, 2, 7, true, &err), &err);
    join(ledger, "a");
    for (int i = 0; i < 4; i++) {
        struct ledger_lease lease;
        CHECK(ledger_next_lease(ledger, 0, &lease));
        CHECK_INT(lease.items, i < 3 ? 5 : 2);
        CHECK_INT(finish(ledger, &lease, lease.items, 0, 0), LEDGER_DONE);
    }
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.done, 17);
    CHECK_INT(ledger_read_counts(ledger).items.total, 17);
    CHECK(!ledger_is_committed(ledger));
    ledger_committed(ledger, 0, 4);
    CHECK(ledger_is_committed(ledger));
    ledger_free(ledger);
}

static void test_idle_slots_come_first_and_one_ahead_is_fair(void) {
    struct ledger *ledger = new_ledger(plain, 5);
    int a = join(ledger, "a");
    grant(ledger, 0, a, 0);
    grant(ledger, 0, a, 1);
    check_no_grant(ledger, 0);
    int b = join(ledger, "b");
    struct ledger_lease lease = grant(ledger, 0, b, 2);
    grant(ledger, 0, b, 3); /* two wait for two slots */
    check_no_grant(ledger, 0);
    CHECK_INT(finish(ledger, &lease, 1, 0, 0), LEDGER_DONE);
    check_no_grant(ledger, 0); /* b still has one; the last is left for an idle slot */
    ledger_free(ledger);
}

static void test_slots_of_a_worker_work_side_by_side(void) {
    struct error err = {0};
    struct ledger_options options = plain;
    options.ahead_max = 0;
    struct ledger *ledger = new_ledger(options, 10);
    int a = join_with(ledger, "a", 3), ignored;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(grant(ledger, 0, a, i).slot, i);
    }
    check_no_grant(ledger, 0);
    CHECK_INT(ledger_read_counts(ledger).slots, 3);
    ledger_leave(ledger, a);
    CHECK_INT(ledger_read_counts(ledger).cells.retried, 3); /* three heads were lost */
    CHECK_INT(join_with(ledger, "a", 5), a);                /* it comes back with more */
    CHECK_INT(ledger_read_counts(ledger).slots, 5);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(grant(ledger, 0, a, i).slot, i);
    }
    check_no_grant(ledger, 0);
    CHECK_INT(ledger_join(ledger, "a", 1, &ignored, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    CHECK_INT(ledger_join(ledger, "b", 0, &ignored, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    ledger_free(ledger);
}

static void test_leases_ahead_last_fifty_milliseconds(void) {
    struct ledger_options options = plain;
    options.ahead_max = LEDGER_AHEAD_MAX;
    struct ledger *ledger = new_ledger(options, 1000000);
    int a = join(ledger, "a");
    CHECK_INT(ledger_ahead(ledger, a, 0), 1);
    struct ledger_lease leases[2];
    for (int i = 0; i < 2000; i++) { /* each takes 10 ms */
        CHECK(i > 0 || ledger_next_lease(ledger, 0, &leases[0]));
        CHECK(ledger_next_lease(ledger, i * 10, &leases[(i + 1) % 2]));
        CHECK_INT(finish(ledger, &leases[i % 2], 1, 0, (i + 1) * 10), LEDGER_DONE);
    }
    CHECK(ledger_ahead(ledger, a, 0) >= 4 && ledger_ahead(ledger, a, 0) <= 5);
    int granted = 0;
    for (struct ledger_lease lease; ledger_next_lease(ledger, 20000, &lease);) {
        granted++;
    }
    CHECK_INT(granted, ledger_ahead(ledger, a, 0)); /* including the one that it has */
    ledger_free(ledger);
}

/* ---- faults --------------------------------------------------------------------------------- */

static void test_a_lost_worker_costs_one_retry(void) {
    struct ledger_options options = plain;
    options.max_tries = 1;
    struct ledger *ledger = new_ledger(options, 4);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0), ahead = grant(ledger, 0, a, 1);
    ledger_leave(ledger, a);
    check_taken(ledger, 0, &head, LEDGER_RETRY); /* a record must report it */
    struct ledger_revoked none;
    CHECK(!ledger_next_revoked(ledger, 0, &none)); /* leases ahead had not begun */
    CHECK_INT(ledger_read_counts(ledger).cells.retried, 1);
    CHECK_INT(ledger_read_counts(ledger).cells.failed, 0); /* although maxTries is 1 */
    CHECK_INT(ledger_read_counts(ledger).leased, 0);
    check_no_grant(ledger, 0);
    int b = join(ledger, "b");
    struct ledger_lease again = grant(ledger, 0, b, 0);
    CHECK_INT(again.try, 1);
    struct ledger_lease stolen = {.worker = b, .lease = head.lease};
    CHECK_INT(finish(ledger, &stolen, 1, 0, 10), LEDGER_IGNORED);
    /* The lost one comes back with its results: accepted once, and b need not go on. */
    CHECK_INT(join(ledger, "a"), a);
    CHECK_INT(finish(ledger, &head, 1, 0, 10), LEDGER_LATE);
    CHECK_INT(finish(ledger, &head, 1, 0, 10), LEDGER_IGNORED);
    CHECK_INT(finish(ledger, &ahead, 1, 0, 10), LEDGER_LATE);
    check_taken(ledger, 10, &again, LEDGER_IGNORED);
    CHECK_INT(ledger_read_counts(ledger).cells.done, 2);
    grant(ledger, 10, a, 2);
    check_no_grant(ledger, 10); /* b is still busy with the unwanted lease */
    CHECK_INT(finish(ledger, &again, 1, 0, 10), LEDGER_IGNORED);
    grant(ledger, 10, b, 3);
    ledger_free(ledger);
}

static void test_a_lease_that_outlives_its_time_goes_to_another(void) {
    struct ledger_options options = plain;
    options.max_tries = 2;
    options.timeout_ms = 1000;
    struct ledger *ledger = new_ledger(options, 3);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0), ahead = grant(ledger, 0, a, 1);
    struct ledger_revoked taken;
    CHECK_INT(ledger_deadline_ms(ledger), 1000);
    CHECK(!ledger_next_revoked(ledger, 999, &taken));
    check_taken(ledger, 1000, &head, LEDGER_RETRY);
    check_taken(ledger, 1000, &ahead, LEDGER_IGNORED); /* the leases ahead go, too */
    CHECK_INT(ledger_deadline_ms(ledger), -1);
    check_no_grant(ledger, 1000); /* a is stuck */
    int b = join(ledger, "b");
    grant(ledger, 1000, b, 0);
    CHECK_INT(fail(ledger, &head, LEDGER_SCORER, "cancelled", 1500), LEDGER_IGNORED);
    grant(ledger, 1500, a, 1); /* a is back */
    CHECK(ledger_next_revoked(ledger, 2000, &taken));
    CHECK_INT(taken.decision, LEDGER_FAILED);
    CHECK_INT(taken.lease.first, 0);
    CHECK_STR(taken.cause, "no result within 1 s");
    size_t count = 0;
    const struct ledger_failure *failures = ledger_failures(ledger, &count);
    CHECK_INT(count, 1);
    CHECK_INT(failures[0].tries, 2);
    CHECK_INT(failures[0].worker, b);
    CHECK_STR(failures[0].cause, "no result within 1 s");
    ledger_free(ledger);
}

static void test_the_clock_of_the_second_lease_starts_with_it(void) {
    struct ledger_options options = plain;
    options.timeout_ms = 1000;
    struct ledger *ledger = new_ledger(options, 3);
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0);
    grant(ledger, 0, a, 1);
    CHECK_INT(finish(ledger, &head, 1, 0, 900), LEDGER_DONE);
    CHECK_INT(ledger_deadline_ms(ledger), 1900);
    ledger_free(ledger);
}

static void test_the_clock_stands_while_a_worker_is_not_ready(void) {
    struct ledger_options options = plain;
    options.max_tries = 1;
    options.timeout_ms = 1000;
    options.wait_ms = 600000;
    struct ledger *ledger = new_ledger(options, 3);
    struct ledger_revoked taken;
    int a = join(ledger, "a");
    struct ledger_lease head = grant(ledger, 0, a, 0), ahead = grant(ledger, 0, a, 1);
    ledger_set_ready(ledger, a, ahead.lease, false, 100); /* has no clock */
    ledger_set_ready(ledger, a + 1, head.lease, false, 100);
    ledger_set_ready(ledger, a, 12345, false, 100);
    ledger_set_ready(ledger, a, head.lease, true, 100); /* was ready */
    CHECK_INT(ledger_deadline_ms(ledger), 1000);
    ledger_set_ready(ledger, a, head.lease, false, 100);
    ledger_set_ready(ledger, a, head.lease, false, 5000); /* nothing new */
    CHECK_INT(ledger_deadline_ms(ledger), 600100);
    CHECK(!ledger_next_revoked(ledger, 600099, &taken));
    ledger_set_ready(ledger, a, head.lease, true, 500000);
    CHECK_INT(ledger_deadline_ms(ledger), 501000);
    CHECK_INT(finish(ledger, &head, 1, 0, 500900), LEDGER_DONE);
    CHECK_INT(ledger_deadline_ms(ledger), 501900);
    ledger_set_ready(ledger, a, ahead.lease, false, 501000);
    CHECK(!ledger_next_revoked(ledger, 1100999, &taken));
    CHECK(ledger_next_revoked(ledger, 1101000, &taken));
    CHECK_INT(taken.lease.lease, ahead.lease);
    CHECK_INT(taken.decision, LEDGER_RETRY); /* although maxTries is 1 */
    CHECK_STR(taken.cause, "its worker was not ready for it within 600 s");
    CHECK_INT(ledger_read_counts(ledger).cells.failed, 0);
    check_no_grant(ledger, 1101000); /* a must send a message first */
    ledger_free(ledger);
}

static void test_what_waits_for_its_program_may_be_done_elsewhere(void) {
    struct ledger_options options = plain;
    options.ahead_max = 0;
    options.wait_ms = 600000;
    struct ledger *ledger = new_ledger(options, 2);
    int a = join(ledger, "a"), b = join(ledger, "b");
    struct ledger_lease first = grant(ledger, 0, a, 0), second = grant(ledger, 0, b, 1);
    ledger_set_ready(ledger, a, first.lease, false, 5);
    CHECK_INT(finish(ledger, &second, 1, 0, 10), LEDGER_DONE);
    check_no_grant(ledger, LEDGER_SLOW_MS - 1);
    struct ledger_lease again = grant(ledger, LEDGER_SLOW_MS, b, 0);
    CHECK(again.is_second);
    CHECK_INT(finish(ledger, &again, 1, 0, 1010), LEDGER_DONE);
    check_taken(ledger, 1010, &first, LEDGER_IGNORED);
    ledger_set_ready(ledger, a, first.lease, true, 2000); /* no longer a's lease */
    CHECK_INT(ledger_deadline_ms(ledger), -1);
    CHECK(ledger_is_accounted(ledger));
    ledger_free(ledger);
}

static void test_the_clock_stands_behind_what_nobody_wants_any_more(void) {
    struct ledger_options options = plain;
    options.timeout_ms = 60000;
    options.wait_ms = 600000;
    struct ledger *ledger = new_ledger(options, 4);
    int a = join(ledger, "a");
    struct ledger_lease first = grant(ledger, 0, a, 0), ahead = grant(ledger, 0, a, 1);
    ledger_leave(ledger, a); /* and returns immediately */
    check_taken(ledger, 0, &first, LEDGER_RETRY);
    CHECK_INT(join(ledger, "a"), a);
    first = grant(ledger, 0, a, 0);
    ahead = grant(ledger, 0, a, 1);
    struct ledger_lease lost = {.worker = a, .lease = first.lease - 2};
    CHECK_INT(finish(ledger, &lost, 1, 0, 1000), LEDGER_LATE); /* of the same cell */
    check_taken(ledger, 1000, &first, LEDGER_IGNORED);
    CHECK_INT(ledger_deadline_ms(ledger), 601000); /* it is still busy with that */
    CHECK_INT(fail(ledger, &first, LEDGER_HANDED_BACK, "cancelled", 50000), LEDGER_IGNORED);
    CHECK_INT(ledger_deadline_ms(ledger), 110000);
    CHECK_INT(finish(ledger, &ahead, 1, 0, 109000), LEDGER_DONE);
    ledger_free(ledger);
}

/* It was busy with a lease that another finished first, and never began the next: the end of that
 * one counts as nothing. */
static void test_a_slot_is_stuck_until_the_first_is_mentioned(void) {
    struct ledger_options options = plain;
    options.wait_ms = 100000;
    struct ledger *ledger = new_ledger(options, 3);
    int a = join(ledger, "a");
    struct ledger_lease first = grant(ledger, 0, a, 0), ahead = grant(ledger, 0, a, 1);
    ledger_leave(ledger, a);
    check_taken(ledger, 0, &first, LEDGER_RETRY);
    CHECK_INT(join(ledger, "a"), a);
    first = grant(ledger, 0, a, 0);
    ahead = grant(ledger, 0, a, 1);
    struct ledger_lease lost = {.worker = a, .lease = first.lease - 2};
    CHECK_INT(finish(ledger, &lost, 1, 0, 1000), LEDGER_LATE);
    check_taken(ledger, 1000, &first, LEDGER_IGNORED);
    check_taken(ledger, 101000, &ahead, LEDGER_RETRY);
    CHECK_INT(fail(ledger, &ahead, LEDGER_HANDED_BACK, "cancelled", 101001), LEDGER_IGNORED);
    check_no_grant(ledger, 101001);
    CHECK_INT(fail(ledger, &first, LEDGER_HANDED_BACK, "cancelled", 200000), LEDGER_IGNORED);
    grant(ledger, 200000, a, 1);
    ledger_free(ledger);
}

static void test_errors_count_and_wrong_numbers_are_errors(void) {
    struct ledger_options options = plain;
    options.cell_items = 8;
    options.max_tries = 2;
    struct ledger *ledger = new_ledger(options, 1);
    int a = join(ledger, "a");
    struct ledger_lease lease = grant(ledger, 0, a, 0);
    CHECK_INT(fail(ledger, &lease, LEDGER_HANDED_BACK, "", 0), LEDGER_RETRY); /* counts nothing */
    lease = grant(ledger, 0, a, 0);
    CHECK_INT(fail(ledger, &lease, LEDGER_SCORER, "no such frame", 0), LEDGER_RETRY);
    lease = grant(ledger, 0, a, 0);
    CHECK_INT(lease.try, 2);
    CHECK_INT(finish(ledger, &lease, 7, 0, 0), LEDGER_FAILED);
    size_t count = 0;
    CHECK_STR(ledger_failures(ledger, &count)[0].cause, "its worker made 7 results of 8 items");
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.failed, 8);
    CHECK_INT(ledger_read_counts(ledger).items.retried, 8);
    ledger_free(ledger);
}

static void test_of_the_last_try_stays_what_is_fine(void) {
    struct ledger_options options = plain;
    options.cell_items = 0; /* a table: results give the number of items */
    options.max_tries = 2;
    struct ledger *ledger = new_ledger(options, 2);
    int a = join(ledger, "a");
    struct ledger_lease one = grant(ledger, 0, a, 0), two = grant(ledger, 0, a, 1);
    CHECK_INT(finish(ledger, &one, 40, 3, 0), LEDGER_RETRY);
    CHECK_INT(finish(ledger, &two, 50, 0, 0), LEDGER_DONE);
    one = grant(ledger, 0, a, 0);
    CHECK_INT(finish(ledger, &one, 40, 2, 0), LEDGER_PARTIAL);
    CHECK(ledger_is_accounted(ledger));
    struct ledger_counts counts = ledger_read_counts(ledger);
    CHECK_INT(counts.items.done, 88);
    CHECK_INT(counts.items.failed, 2);
    CHECK_INT(counts.items.total, 90);
    CHECK_INT(counts.cells.done, 1);
    CHECK_INT(counts.cells.failed, 1);
    size_t count = 0;
    CHECK_STR(ledger_failures(ledger, &count)[0].cause, "2 of 40 items failed");
    ledger_free(ledger);
}

/* Of items that would fail alike again the first try is the last, but not of a lease of several
 * cells.
 */
static void test_what_would_fail_again_is_not_tried_again(void) {
    struct ledger *ledger = new_ledger(plain, 3);
    int a = join(ledger, "a");
    static const struct {
        int64_t items, failed;
        bool is_final;
        enum ledger_decision decision;
        enum ledger_fault fault; /* SCORER: its input has changed */
    } rows[] = {{1, 1, true, LEDGER_FAILED, LEDGER_NO_FAULT},
                {1, 1, false, LEDGER_RETRY, LEDGER_NO_FAULT},
                {1, 0, true, LEDGER_FAILED, LEDGER_SCORER}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ledger_lease lease;
        CHECK(ledger_next_lease(ledger, 0, &lease));
        struct ledger_report report = {.worker = a,
                                       .lease = lease.lease,
                                       .fault = rows[i].fault,
                                       .items = rows[i].items,
                                       .failed = rows[i].failed,
                                       .is_final = rows[i].is_final,
                                       .took_us = -1};
        CHECK_INT(ledger_take_report(ledger, &report, 0, NULL), rows[i].decision);
    }
    struct ledger_options options = plain;
    options.cell_items = 4;
    CHECK_INT(ledger_read_counts(ledger).cells.retried, 1);
    ledger_free(ledger);
    ledger = new_ledger(options, 1);
    a = join(ledger, "a");
    struct ledger_lease one = grant(ledger, 0, a, 0);
    struct ledger_report report = {
        .worker = a, .lease = one.lease, .items = 4, .failed = 1, .is_final = true, .took_us = -1};
    CHECK_INT(ledger_take_report(ledger, &report, 0, NULL), LEDGER_PARTIAL);
    CHECK_INT(ledger_read_counts(ledger).items.done, 3);
    ledger_free(ledger);
}

static void test_a_cell_that_kills_its_workers_fails(void) {
    struct ledger *ledger = new_ledger(plain, 1);
    struct ledger_lease lease = {0};
    for (int i = 0; i < LEDGER_LOSSES_MAX; i++) {
        CHECK(!ledger_is_accounted(ledger));
        int a = join(ledger, "a");
        lease = grant(ledger, 0, a, 0);
        if (i == 4) { /* a dead mount is a loss, too */
            CHECK_INT(fail(ledger, &lease, LEDGER_MACHINE, "ESTALE", 0), LEDGER_RETRY);
        }
        ledger_leave(ledger, a);
        if (i != 4 && i + 1 < LEDGER_LOSSES_MAX) {
            check_taken(ledger, 0, &lease, LEDGER_RETRY);
        }
    }
    CHECK(ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).cells.failed, 1);
    check_taken(ledger, 0, &lease, LEDGER_FAILED); /* a record has to be written */
    ledger_free(ledger);
}

/* ---- the end of a job ----------------------------------------------------------------------- */

static void fail_cells(struct ledger *ledger, int worker, int count) {
    for (int i = 0; i < count; i++) {
        struct error none = {0};
        struct ledger_lease lease;
        CHECK_OK(ledger_check_thresholds(ledger, &none), &none);
        CHECK(ledger_next_lease(ledger, 0, &lease));
        CHECK_INT(lease.worker, worker);
        CHECK_INT(fail(ledger, &lease, LEDGER_SCORER, "no such column: age", 0), LEDGER_FAILED);
    }
}

static void test_thresholds_are_exact(void) {
    static const struct {
        int64_t errors_max, cell_errors_max;
        double percent;
        int last_good; /* failed cells, of 40 */
        int64_t items; /* of each */
        const char *words;
    } rows[] = {
        {0, -1, -1, 0, 1, "1 item has failed, spec.errorThreshold is 0"},
        {0, -1, -1, 0, 3, "3 items have failed, spec.errorThreshold is 0"},
        {8, -1, -1, 2, 3, "9 items have failed, spec.errorThreshold is 8"},
        {9, -1, -1, 3, 3, "12 items have failed, spec.errorThreshold is 9"},
        {-1, 4, -1, 4, 3, "5 mini-batches have failed, spec.miniBatchErrorThreshold is 4"},
        {-1, 0, 50, 0, 3, "1 mini-batch has failed, spec.miniBatchErrorThreshold is 0"},
        {-1, -1, -1, 40, 3, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct ledger_options options = plain;
        options.cell_items = rows[i].items;
        options.max_tries = 1;
        options.errors_max = rows[i].errors_max;
        options.cell_errors_max = rows[i].cell_errors_max;
        options.cell_errors_percent = rows[i].percent;
        struct ledger *ledger = new_ledger(options, 40);
        int a = join(ledger, "a");
        fail_cells(ledger, a, rows[i].last_good + (rows[i].words != NULL));
        if (rows[i].words) {
            CHECK_INT(ledger_check_thresholds(ledger, &err), -1);
            CHECK_INT(err.kind, ERROR_FAILED);
            CHECK(strstr(err.text, rows[i].words));
            CHECK(strstr(err.text, "no such column: age (mini-batch 0 on a, 1 tries; "));
            check_no_grant(ledger, 0);
        } else {
            CHECK_OK(ledger_check_thresholds(ledger, &err), &err);
        }
        ledger_free(ledger);
    }
}

/* Two of forty are 5 %; and the percentage is unknown until all were leased. */
static void test_a_percentage_waits_until_all_were_leased(void) {
    struct error err = {0};
    struct ledger_options options = plain;
    options.max_tries = 1;
    options.ahead_max = 0;
    options.cell_errors_percent = 5;
    struct ledger *ledger = ledger_new(&options);
    CHECK_OK(ledger_extend(ledger, 20, 20, false, &err), &err);
    int a = join(ledger, "a");
    fail_cells(ledger, a, 3);
    for (int i = 3; i < 40; i++) {
        struct ledger_lease lease;
        CHECK_OK(ledger_check_thresholds(ledger, &err), &err);
        if (i == 20) {
            check_no_grant(ledger, 0);
            CHECK_OK(ledger_extend(ledger, 20, 20, true, &err), &err);
        }
        CHECK(ledger_next_lease(ledger, 0, &lease));
        CHECK_INT(finish(ledger, &lease, 1, 0, 0), LEDGER_DONE);
    }
    CHECK_INT(ledger_check_thresholds(ledger, &err), -1);
    CHECK(strstr(err.text, "3 of 40 mini-batches have failed, spec.miniBatchErrorThreshold is 5%"));
    ledger_free(ledger);
}

/* ---- commits -------------------------------------------------------------------------------- */

static void restore(struct ledger *ledger, enum ledger_decision decision, int64_t first,
                    int64_t cells, int64_t items, int64_t failed) {
    struct error err = {0};
    struct ledger_record record = {decision, first, cells, items, failed};
    CHECK_OK(ledger_restore(ledger, &record, &err), &err);
}

static void test_what_is_committed_is_not_done_again(void) {
    struct error err = {0};
    struct ledger_options options = plain;
    options.cell_items = 0;
    struct ledger *ledger = ledger_new(&options);
    restore(ledger, LEDGER_DONE, 1, 2, 20, 0); /* before the pages are read */
    restore(ledger, LEDGER_FAILED, 4, 1, 1, 1);
    restore(ledger, LEDGER_PARTIAL, 4, 1, 9, 2); /* yields */
    restore(ledger, LEDGER_FAILED, 4, 1, 1, 1);
    restore(ledger, LEDGER_FAILED, 1, 1, 1, 1); /* done is done */
    restore(ledger, LEDGER_DONE, 6, 1, 5, 0);
    ledger_void(ledger, 6, 1);
    ledger_published(ledger, 1, 2);
    CHECK_OK(ledger_extend(ledger, 7, -1, true, &err), &err);
    struct ledger_counts counts = ledger_read_counts(ledger);
    CHECK_INT(counts.items.done, 27);
    CHECK_INT(counts.items.failed, 2);
    CHECK_INT(counts.cells.done, 2);
    CHECK_INT(counts.cells.failed, 1);
    CHECK_INT(counts.waiting, 4);
    CHECK_INT(ledger_unpublished(ledger, 0), 4);
    CHECK_INT(ledger_unpublished(ledger, 5), -1);
    CHECK(ledger_is_published(ledger, 1, 2) && !ledger_is_published(ledger, 1, 3) &&
          !ledger_is_published(ledger, 4, 1) && !ledger_is_published(ledger, 2, 100));
    int a = join(ledger, "a");
    static const int64_t wanted[] = {0, 3, 5, 6};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        struct ledger_lease lease = grant(ledger, 0, a, wanted[i]);
        CHECK_INT(finish(ledger, &lease, 10, 0, 0), LEDGER_DONE);
        ledger_committed(ledger, wanted[i], 1);
    }
    CHECK(ledger_is_committed(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.done, 67);
    ledger_void(ledger, 1, 2); /* found at assembly */
    CHECK(!ledger_is_accounted(ledger));
    CHECK_INT(ledger_read_counts(ledger).items.done, 47);
    grant(ledger, 0, a, 1);
    grant(ledger, 0, a, 2);
    ledger_free(ledger);
}

static void test_commits_that_no_input_has_are_refused(void) {
    static const struct ledger_record rows[] = {
        {LEDGER_DONE, -1, 1, 1, 0},
        {LEDGER_DONE, 0, 0, 1, 0},
        {LEDGER_DONE, LEDGER_CELLS_MAX, 1, 1, 0},
        {LEDGER_DONE, 1, LEDGER_CELLS_MAX, 1, 0},
        {LEDGER_DONE, INT64_MAX, INT64_MAX, 1, 0},
        {LEDGER_PARTIAL, 0, 1, 1, 2},
        {LEDGER_DONE, 0, 1, (int64_t)INT32_MAX + 1, 0},
    };
    struct ledger *ledger = ledger_new(&plain);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        CHECK_INT(ledger_restore(ledger, &rows[i], &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
    ledger_void(ledger, INT64_MAX, INT64_MAX);
    ledger_published(ledger, 5, 5);
    struct error err = {0};
    restore(ledger, LEDGER_DONE, 3, 1, 1, 0);
    CHECK_INT(ledger_extend(ledger, 3, 3, true, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "the commits name mini-batch 3, but the input has only 3");
    error_clear(&err);
    /* A film is known completely in advance: a range outside its cells would never be scored. */
    struct ledger *known = ledger_new(&plain);
    CHECK_OK(ledger_extend(known, 3, 3, true, &err), &err);
    struct ledger_record behind = {LEDGER_DONE, 3, 1, 1, 0};
    CHECK_INT(ledger_restore(known, &behind, &err), -1);
    CHECK_STR(err.text, "the commits name mini-batch 3, but the input has only 3");
    ledger_retried(known, &behind, true);
    CHECK_INT(ledger_read_counts(known).cells.total, 3);
    CHECK_INT(ledger_read_counts(known).cells.retried, 1);
    ledger_free(known);
    error_clear(&err);
    struct ledger *large = ledger_new(&plain);
    CHECK_INT(ledger_extend(large, LEDGER_CELLS_MAX + 1, 1, true, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    ledger_free(large);
    ledger_free(ledger);
}

int main(void) {
    TEST(test_the_last_cell_may_have_fewer_items);
    TEST(test_idle_slots_come_first_and_one_ahead_is_fair);
    TEST(test_slots_of_a_worker_work_side_by_side);
    TEST(test_leases_ahead_last_fifty_milliseconds);
    TEST(test_a_lost_worker_costs_one_retry);
    TEST(test_a_lease_that_outlives_its_time_goes_to_another);
    TEST(test_the_clock_of_the_second_lease_starts_with_it);
    TEST(test_the_clock_stands_while_a_worker_is_not_ready);
    TEST(test_what_waits_for_its_program_may_be_done_elsewhere);
    TEST(test_the_clock_stands_behind_what_nobody_wants_any_more);
    TEST(test_a_slot_is_stuck_until_the_first_is_mentioned);
    TEST(test_errors_count_and_wrong_numbers_are_errors);
    TEST(test_of_the_last_try_stays_what_is_fine);
    TEST(test_what_would_fail_again_is_not_tried_again);
    TEST(test_a_cell_that_kills_its_workers_fails);
    TEST(test_thresholds_are_exact);
    TEST(test_a_percentage_waits_until_all_were_leased);
    TEST(test_what_is_committed_is_not_done_again);
    TEST(test_commits_that_no_input_has_are_refused);
    return TEST_END();
}
