// SPDX-License-Identifier: Apache-2.0
/* Generations of an output: what an earlier one has done does not count in a later one, whatever
 * dies or is late. SOAK_SEED, SOAK_ROUNDS: other seeds, more of them. */
#include "agent/score/coordinator/journal.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>

enum { CELLS = 12 };

static struct job job_of(const char *run, const char *uid) {
    return (struct job){.name = "j", .run = run, .uid = uid, .restart = "", .batch_items = 1};
}

/* As rerun.c does: looks, then claims. */
static int open_journal(struct store *output, const struct job *job, bool begins,
                        struct journal *journal, struct error *err) {
    static struct generation known; /* borrowed by the options only during the call */
    struct commit_seen *seen = commit_seen_new(COMMIT_SEEN_BYTES);
    struct commit_identity identity = {
        .run = job->run, .uid = job->uid, .job = job->name, .seen = seen};
    if (generation_scan(output, &identity, &known, err) < 0) {
        commit_seen_free(seen);
        return -1;
    }
    struct journal_options options = {.job = job,
                                      .output = output,
                                      .generation = &known,
                                      .seen = seen,
                                      .begins = begins,
                                      .cells = CELLS,
                                      .items = CELLS,
                                      .ledger = {.cell_items = 1,
                                                 .max_tries = 2,
                                                 .timeout_ms = 10000,
                                                 .errors_max = -1,
                                                 .cell_errors_max = -1,
                                                 .cell_errors_percent = -1,
                                                 .wait_ms = 1000,
                                                 .ahead_max = 4}};
    int result = journal_open(&options, journal, err);
    commit_seen_free(seen);
    return result;
}

static void ignore(void *context UNUSED, const struct journal_entry *entry UNUSED) {
}

/* 0: all is stored; -1: another coordinator has taken over. */
static int store_all(struct journal *journal, struct error *err) {
    while (!journal_is_stored(journal)) {
        if (journal_turn(journal, true, ignore, NULL, err) < 0) {
            return -1;
        }
        poll(NULL, 0, 1);
    }
    return 0;
}

/* One lease is granted and ends well. *ret_lease: its number. */
static void score(struct journal *journal, int64_t *ret_lease) {
    struct error err = {0};
    struct ledger_lease lease;
    int worker = 0;
    if (ledger_read_counts(journal->ledger).workers == 0) {
        CHECK_OK(ledger_join(journal->ledger, "w", 1, &worker, &err), &err);
    }
    CHECK(ledger_next_lease(journal->ledger, 0, &lease));
    struct ledger_report report = {
        .worker = worker, .lease = lease.lease, .items = 1, .took_us = 1};
    struct message_result result = {.lease = lease.lease, .items = 1, .place = MESSAGE_NOWHERE};
    struct ledger_lease ended;
    enum ledger_decision decision = ledger_take_report(journal->ledger, &report, 0, &ended);
    CHECK_INT(decision, LEDGER_DONE);
    CHECK_OK(journal_accept(journal, decision, &ended, &result, NULL, &err), &err);
    *ret_lease = lease.lease;
}

static int64_t done(const struct journal *journal) {
    return ledger_read_counts(journal->ledger).cells.done;
}

static void test_a_generation_forgets_the_one_before(void) {
    static const char *const other = "fedcba9876543210";
    AUTO(store_freep) struct store *output = open_output("out/forgets");
    struct job first = job_of(RUN, "u-1"), second = job_of(other, "u-2");
    struct journal journal;
    struct error err = {0};
    int64_t lease = 0;
    CHECK_OK(open_journal(output, &first, false, &journal, &err), &err);
    for (int i = 0; i < CELLS; i++) {
        score(&journal, &lease);
    }
    CHECK_OK(journal_end(&journal, true, &err), &err);
    CHECK_OK(store_all(&journal, &err), &err);
    journal_release(&journal);

    /* Another spec: its log is the same one, in the folder of the first. */
    CHECK_OK(open_journal(output, &second, true, &journal, &err), &err);
    CHECK_INT(done(&journal), 0);
    CHECK_OK(journal_begin(&journal, "anew", -1, &err), &err);
    CHECK_STR(journal.generation.home, RUN);
    CHECK_STR(journal.generation.run, other);
    CHECK_INT(journal.generation.number, 1);
    CHECK(!journal.generation.is_ended);
    int64_t later = 0;
    score(&journal, &later);
    CHECK(later > lease); /* no number of a lease is used twice */
    CHECK_OK(store_all(&journal, &err), &err);
    journal_release(&journal);

    CHECK_OK(open_journal(output, &second, false, &journal, &err), &err);
    CHECK_INT(done(&journal), 1);
    CHECK_STR(journal.generation.restart, "anew");
    CHECK_STR(journal.generation.uid, "u-2");
    struct parts parts = {0};
    CHECK_OK(journal_parts(&journal, &parts, &err), &err); /* replays this generation only */
    free(parts.places);
    journal_release(&journal);
}

