// SPDX-License-Identifier: Apache-2.0
/* Restarts are counted against what is kept: as rank 0 reports it, as the store shows it, and when
 * a loss is explained late. */
#include "agent/launch/gang/gang_state.h"

#include "tests/test.h"
#include "tests/unit/agent/launch/gang/gang_play.h"

enum evidence { REPORTED, STORED, NOT_SEEN, OF_ANOTHER_ROUND };

/* Rank 0 reports what it has stored; or it dies before, and the hub looks. */
static void show(struct gang *gang, enum evidence evidence, int64_t round, int64_t step) {
    if (evidence == REPORTED) {
        gang_note_checkpoint(gang, step);
    } else if (evidence == STORED) {
        gang_note_stored_step(gang, round, step);
    } else if (evidence == OF_ANOTHER_ROUND) {
        gang_note_stored_step(gang, round - 1, step + 1000000);
    }
}

/* Runs rounds that fail after a second, until the job ends; how many there were. Before every
 * `each`-th end a newer checkpoint is stored; 0: never. */
static int count_rounds(const struct gang_options *options, int each, enum evidence evidence) {
    struct gang *gang = run(options);
    struct gang_facts facts;
    int rounds = 0, looks = 0;
    for (int64_t now_ms = 1000; now_ms < 1000000000; now_ms += 1000) {
        if (last_action(gang, now_ms) == GANG_ACTION_LOOK) {
            gang_read_facts(gang, &facts);
            CHECK_INT(facts.state, GANG_STATE_STOPPING); /* the restart waits for the answer */
            show(gang, evidence, facts.round, each ? rounds / each : 0);
            looks++;
        }
        gang_read_facts(gang, &facts);
        struct gang_event event = {
            .incarnation = "first", .round = facts.round, .attempt = 1, .code = 1};
        if (facts.state == GANG_STATE_FINISHED) {
            break;
        }
        if (facts.state == GANG_STATE_RUNNING && facts.round > 0) {
            event.kind = GANG_EVENT_EXITED;
            (void)gang_handle(gang, &event, now_ms);
            (void)last_action(gang, now_ms + GANG_EXPLAIN_RANK_MS);
            rounds++;
            evidence == REPORTED ? show(gang, evidence, facts.round, each ? rounds / each : 0)
                                 : (void)0;
        }
        event.kind = facts.state == GANG_STATE_CONFIGURING ? GANG_EVENT_READY : GANG_EVENT_STOPPED;
        (void)gang_handle(gang, &event, now_ms + GANG_EXPLAIN_RANK_MS);
    }
    CHECK_INT(facts.state, GANG_STATE_FINISHED);
    CHECK(facts.counted_restarts - facts.forgiven <= options->max_restarts);
    CHECK_INT(facts.counted_restarts, options->counted_restarts + rounds - 1);
    CHECK_INT(looks, options->looks_for_kept ? rounds : 0);
    gang_free(gang);
    return rounds;
}

/* The budget is against what is kept, with a second one for the whole life. */
static void a_checkpoint_starts_the_count_anew(void) {
    static const struct {
        int max, earlier, forgiven, each, rounds;
    } rows[] = {{2, 0, 0, 0, 3},    {2, 0, 0, 1, 31},  {2, 0, 0, 2, 31},
                {2, 0, 0, 3, 5},    {0, 0, 0, 1, 1},   {2, 20, 19, 0, 2},
                {2, 20, 19, 1, 11}, {2, 30, 30, 1, 1}, {1, 1, 0, 0, 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows) * (OF_ANOTHER_ROUND + 1); i++) {
        size_t row = i % ARRAY_LEN(rows);
        enum evidence evidence = (enum evidence)(i / ARRAY_LEN(rows));
        bool is_seen = evidence == REPORTED || evidence == STORED;
        struct gang_options options = {.workers = 1,
                                       .min_workers = 1,
                                       .slots = 1,
                                       .processes = 1,
                                       .looks_for_kept = evidence != REPORTED,
                                       .max_restarts = rows[row].max,
                                       .counted_restarts = rows[row].earlier,
                                       .forgiven = rows[row].forgiven,
                                       .attempt = 1};
        int left = MAX(rows[row].max - (rows[row].earlier - rows[row].forgiven), 0) + 1;
        int wanted = is_seen ? rows[row].rounds : left;
        int rounds = count_rounds(&options, rows[row].each, evidence);
        if (rounds != (rows[row].earlier == 30 ? 1 : wanted)) {
            printf("# row %zu, evidence %d: %d rounds, wanted %d\n", row, (int)evidence, rounds,
                   wanted);
            CHECK(false);
        }
    }
}

/* Whether the last of this many restarts is allowed. */
static bool count_restarts(struct gang *gang, int count) {
    bool is_allowed = true;
    for (int i = 0; i < count; i++) {
        is_allowed = gang_count_restart(gang);
    }
    return is_allowed;
}

