// SPDX-License-Identifier: Apache-2.0
/* The next coordinator finds what one coordinator accepted and stored, whenever that one dies. */
#include "agent/score/coordinator/journal.h"

#include "agent/data/parts/pack.h"
#include "lib/time/clock.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>

enum { CELLS = 6, ITEMS = 11 /* two a cell, one in the last */ };

static struct job job = {.name = "j", .uid = "uid-1", .run = RUN};
static int told;
static int64_t failed_items; /* of the next result */
static int max_tries = 1;

static void open_journal(struct store *output, struct journal *journal) {
    struct error err = {0};
    struct journal_options options = {
        .job = &job,
        .output = output,
        .cells = CELLS,
        .items = ITEMS,
        .ledger = {.cell_items = 2,
                   .max_tries = max_tries,
                   .timeout_ms = 60000,
                   .errors_max = -1,
                   .cell_errors_max = -1,
                   .cell_errors_percent = -1},
    };
    CHECK_OK(journal_open(&options, journal, &err), &err);
}

static void count(void *context, const struct journal_entry *entry) {
    (void)context;
    told += entry->type <= COMMIT_FAILED;
}

static void store_all(struct journal *journal) {
    struct error err = {0};
    for (int i = 0; i < 60000 && !journal_is_stored(journal); i++) {
        CHECK_OK(journal_turn(journal, true, count, NULL, &err), &err);
        poll(NULL, 0, 1);
    }
    CHECK(journal_is_stored(journal));
}

/* One lease to the worker, which makes a pack of two files of it, or fails (fault). */
static int64_t score(struct journal *journal, struct store *output, int worker, const char *fault) {
    struct error err = {0};
    struct ledger_lease lease;
    if (!ledger_next_lease(journal->ledger, clock_monotonic_ms(), &lease)) {
        CHECK(!"a lease");
        return -1;
    }
    char name[PART_NAME_MAX], file[64];
    part_name(job.run, journal->epoch, lease.lease, name);
    AUTO(staged_output_freep)
    struct staged_output *staged = staged_output_new(output, name, lease.first % 2 == 0);
    struct pack *pack = pack_new(staged);
    snprintf(file, sizeof file, "f/%lld", (long long)lease.first);
    CHECK_OK(pack_add(pack, file, file, strlen(file), &err), &err);
    CHECK_OK(pack_close(pack, &err), &err);
    pack_free(pack);
    CHECK_OK(staged_output_close(staged, &err), &err);
    struct part part = staged_output_part(staged);
    struct message_result result = {
        .lease = lease.lease,
        .items = lease.first == CELLS - 1 ? 1 : 2,
        .failed = failed_items,
        .place = staged_output_find_place(staged) == STAGED_TEXT ? MESSAGE_TEXT : MESSAGE_OBJECT,
        .size_bytes = part.size_bytes,
        .crc = part.crc,
        .text = part.bytes,
        .text_size = (size_t)part.size_bytes};
    struct ledger_report said = {.worker = worker,
                                 .lease = lease.lease,
                                 .fault = fault ? LEDGER_SCORER : LEDGER_NO_FAULT,
                                 .items = result.items,
                                 .failed = failed_items,
                                 .took_us = 1000,
                                 .cause = fault};
    struct ledger_lease ended;
    enum ledger_decision decision =
        ledger_take_report(journal->ledger, &said, clock_monotonic_ms(), &ended);
    CHECK_INT(decision, fault ? LEDGER_FAILED : failed_items ? LEDGER_PARTIAL : LEDGER_DONE);
    struct journal_failure failure = {COMMIT_ERROR, fault};
    CHECK_OK(journal_accept(journal, decision, &ended, &result, &failure, &err), &err);
    return lease.first;
}

static int join(struct journal *journal) {
    struct error err = {0};
    int worker = -1;
    CHECK_OK(ledger_join(journal->ledger, "w-0", 1, &worker, &err), &err);
    return worker;
}

static int64_t done(const struct journal *journal) {
    return ledger_read_counts(journal->ledger).cells.done;
}

static long files_in(const char *output) {
    return ask_number("find '%s/%s/f' -type f 2>/dev/null | wc -l", fixtures_out, output);
}