/* It may have listed the input: a job that goes on with that list must know that it is of another.
 */
static void test_a_claim_without_results_is_its_jobs(void) {
    AUTO(store_freep) struct store *output = open_output("out/claimed");
    struct job first = job_of(RUN, "u-1"), second = job_of(RUN, "u-2");
    struct journal journal;
    struct error err = {0};
    int64_t lease = 0;
    CHECK_OK(open_journal(output, &first, false, &journal, &err), &err);
    journal_release(&journal);

    CHECK_OK(open_journal(output, &second, false, &journal, &err), &err);
    CHECK_STR(journal.generation.uid, "u-1");
    score(&journal, &lease);
    CHECK_OK(store_all(&journal, &err), &err);
    journal_release(&journal);

    CHECK_OK(open_journal(output, &second, false, &journal, &err), &err);
    CHECK_STR(journal.generation.uid, "u-1");
    journal_release(&journal);
}

static bool is_joined(struct store *output, const char *uid) {
    struct commit_identity identity = {.run = RUN, .uid = uid, .job = "j"};
    struct generation known;
    struct error err = {0};
    CHECK_OK(generation_scan(output, &identity, &known, &err), &err);
    return known.is_joined;
}

/* What a job has looked for in its input, it does not look for again with each coordinator. */
static void test_a_job_knows_what_it_has_written_into(void) {
    AUTO(store_freep) struct store *output = open_output("out/joined");
    static const struct {
        const char *uid;
        bool begins;
    } rows[] = {{"u-1", false}, {"u-2", false}, {"u-3", true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job job = job_of(RUN, rows[i].uid);
        struct journal journal;
        struct error err = {0};
        int64_t lease = 0;
        CHECK(!is_joined(output, rows[i].uid));
        CHECK_OK(open_journal(output, &job, rows[i].begins, &journal, &err), &err);
        if (rows[i].begins) {
            CHECK_OK(journal_begin(&journal, "anew", -1, &err), &err);
        }
        score(&journal, &lease);
        CHECK_OK(store_all(&journal, &err), &err);
        journal_release(&journal);
        for (size_t k = 0; k <= i; k++) { /* only who began it anew, once that was done */
            CHECK_INT(is_joined(output, rows[k].uid), !rows[i].begins || k == i);
        }
    }
}

/* A coordinator of the generation before, which was frozen, cannot commit any more. */
static void test_a_late_coordinator_is_fenced_out(void) {
    AUTO(store_freep) struct store *output = open_output("out/fenced");
    struct job first = job_of(RUN, "u-1"), second = job_of(RUN, "u-2");
    struct journal frozen, journal;
    struct error err = {0};
    int64_t lease = 0;
    CHECK_OK(open_journal(output, &first, false, &frozen, &err), &err);
    score(&frozen, &lease);
    CHECK_OK(store_all(&frozen, &err), &err);
    CHECK_OK(open_journal(output, &second, true, &journal, &err), &err);
    CHECK_OK(journal_begin(&journal, "anew", -1, &err), &err);
    score(&frozen, &lease);
    CHECK_INT(store_all(&frozen, &err), -1);
    CHECK_INT(err.kind, ERROR_BUSY);
    error_clear(&err);
    CHECK_INT(done(&journal), 0);
    journal_release(&frozen);
    journal_release(&journal);
    CHECK_OK(open_journal(output, &second, false, &journal, &err), &err);
    CHECK_INT(done(&journal), 0);
    journal_release(&journal);
}

/* What the log must say. */
struct course {
    int64_t stored, number, lease;
    uint64_t seed;
};

static void score_some(struct course *course, struct journal *journal) {
    struct error err = {0};
    for (uint64_t left = test_below(&course->seed, 4); left > 0 && done(journal) < CELLS; left--) {
        int64_t before = course->lease;
        score(journal, &course->lease);
        CHECK(course->lease > before);
        if (test_below(&course->seed, 2)) {
            CHECK_OK(store_all(journal, &err), &err);
            course->stored = done(journal);
        }
    }
    if (done(journal) == CELLS && test_below(&course->seed, 2)) {
        CHECK_OK(journal_end(journal, true, &err), &err);
        CHECK_OK(store_all(journal, &err), &err);
        course->stored = CELLS;
    }
}

/* A coordinator that dies at any moment. */
static void live(struct course *course, struct store *output, int turn) {
    char uid[16];
    struct error err = {0};
    struct journal journal;
    snprintf(uid, sizeof uid, "u-%d", turn);
    struct job job = job_of(RUN, uid);
    bool begins = test_below(&course->seed, 3) == 0;
    CHECK_OK(open_journal(output, &job, begins, &journal, &err), &err);
    if (begins && test_below(&course->seed, 4) == 0) { /* before it begins */
        journal_release(&journal);
        return;
    }
    if (begins) {
        CHECK_OK(journal_begin(&journal, uid, -1, &err), &err);
        course->number++;
        course->stored = 0;
    }
    CHECK_INT(done(&journal), course->stored);
    CHECK_INT(journal.generation.number, course->number);
    score_some(course, &journal);
    journal_release(&journal);
}

/* What the log says is what was stored in the last generation. */
static void test_any_course_gives_the_last_generation(void) {
    int64_t rounds = test_rounds(30);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        struct course course = {.lease = -1, .seed = test_mix(test_seed(1) + (uint64_t)round)};
        AUTO(text_freep) char *path = x_printf("out/course-%lld", (long long)round);
        AUTO(store_freep) struct store *output = open_output(path);
        for (int turn = 0; turn < 8 && !test_failures; turn++) {
            live(&course, output, turn);
        }
    }
}