/* A job that is applied again, or the successor of a hub: what is stored is not its progress. */
static void what_was_stored_before_is_no_progress(void) {
    for (int64_t attempt = 1; attempt <= 2; attempt++) {
        struct gang_facts facts;
        struct gang_options options = {.workers = 1,
                                       .min_workers = 1,
                                       .slots = 1,
                                       .processes = 1,
                                       .looks_for_kept = true,
                                       .max_restarts = 3,
                                       .attempt = attempt};
        struct gang *gang = gang_new(&options);
        CHECK_INT(last_action(gang, 0), GANG_ACTION_LOOK);
        gang_note_stored_step(gang, 0, 500);
        CHECK(count_restarts(gang, 3));
        gang_note_checkpoint(gang, 500); /* rank 0 has loaded it */
        CHECK(!count_restarts(gang, 1));
        gang_read_facts(gang, &facts);
        CHECK_INT(facts.forgiven, 0);
        gang_free(gang);
        gang = gang_new(&options);
        CHECK_INT(last_action(gang, 0), GANG_ACTION_LOOK);
        gang_note_stored_step(gang, 0, 500);
        CHECK(count_restarts(gang, 3));
        gang_note_checkpoint(gang, 501);
        CHECK(count_restarts(gang, 1));
        gang_free(gang);
    }
}

/* A member disconnects while what is kept is looked up: the hub does not run in circles until it is
 * back or lost. */
static void a_round_that_waits_has_a_deadline_to_come(void) {
    static const struct gang_options options = {.workers = 2,
                                                .min_workers = 2,
                                                .slots = 1,
                                                .looks_for_kept = true,
                                                .max_restarts = 3,
                                                .attempt = 1};
    struct gang *gang = run(&options);
    struct gang_facts facts;
    gang_read_facts(gang, &facts);
    struct gang_event exited = {
        .kind = GANG_EVENT_EXITED, .incarnation = "first", .round = facts.round, .code = 1};
    CHECK(gang_handle(gang, &exited, 1000));
    CHECK(tell(gang, GANG_EVENT_STOPPED, 0, 1, 1000));
    CHECK(tell(gang, GANG_EVENT_STOPPED, 1, 1, 1000));
    CHECK_INT(last_action(gang, 1600), GANG_ACTION_LOOK);
    CHECK(tell(gang, GANG_EVENT_DISCONNECTED, 1, 1, 2000));
    int turns = 0;
    for (int64_t now_ms = 2000; turns < 100; turns++) {
        (void)last_action(gang, now_ms);
        gang_read_facts(gang, &facts);
        if (facts.state != GANG_STATE_STOPPING) {
            break;
        }
        CHECK(gang_deadline_ms(gang) > now_ms);
        now_ms = MAX(gang_deadline_ms(gang), now_ms);
    }
    CHECK(turns < 5);
    gang_free(gang);
}

/* A pod that was silent and then is said to have run out of memory is counted: what its round had
 * kept is looked up when it ends. */
static void a_loss_that_is_explained_has_evidence(void) {
    static const struct gang_options options = {.workers = 2,
                                                .min_workers = 2,
                                                .slots = 1,
                                                .looks_for_kept = true,
                                                .max_restarts = 1,
                                                .counted_restarts = 1,
                                                .attempt = 1};
    for (int64_t step = 0; step <= 100; step += 100) {
        struct gang *gang = run(&options);
        struct gang_facts facts;
        struct gang_event hello = {.kind = GANG_EVENT_HELLO,
                                   .index = 1,
                                   .attempt = 2,
                                   .is_memory = true,
                                   .incarnation = "second",
                                   .detail = "raise the limit"};
        CHECK(tell(gang, GANG_EVENT_DISCONNECTED, 1, 1, 1000));
        CHECK_INT(last_action(gang, 16000), GANG_ACTION_STOP);
        CHECK(tell(gang, GANG_EVENT_STOPPED, 0, 1, 16001));
        CHECK_INT(last_action(gang, 16001), GANG_ACTION_LOOK);
        gang_read_facts(gang, &facts);
        gang_note_stored_step(gang, facts.round, step);
        CHECK(gang_handle(gang, &hello, 20000));
        gang_read_facts(gang, &facts);
        CHECK_INT(facts.state == GANG_STATE_FINISHED, step == 0);
        CHECK_INT(facts.last_failure.cause, GANG_CAUSE_MEMORY);
        CHECK_INT(facts.counted_restarts, step ? 2 : 1);
        gang_free(gang);
    }
}

int main(void) {
    TEST(a_checkpoint_starts_the_count_anew);
    TEST(what_was_stored_before_is_no_progress);
    TEST(a_round_that_waits_has_a_deadline_to_come);
    TEST(a_loss_that_is_explained_has_evidence);
    return TEST_END();
}