static void test_what_is_stored_is_found_and_nothing_else(void) {
    struct error err = {0};
    struct journal journal;
    AUTO(store_freep) struct store *output = open_output("out/found");
    open_journal(output, &journal);
    int worker = join(&journal);
    told = 0;
    int64_t first = score(&journal, output, worker, NULL);
    score(&journal, output, worker, NULL);
    CHECK_INT(told, 0); /* accepted but not stored: not reported to anyone */
    store_all(&journal);
    CHECK_INT(told, 2);
    CHECK_OK(journal_published(&journal, first, 1, &err), &err);
    store_all(&journal);
    score(&journal, output, worker, NULL); /* and dies before the result is handed on */
    journal_release(&journal);

    open_journal(output, &journal);
    CHECK_INT(done(&journal), 2);
    CHECK(journal.epoch > 0 && !journal.generation.is_ended);
    worker = join(&journal);
    while (done(&journal) < CELLS) {
        score(&journal, output, worker, NULL);
    }
    CHECK(ledger_is_accounted(journal.ledger) && !ledger_is_committed(journal.ledger));
    store_all(&journal);
    CHECK(ledger_is_committed(journal.ledger));
    CHECK_OK(journal_end(&journal, true, &err), &err);
    store_all(&journal);
    /* The result recorded as published is not written again. */
    CHECK_OK(journal_publish(&journal, &err), &err);
    CHECK_INT(files_in("found"), CELLS - 1);
    journal_release(&journal);

    open_journal(output, &journal);
    CHECK(journal.generation.is_ended && journal.generation.has_succeeded &&
          ledger_is_committed(journal.ledger));
    CHECK_OK(journal_end(&journal, true, &err), &err); /* exists already */
    CHECK(journal_is_stored(&journal));
    CHECK_INT(ledger_read_counts(journal.ledger).items.done, ITEMS);
    journal_release(&journal);
}

static void test_what_is_broken_is_made_again(void) {
    struct error err = {0};
    struct journal journal;
    int64_t broken = -1;
    AUTO(store_freep) struct store *output = open_output("out/broken");
    open_journal(output, &journal);
    int worker = join(&journal);
    while (done(&journal) < CELLS) {
        score(&journal, output, worker, NULL);
    }
    store_all(&journal);
    CHECK_OK(journal_end(&journal, true, &err), &err);
    store_all(&journal);
    CHECK_OK(store_clear(output, ".windlass/" RUN "/try/", &err), &err);
    /* Cells 1, 3 and 5 are objects; the others are text in the commits. */
    CHECK_INT(journal_publish(&journal, &err), -1);
    error_clear(&err);
    CHECK_INT(files_in("broken"), 3);
    CHECK_OK(journal_void_broken(&journal, NULL, &broken, &err), &err);
    CHECK_INT(broken, 3);
    CHECK_INT(done(&journal), 3);
    CHECK(!journal.generation.is_ended);
    store_all(&journal);
    journal_release(&journal);
    open_journal(output, &journal); /* the next coordinator knows it, too */
    CHECK_INT(done(&journal), 3);
    worker = join(&journal);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(score(&journal, output, worker, NULL) % 2, 1);
    }
    store_all(&journal);
    struct parts parts = {0};
    CHECK_OK(journal_parts(&journal, &parts, &err), &err);
    for (int i = 0; i < CELLS; i++) {
        CHECK_INT(parts.places[i].is_there, i % 2);
        CHECK(i % 2 == 0 || parts.places[i].epoch == journal.epoch);
    }
    free(parts.places);
    CHECK_OK(journal_publish(&journal, &err), &err);
    CHECK_INT(files_in("broken"), CELLS);
    journal_release(&journal);
}

/* A restart of the same job does not retry what was given up; the job run anew does. */
static void test_failures_are_the_jobs_own(void) {
    struct error err = {0};
    struct journal journal;
    AUTO(store_freep) struct store *output = open_output("out/failed");
    open_journal(output, &journal);
    int worker = join(&journal);
    score(&journal, output, worker, "it is bad");
    for (int i = 1; i < CELLS; i++) {
        score(&journal, output, worker, NULL);
    }
    store_all(&journal);
    CHECK_OK(journal_end(&journal, false, &err), &err);
    store_all(&journal);
    journal_release(&journal);
    open_journal(output, &journal);
    CHECK(ledger_is_committed(journal.ledger) && journal.generation.is_ended &&
          !journal.generation.has_succeeded);
    CHECK_INT(ledger_read_counts(journal.ledger).cells.failed, 1);
    struct journal_first_failure first = journal_find_first_failure(&journal);
    CHECK_STR(first.cause, "it is bad");
    CHECK_STR(first.worker, "w-0");
    CHECK_INT(first.cell, 0);
    CHECK_INT(first.tries, 1);
    journal_release(&journal);
    job.uid = "uid-2";
    open_journal(output, &journal);
    CHECK_INT(journal_find_first_failure(&journal).tries, 0);
    CHECK(!ledger_is_accounted(journal.ledger));
    CHECK_INT(done(&journal), CELLS - 1);
    worker = join(&journal);
    score(&journal, output, worker, NULL);
    store_all(&journal);
    CHECK(ledger_is_committed(journal.ledger) && !journal.generation.is_ended);
    journal_release(&journal);
    job.uid = "uid-1"; /* a DONE of any job remains valid */
    open_journal(output, &journal);
    CHECK_INT(done(&journal), CELLS);
    journal_release(&journal);
}

