// SPDX-License-Identifier: Apache-2.0
/* A gang under a hub whose predecessor died after all ranks had ended with 0. */
#include "agent/launch/gang/gang_state.h"

#include "tests/test.h"
#include "tests/unit/agent/launch/gang/gang_play.h"

enum { WORKERS = 2, SLOTS = 2, ROUND = 1 << GANG_ROUND_BITS | 7 };

static void checked(struct gang *gang, int code, int64_t now_ms) {
    struct gang_event event = {.kind = GANG_EVENT_CHECKED,
                               .incarnation = "second",
                               .round = ROUND,
                               .code = code,
                               .detail = "model.onnx is not there"};
    CHECK(gang_handle(gang, &event, now_ms));
}

/* The successor of a hub that died after all had ended with 0: nothing is started. */
static void a_successor_goes_on_with_the_check(void) {
    for (int is_command = 0; is_command < 2; is_command++) {
        const struct gang_options options = {
            .workers = WORKERS,
            .min_workers = WORKERS,
            .slots = SLOTS,
            .processes = is_command ? SLOTS : 0,
            .checks_result = true,
            .may_lack_result = is_command,
            .ended = {.round = ROUND, .by = GANG_PROOF_RANKS, .count = 4},
            .max_restarts = 3,
            .attempt = 2};
        struct gang *gang = gang_new(&options);
        struct gang_action action;
        struct gang_facts facts;
        int64_t now_ms = 5 * GANG_CHECK_MS; /* a machine that has run for long */
        CHECK(gang_next_action(gang, now_ms, &action) && action.kind == GANG_ACTION_CHECK &&
              action.round == ROUND);
        CHECK_INT(gang_deadline_ms(gang), now_ms + GANG_CHECK_MS);
        for (int i = 0; i < WORKERS; i++) {
            CHECK(tell(gang, GANG_EVENT_HELLO, i, 2, now_ms));
        }
        CHECK_INT(last_action(gang, now_ms), is_command ? (int)GANG_ACTION_RELEASE : -1);
        checked(gang, 0, now_ms + 1);
        CHECK_INT(last_action(gang, now_ms + 1), GANG_ACTION_FINISH);
        gang_read_facts(gang, &facts);
        CHECK(facts.proof_by == GANG_PROOF_RANKS && facts.proof_count == 4);
        CHECK_INT(facts.round, ROUND);
        gang_free(gang);
    }
}

/* ... unless a training's result is not complete: then a round of its own follows. */
static void a_successor_finds_a_wrong_result(void) {
    const struct gang_options options = {
        .workers = WORKERS,
        .min_workers = WORKERS,
        .slots = SLOTS,
        .checks_result = true,
        .ended = {.round = ROUND, .by = GANG_PROOF_RANKS, .count = 4},
        .max_restarts = 3,
        .attempt = 2};
    struct gang *gang = gang_new(&options);
    struct gang_facts facts;
    CHECK_INT(last_action(gang, 0), GANG_ACTION_CHECK);
    for (int i = 0; i < WORKERS; i++) {
        CHECK(tell(gang, GANG_EVENT_HELLO, i, 2, 0));
    }
    checked(gang, 1, 100);
    CHECK_INT(last_action(gang, 100 + GANG_EXPLAIN_RANK_MS), GANG_ACTION_CONFIGURE);
    gang_read_facts(gang, &facts);
    CHECK_INT(facts.round, 2 << GANG_ROUND_BITS | 1);
    CHECK_INT(facts.counted_restarts, 1);
    CHECK(facts.proof_by == GANG_PROOF_COMMAND && facts.proof_count == 1);
    gang_free(gang);
}

int main(void) {
    TEST(a_successor_goes_on_with_the_check);
    TEST(a_successor_finds_a_wrong_result);
    return TEST_END();
}