/* The text of a record comes from a store that may hold anything. */
static void test_records_that_begin_nothing_are_refused(void) {
    static const struct {
        const char *text;
        int64_t number;
    } rows[] = {{"{\"run\":\"0123456789abcdef\"}", 2},
                {"{\"run\":\"0123456789abcdef\"}", 0},
                {"{\"run\":\"../../../../etc\"}", 1},
                {"{\"run\":\"0123456789abcdef\",\"keeps\":7}", 1},
                {"[]", 1},
                {"", 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct generation generation = {.keeps = -1};
        struct commit_head head = {.uid = "u", .job = "j"};
        struct commit_record record = {.type = COMMIT_BEGIN,
                                       .first = rows[i].number,
                                       .text = rows[i].text,
                                       .text_size = strlen(rows[i].text)};
        struct error err = {0};
        CHECK_INT(generation_see(&generation, &head, &record, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

/* A worker with that program joins, and scores a mini-batch. */
static void score_by(struct journal *journal, const char *program) {
    int64_t lease = 0;
    struct error err = {0};
    if (scored_by_add(&journal->programs, program)) { /* as the dispatcher does */
        commit_name_programs(journal->log, journal->programs);
    }
    score(journal, &lease);
    CHECK_OK(store_all(journal, &err), &err);
}

/* Who has made what counts is known to each coordinator after, and to a generation that keeps it.
 */
static int note_named(void *context, const struct commit_head *head,
                      const struct commit_record *record UNUSED, struct error *err UNUSED) {
    *(size_t *)context = json_array_size(head->programs);
    return 0;
}

/* How many programs the last commit with a record names. */
static size_t last_named(struct store *output, const struct job *job) {
    struct commit_identity identity = {.run = job->run, .uid = job->uid, .job = job->name};
    struct error err = {0};
    size_t count = 0;
    CHECK_OK(commit_scan(output, &identity, note_named, &count, &err), &err);
    return count;
}

static void test_programs_are_remembered(void) {
    AUTO(store_freep) struct store *output = open_output("out/programs");
    struct job job = job_of(RUN, "u-1");
    struct journal journal;
    struct error err = {0};
    static const struct {
        const char *program;
        bool begins;
        int64_t keeps;
        size_t count;
    } rows[] = {{"0.1.0 a", false, -1, 1}, {"0.1.0 b", false, -1, 2}, {"0.1.0 a", false, -1, 2},
                {"0.1.0 c", true, 0, 3},   {"0.1.0 c", false, -1, 3}, {"0.1.0 d", true, -1, 1},
                {"0.1.0 e", false, -1, 2}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_OK(open_journal(output, &job, rows[i].begins, &journal, &err), &err);
        if (rows[i].begins) {
            CHECK_OK(journal_begin(&journal, "", rows[i].keeps, &err), &err);
        }
        score_by(&journal, rows[i].program);
        CHECK_INT(json_array_size(journal.programs), rows[i].count);
        journal_release(&journal);
        CHECK_INT(last_named(output, &job), rows[i].count);
    }
    CHECK_OK(open_journal(output, &job, false, &journal, &err), &err);
    AUTO(tree_freep) json_t *told = scored_by_json(journal.programs);
    AUTO(text_freep) char *text = json_dumps(told, JSON_COMPACT);
    CHECK_STR(text, "[{\"version\":\"0.1.0\",\"sha256\":\"d\"},"
                    "{\"version\":\"0.1.0\",\"sha256\":\"e\"}]");
    journal_release(&journal);
}

/* What workers have asked that died before or with a coordinator is known to the next one, also
 * of another job that goes on with the run, as its results are, though not in another generation.
 */
static void test_requests_are_remembered(void) {
    AUTO(store_freep) struct store *output = open_output("out/requests");
    struct journal journal;
    struct error err = {0};
    static const struct {
        const char *uid;
        int answers; /* that are reported; 0: none */
        bool begins;
        int before; /* that the coordinator knows when it begins */
    } rows[] = {{"u-1", 0, false, 0}, {"u-1", 5, false, 0}, {"u-1", 0, false, 5},
                {"u-1", 7, false, 5}, {"u-2", 0, false, 7}, {"u-2", 3, false, 7},
                {"u-2", 2, true, 0},  {"u-2", 0, false, 2}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job job = job_of(RUN, rows[i].uid);
        AUTO(tree_freep) json_t *told = json_pack("{s:{s:i}}", "w", "answers", rows[i].answers);
        int64_t lease = 0;
        CHECK_OK(open_journal(output, &job, rows[i].begins, &journal, &err), &err);
        if (rows[i].begins) {
            CHECK_OK(journal_begin(&journal, "", -1, &err), &err);
        }
        CHECK_INT(tree_integer(journal.requests, "w.answers", 0), rows[i].before);
        if (rows[i].answers > 0) {
            commit_name_requests(journal.log, told);
        }
        score(&journal, &lease);
        CHECK_OK(store_all(&journal, &err), &err);
        score(&journal, &lease); /* in the next commit, which says nothing more */
        CHECK_OK(store_all(&journal, &err), &err);
        journal_release(&journal);
    }
}

/* A commit has room for its records whatever workers say. */
static void test_large_costs_are_left_out(void) {
    AUTO(store_freep) struct store *output = open_output("out/large");
    struct job job = job_of(RUN, "u-1");
    struct journal journal;
    struct error err = {0};
    int64_t lease = 0;
    AUTO(tree_freep) json_t *large = json_array();
    for (int i = 0; i < COMMIT_REQUESTS_BYTES / 2; i++) {
        json_array_append_new(large, json_integer(i % 10));
    }
    AUTO(tree_freep) json_t *told = json_pack("{s:O}", "w", large);
    CHECK_OK(open_journal(output, &job, false, &journal, &err), &err);
    commit_name_requests(journal.log, told);
    score(&journal, &lease);
    CHECK_OK(store_all(&journal, &err), &err);
    journal_release(&journal);
    CHECK_OK(open_journal(output, &job, false, &journal, &err), &err);
    CHECK_INT(done(&journal), 1);
    CHECK(!journal.requests);
    journal_release(&journal);
}

int main(void) {
    fixtures_start("generation");
    TEST(test_a_generation_forgets_the_one_before);
    TEST(test_a_claim_without_results_is_its_jobs);
    TEST(test_a_job_knows_what_it_has_written_into);
    TEST(test_a_late_coordinator_is_fenced_out);
    TEST(test_programs_are_remembered);
    TEST(test_requests_are_remembered);
    TEST(test_large_costs_are_left_out);
    TEST(test_any_course_gives_the_last_generation);
    TEST(test_records_that_begin_nothing_are_refused);
    return TEST_END();
}