/* Half of a mini-batch was published by a job that gave the rest up; the next job does it
 * completely, and its worker dies before it has published that. */
static void test_done_again_is_published_again(void) {
    struct error err = {0};
    struct journal journal;
    AUTO(store_freep) struct store *output = open_output("out/again");
    job.uid = "uid-1";
    open_journal(output, &journal);
    failed_items = 1;
    int64_t first = score(&journal, output, join(&journal), NULL);
    failed_items = 0;
    store_all(&journal);
    CHECK_OK(journal_published(&journal, first, 1, &err), &err);
    store_all(&journal);
    journal_release(&journal);

    job.uid = "uid-2";
    open_journal(output, &journal);
    int worker = join(&journal);
    while (!ledger_is_accounted(journal.ledger)) {
        score(&journal, output, worker, NULL);
    }
    store_all(&journal);
    CHECK_OK(journal_publish(&journal, &err), &err);
    CHECK_INT(files_in("again"), CELLS);
    journal_release(&journal);
    job.uid = "uid-1";
}

struct seen {
    int retries;
    bool is_as_told;
};

static int see(void *context, const struct commit_head *head, const struct commit_record *record,
               struct error *err) {
    struct seen *seen = context;
    (void)head;
    (void)err;
    if (record->type == COMMIT_RETRY) {
        seen->retries++;
        seen->is_as_told = record->fault == COMMIT_LOST && record->try == 1 &&
                           strcmp(record->worker, "w-0") == 0 &&
                           strcmp(record->text, "its worker was lost") == 0;
    }
    return 0;
}

static void test_tries_that_came_to_nothing_are_known_to_who_comes_next(void) {
    struct error err = {0};
    struct journal journal;
    struct ledger_lease lease;
    struct ledger_revoked taken = {0};
    AUTO(store_freep) struct store *output = open_output("out/retried");
    open_journal(output, &journal);
    int worker = join(&journal);
    CHECK(ledger_next_lease(journal.ledger, clock_monotonic_ms(), &lease));
    ledger_leave(journal.ledger, worker);
    CHECK(ledger_next_revoked(journal.ledger, clock_monotonic_ms(), &taken));
    CHECK_INT(taken.decision, LEDGER_RETRY);
    struct journal_failure lost = {COMMIT_LOST, taken.cause};
    CHECK_OK(journal_retried(&journal, &taken.lease, &lost, &err), &err);
    store_all(&journal);
    journal_release(&journal);

    open_journal(output, &journal);
    CHECK_INT(ledger_read_counts(journal.ledger).cells.retried, 1);
    CHECK_INT(ledger_read_counts(journal.ledger).items.retried, 2);
    CHECK_INT(done(&journal), 0);
    worker = join(&journal);
    while (done(&journal) < CELLS) {
        score(&journal, output, worker, NULL);
    }
    store_all(&journal);
    CHECK_OK(journal_publish(&journal, &err), &err);
    CHECK_INT(files_in("retried"), CELLS);
    struct seen seen = {0};
    CHECK_OK(commit_replay(journal.log, see, &seen, &err), &err);
    CHECK_INT(seen.retries, 1);
    CHECK(seen.is_as_told);
    journal_release(&journal);
}

