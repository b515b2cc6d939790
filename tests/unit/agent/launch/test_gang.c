// SPDX-License-Identifier: Apache-2.0
/* Single decisions of the gang, where a course of test_gang_model.c would hardly come by. */
#include "agent/launch/gang.h"

#include "tests/test.h"

static bool tell(struct gang *gang, enum gang_event_kind kind, int index, int64_t attempt,
                 int64_t now_ms) {
    struct gang_facts facts;
    gang_facts(gang, &facts);
    struct gang_event event = {.kind = kind,
                               .index = index,
                               .incarnation = attempt == 1 ? "first" : "second",
                               .round = kind == GANG_HELLO ? 0 : facts.round,
                               .attempt = attempt,
                               .seen = 1,
                               .is_prepared = true,
                               .rank = -1,
                               .code = -1,
                               .seconds = 28};
    return gang_tell(gang, &event, now_ms);
}

/* The last action of all that are due; -1: none. */
static int last_action(struct gang *gang, int64_t now_ms) {
    struct gang_action action;
    int last = -1;
    while (gang_next(gang, now_ms, &action)) {
        last = (int)action.kind;
    }
    return last;
}

static bool is_early(const struct gang *gang) {
    struct gang_event hello = {
        .kind = GANG_HELLO, .index = 1, .incarnation = "second", .attempt = 2, .seen = 1};
    return gang_is_early(gang, &hello);
}

static struct gang *run(const struct gang_options *options) {
    struct gang *gang = gang_new(options);
    CHECK(tell(gang, GANG_HELLO, 0, 1, 0) && tell(gang, GANG_HELLO, 1, 1, 0));
    CHECK_INT(last_action(gang, 0), GANG_ARM);
    CHECK(tell(gang, GANG_READY, 0, 1, 0) && tell(gang, GANG_READY, 1, 1, 0));
    CHECK_INT(last_action(gang, 0), GANG_START);
    return gang;
}

static struct gang *running(void) {
    static const struct gang_options options = {
        .workers = 2, .min_workers = 2, .slots = 1, .attempt = 1};
    return run(&options);
}

/* A pod that is told to leave has its successor within seconds, and needs longer for a last
 * checkpoint: the successor does not cut that short. */
static void test_successor_waits(void) {
    struct gang *gang = running();
    CHECK(!is_early(gang)); /* nobody leaves: the pod is gone, and nobody has heard of it */
    CHECK(tell(gang, GANG_LEAVING, 1, 1, 100));
    CHECK_INT(last_action(gang, 100), GANG_NOTICE);
    CHECK(is_early(gang));
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS - 1), -1);
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS), GANG_STOP);
    CHECK(is_early(gang)); /* its programs have heard SIGTERM */
    CHECK(tell(gang, GANG_STOPPED, 1, 1, 21000));
    CHECK(!is_early(gang));
    CHECK(tell(gang, GANG_HELLO, 1, 2, 21000));
    CHECK(tell(gang, GANG_STOPPED, 0, 1, 21000));
    CHECK_INT(last_action(gang, 21000), GANG_ARM);
    gang_free(gang);
}

/* Who does not answer any more is not waited for. */
static void test_successor_of_a_dead_one(void) {
    struct gang *gang = running();
    CHECK(tell(gang, GANG_LEAVING, 1, 1, 100));
    CHECK(is_early(gang));
    CHECK(tell(gang, GANG_SILENT, 1, 1, 200));
    CHECK(!is_early(gang));
    gang_free(gang);
    gang = running();
    CHECK(tell(gang, GANG_LEAVING, 1, 1, 0));
    CHECK_INT(last_action(gang, GANG_NOTICE_MS), GANG_STOP);
    CHECK_INT(last_action(gang, GANG_NOTICE_MS + GANG_STOP_MS), -1);
    CHECK(!is_early(gang)); /* it has not answered STOP: lost */
    gang_free(gang);
}

/* Nobody goes on: a program that does not heed the notice keeps its GPUs for less. */
static void test_all_leave(void) {
    static const struct gang_options options = {
        .workers = 2, .min_workers = 2, .slots = 1, .attempt = 1, .parting_ms = GANG_PARTING_MS};
    struct gang *gang = run(&options);
    CHECK(tell(gang, GANG_LEAVING, 1, 1, 100));
    CHECK_INT(last_action(gang, 100), GANG_NOTICE);
    CHECK_INT(last_action(gang, 100 + GANG_PARTING_MS), -1); /* one alone has its time */
    CHECK(tell(gang, GANG_LEAVING, 0, 1, 6000));
    CHECK_INT(last_action(gang, 6000 + GANG_PARTING_MS - 1), -1);
    CHECK_INT(last_action(gang, 6000 + GANG_PARTING_MS), GANG_STOP);
    gang_free(gang);
    gang = run(&options);
    CHECK(tell(gang, GANG_LEAVING, 1, 1, 100));
    CHECK(tell(gang, GANG_LEAVING, 0, 1, 19000)); /* the first one's time is over before */
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS), GANG_STOP);
    gang_free(gang);
}

int main(void) {
    TEST(test_all_leave);
    TEST(test_successor_waits);
    TEST(test_successor_of_a_dead_one);
    return TEST_END();
}
