// SPDX-License-Identifier: Apache-2.0
/* Texts about a gang for people: its state, the end of a round, the job's end. */
#include "agent/launch/gang/gang_progress.h"

#include "lib/contract.h"
#include "tests/test.h"

#include <stdlib.h>

static void check(const struct gang_progress *progress, const char *wanted) {
    AUTO(tree_freep) json_t *tree = gang_progress_json(progress);
    AUTO(text_freep) char *text = json_dumps(tree, JSON_COMPACT);
    CHECK_STR(text, wanted);
}

static void test_states(void) {
    static const struct {
        enum gang_state state;
        int registered;
        bool has_run, is_finished;
        const char *wanted;
    } rows[] = {{GANG_STATE_GATHERING, 2, false, false, "Gathering"},
                {GANG_STATE_GATHERING, 3, false, false, "Preparing"},
                {GANG_STATE_CONFIGURING, 3, false, false, "Preparing"},
                {GANG_STATE_RUNNING, 3, true, false, "Running"},
                {GANG_STATE_STOPPING, 3, true, false, "Stopping"},
                {GANG_STATE_BACKOFF, 3, true, false, "Restarting"},
                {GANG_STATE_GATHERING, 1, true, false, "Restarting"},
                {GANG_STATE_CONFIGURING, 3, true, false, "Restarting"},
                {GANG_STATE_CHECKING, 3, true, false, "Running"},
                {GANG_STATE_FINISHED, 3, true, true, "Succeeded"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang_facts facts = {.state = rows[i].state,
                                   .registered = rows[i].registered,
                                   .prepared = 1,
                                   .proof_by = GANG_PROOF_RANKS,
                                   .proof_count = 4};
        struct gang_progress progress = {.facts = &facts,
                                         .workers = 3,
                                         .has_run = rows[i].has_run,
                                         .is_finished = rows[i].is_finished};
        AUTO(text_freep)
        char *wanted =
            x_printf("{\"state\":\"%s\",\"workers\":{\"registered\":%d,\"prepared\":1},"
                     "\"restarts\":{\"counted\":0,\"disrupted\":0}%s}",
                     rows[i].wanted, rows[i].registered,
                     rows[i].is_finished ? ",\"proof\":{\"by\":\"Ranks\",\"count\":4}" : "");
        check(&progress, wanted);
    }
}

/* The last restart, and the end that has the same cause. */
static void test_causes(void) {
    static const struct {
        struct gang_failure last;
        const char *cause, *reason, *message;
    } rows[] = {
        {{GANG_CAUSE_APP, 2, 5, 7, "no such file"},
         "\"cause\":\"App\",\"index\":2,\"rank\":5,\"exitCode\":7",
         "RankFailed",
         "worker 2, rank 5 ended with exit code 7: no such file"},
        {{GANG_CAUSE_APP, 0, -1, 205, ""},
         "\"cause\":\"App\",\"index\":0,\"exitCode\":205",
         "RankFailed",
         "worker 0 ended with exit code 205"},
        {{GANG_CAUSE_APP, 1, 1, 137, ""},
         "\"cause\":\"App\",\"index\":1,\"rank\":1,\"exitCode\":137",
         "RankFailed",
         "worker 1, rank 1 ended with exit code 137 (128 + signal 9: killed)"},
        {{GANG_CAUSE_MEMORY, 1, -1, -1, "the kernel ended it"},
         "\"cause\":\"Memory\",\"index\":1",
         "OutOfMemory",
         "worker 1: the kernel ended it"},
        {{GANG_CAUSE_HANG, 1, 3, -1, "process 9 is stopped"},
         "\"cause\":\"Hang\",\"index\":1,\"rank\":3",
         "Hung",
         "worker 1, rank 3 made no progress: process 9 is stopped"},
        {{GANG_CAUSE_HANG, -1, -1, -1, ""},
         "\"cause\":\"Hang\"",
         "Hung",
         "the workers made no progress"},
        {{GANG_CAUSE_FATAL, 1, -1, GANG_CODE_NOT_FOUND, "spec.command: no"},
         "\"cause\":\"Final\",\"index\":1,\"exitCode\":127",
         "CommandNotFound",
         "worker 1: spec.command: no"},
        {{GANG_CAUSE_FATAL, 1, -1, 1, "spec.prepare ended with 4"},
         "\"cause\":\"Final\",\"index\":1,\"exitCode\":1",
         "PrepareFailed",
         "worker 1: spec.prepare ended with 4"},
        {{GANG_CAUSE_FATAL, 1, 0, 2, "the loss is NaN"},
         "\"cause\":\"Final\",\"index\":1,\"rank\":0,\"exitCode\":2",
         "RankFailed",
         "worker 1, rank 0: the loss is NaN"},
        {{GANG_CAUSE_FATAL, 1, 0, TRAINER_BAD_DATA, "x.npy: sample 3"},
         "\"cause\":\"Final\",\"index\":1,\"rank\":0,\"exitCode\":5",
         "BadData",
         "worker 1, rank 0: x.npy: sample 3"},
        {{GANG_CAUSE_REPEATED, 0, -1, 1, "failed twice in the same way"},
         "\"cause\":\"Final\",\"index\":0,\"exitCode\":1",
         "RankFailed",
         "worker 0: failed twice in the same way"},
        {{GANG_CAUSE_REPEATED, 0, -1, GANG_CODE_NOT_FOUND, "ended with exit code 127"},
         "\"cause\":\"Final\",\"index\":0,\"exitCode\":127",
         "CommandNotFound",
         "worker 0: ended with exit code 127"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang_facts facts = {.state = GANG_STATE_FINISHED,
                                   .counted_restarts = 3,
                                   .uncounted_restarts = 1,
                                   .last_failure = rows[i].last};
        struct gang_progress progress = {
            .facts = &facts, .workers = 3, .has_run = true, .is_finished = true, .code = 1};
        AUTO(text_freep)
        char *wanted =
            x_printf("{\"state\":\"Failed\",\"workers\":{\"registered\":0,\"prepared\":0}"
                     ",\"restarts\":{\"counted\":3,\"disrupted\":1,\"last\":{%s,"
                     "\"message\":\"%s\"}},\"reason\":\"%s\",\"message\":\"%s\"}",
                     rows[i].cause, rows[i].message, rows[i].reason, rows[i].message);
        check(&progress, wanted);
    }
}

/* Before any start there is no other text; while it runs, earlier causes are not shown. */
static void test_waits(void) {
    static const enum gang_state states[] = {GANG_STATE_GATHERING, GANG_STATE_RUNNING};
    static const char *const wanted[] = {"worker 1: out of reach", ""};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        struct gang_facts facts = {.state = states[i],
                                   .registered = 3,
                                   .uncounted_restarts = 1,
                                   .last_failure = {GANG_CAUSE_LOST, 1, -1, -1, "out of reach"}};
        AUTO(tree_freep)
        json_t *tree = gang_progress_json(&(struct gang_progress){.facts = &facts, .workers = 3});
        CHECK_STR(tree_text(tree, "message", ""), wanted[i]);
        CHECK_STR(tree_text(tree, "restarts.last.message", ""), "worker 1: out of reach");
    }
}

/* While it is tried again; a round that ends has other causes. */
static void test_what_keeps_the_result_from_being_stored(void) {
    static const struct {
        enum gang_state state;
        const char *waits, *wanted;
    } rows[] = {{GANG_STATE_RUNNING, "out: full", CONTRACT_WAITS "out: full"},
                {GANG_STATE_CHECKING, "out: full", CONTRACT_WAITS "out: full"},
                {GANG_STATE_RUNNING, "", ""},
                {GANG_STATE_RUNNING, NULL, ""},
                {GANG_STATE_STOPPING, "out: full", ""},
                {GANG_STATE_FINISHED, "out: full", ""}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang_facts facts = {.state = rows[i].state, .registered = 3};
        struct gang_progress progress = {.facts = &facts,
                                         .workers = 3,
                                         .has_run = true,
                                         .is_finished = rows[i].state == GANG_STATE_FINISHED,
                                         .waits = rows[i].waits};
        AUTO(tree_freep) json_t *tree = gang_progress_json(&progress);
        CHECK_STR(tree_text(tree, "message", ""), rows[i].wanted);
    }
}

int main(void) {
    TEST(test_what_keeps_the_result_from_being_stored);
    TEST(test_waits);
    TEST(test_states);
    TEST(test_causes);
    return TEST_END();
}