/* A lease of the next cell ends badly. *ret_try: which try it was. */
static enum ledger_decision fail(struct journal *journal, int worker, enum ledger_fault fault,
                                 int64_t wanted_cell, int *ret_try) {
    struct error err = {0};
    struct ledger_lease lease, ended;
    CHECK(ledger_next_lease(journal->ledger, clock_monotonic_ms(), &lease));
    CHECK_INT(lease.first, wanted_cell);
    *ret_try = lease.try;
    struct ledger_report said = {
        .worker = worker, .lease = lease.lease, .fault = fault, .items = 2, .cause = "it is bad"};
    enum ledger_decision decision =
        ledger_take_report(journal->ledger, &said, clock_monotonic_ms(), &ended);
    struct journal_failure failure = {fault == LEDGER_MACHINE ? COMMIT_LOST : COMMIT_ERROR,
                                      said.cause};
    if (decision == LEDGER_RETRY) {
        CHECK_OK(journal_retried(journal, &ended, &failure, &err), &err);
    } else {
        CHECK_OK(journal_accept(journal, decision, &ended, NULL, &failure, &err), &err);
    }
    return decision;
}

/* One try with each coordinator: the total is as in the spec, however many coordinators there are.
 * Losses by the machine do not count with any of them, nor do failures of another job. */
static void test_tries_hold_over_coordinators(void) {
    struct journal journal;
    int try = 0;
    AUTO(store_freep) struct store *output = open_output("out/tries");
    static const struct {
        const char *uid;
        enum ledger_fault fault;
        int try;
        enum ledger_decision decision;
    } rows[] = {
        {"uid-1", LEDGER_SCORER, 1, LEDGER_RETRY},  {"uid-1", LEDGER_MACHINE, 2, LEDGER_RETRY},
        {"uid-1", LEDGER_MACHINE, 2, LEDGER_RETRY}, {"uid-1", LEDGER_SCORER, 2, LEDGER_RETRY},
        {"uid-2", LEDGER_SCORER, 1, LEDGER_RETRY},  {"uid-1", LEDGER_MACHINE, 3, LEDGER_RETRY},
        {"uid-1", LEDGER_SCORER, 3, LEDGER_FAILED},
    };
    max_tries = 3;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        job.uid = rows[i].uid;
        open_journal(output, &journal);
        CHECK_INT(ledger_read_counts(journal.ledger).cells.retried, (int64_t)i);
        CHECK_INT(fail(&journal, join(&journal), rows[i].fault, 0, &try), rows[i].decision);
        CHECK_INT(try, rows[i].try);
        store_all(&journal);
        journal_release(&journal);
    }
    open_journal(output, &journal);
    CHECK_INT(ledger_read_counts(journal.ledger).cells.failed, 1);
    journal_release(&journal);
    max_tries = 1; /* a waiting cell has a try left, even if the spec allows fewer now */
    job.uid = "uid-2";
    open_journal(output, &journal);
    CHECK_INT(fail(&journal, join(&journal), LEDGER_SCORER, 0, &try), LEDGER_FAILED);
    CHECK_INT(try, 1);
    journal_release(&journal);
    job.uid = "uid-1";
}

/* A result that was done and then damaged has all its tries again. */
static void test_tries_before_a_void_do_not_count(void) {
    struct error err = {0};
    struct journal journal;
    int try = 0;
    int64_t broken = 0;
    AUTO(store_freep) struct store *output = open_output("out/fresh");
    max_tries = 2;
    open_journal(output, &journal);
    int worker = join(&journal);
    CHECK_INT(fail(&journal, worker, LEDGER_SCORER, 0, &try), LEDGER_RETRY);
    CHECK_INT(score(&journal, output, worker, NULL), 0);
    store_all(&journal);
    journal_broken(&journal, 0, 1);
    CHECK_OK(journal_void_broken(&journal, NULL, &broken, &err), &err);
    store_all(&journal);
    journal_release(&journal);
    open_journal(output, &journal);
    CHECK_INT(fail(&journal, join(&journal), LEDGER_SCORER, 0, &try), LEDGER_RETRY);
    CHECK_INT(try, 1);
    journal_release(&journal);
    max_tries = 1;
}

int main(void) {
    fixtures_start("journal");
    TEST(test_what_is_stored_is_found_and_nothing_else);
    TEST(test_what_is_broken_is_made_again);
    TEST(test_failures_are_the_jobs_own);
    TEST(test_done_again_is_published_again);
    TEST(test_tries_that_came_to_nothing_are_known_to_who_comes_next);
    TEST(test_tries_hold_over_coordinators);
    TEST(test_tries_before_a_void_do_not_count);
    return TEST_END();
}
