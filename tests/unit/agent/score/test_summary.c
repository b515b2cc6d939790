// SPDX-License-Identifier: Apache-2.0
#include "agent/score/summary.h"

#include "tests/test.h"

#include <stdlib.h>

/* A ledger of so many items in mini-batches of 8, tried once. */
static struct ledger *new_ledger(int64_t items) {
    struct error err = {0};
    struct ledger_options options = {.cell_items = 8,
                                     .max_tries = 1,
                                     .timeout_ms = 1000,
                                     .errors_max = -1,
                                     .batch_errors_max = -1,
                                     .batch_errors_percent = -1};
    struct ledger *ledger = ledger_new(&options);
    CHECK_OK(ledger_extend(ledger, (items + 7) / 8, items, true, &err), &err);
    return ledger;
}

static void test_the_summary_tells_what_failed_and_who_did_what(void) {
    struct error err = {0};
    struct ledger *ledger = new_ledger(17);
    int worker = -1;
    CHECK_OK(ledger_join(ledger, "w-0", 1, &worker, &err), &err);
    struct ledger_lease lease;
    CHECK(ledger_grant(ledger, 0, &lease));
    struct ledger_report fine = {.worker = worker, .lease = lease.lease, .items = 8};
    CHECK_INT(ledger_report(ledger, &fine, 0, NULL), LEDGER_DONE);
    CHECK(ledger_grant(ledger, 0, &lease));
    struct ledger_report bad = {
        .worker = worker, .lease = lease.lease, .fault = LEDGER_SCORER, .cause = "frame 9: bad"};
    CHECK_INT(ledger_report(ledger, &bad, 0, NULL), LEDGER_FAILED);
    struct progress progress;
    progress_init(&progress);
    progress.state = PROGRESS_FAILED;
    struct job job = {.name = "j", .uid = "u-1", .run = "0123456789abcdef", .batch_items = 8};
    struct summary summary = {&job, &progress, ledger, 0, 61000, 1};
    AUTO(tree_freep) json_t *tree = summary_json(&summary);
    CHECK_STR(tree_text(tree, "state", ""), "Failed");
    CHECK_STR(tree_text(tree, "started", ""), "1970-01-01T00:00:00Z");
    CHECK_STR(tree_text(tree, "completed", ""), "1970-01-01T00:01:01Z");
    CHECK_INT(tree_integer(tree, "items.failed", -1), 8);
    CHECK_INT(tree_integer(tree, "failed[0].firstItem", -1), 8);
    CHECK_STR(tree_text(tree, "failed[0].cause", ""), "frame 9: bad");
    CHECK_STR(tree_text(tree, "failed[0].worker", ""), "w-0");
    CHECK_INT(tree_integer(tree, "workers[0].items", -1), 8);
    CHECK_INT(tree_integer(tree, "workers[0].errors", -1), 1);
    ledger_free(ledger);
}

/* The end of a job of one mini-batch, as its coordinator writes it; the caller frees. */
static char *ended(const struct job *job, enum progress_state state, int exit_code) {
    struct ledger *ledger = new_ledger(8);
    struct progress progress;
    progress_init(&progress);
    progress.state = state;
    snprintf(progress.message, sizeof progress.message, "why");
    AUTO(tree_freep) json_t *outputs = json_pack("[s]", "out/x/film.mp4");
    progress.outputs = outputs;
    struct summary summary = {job, &progress, ledger, 0, 61000, exit_code};
    AUTO(tree_freep) json_t *tree = summary_json(&summary);
    ledger_free(ledger);
    return json_dumps(tree, 0);
}

static void test_a_summary_says_again_how_it_ended(void) {
    static const struct {
        enum progress_state state;
        int exit_code;
        const char *uid, *run;
        bool is_the_end;
    } rows[] = {
        {PROGRESS_SUCCEEDED, 0, "u-1", "0123456789abcdef", true},
        {PROGRESS_FAILED, 1, "u-1", "0123456789abcdef", true},
        {PROGRESS_FAILED, 130, "u-1", "0123456789abcdef", false}, /* told to stop: it goes on */
        {PROGRESS_FAILED, 0, "u-1", "0123456789abcdef", false},
        {PROGRESS_RUNNING, 0, "u-1", "0123456789abcdef", false},
        {PROGRESS_SUCCEEDED, 0, "u-2", "0123456789abcdef", false}, /* applied anew */
        {PROGRESS_SUCCEEDED, 0, "u-1", "1123456789abcdef", false},
    };
    struct job job = {.name = "j", .uid = "u-1", .run = "0123456789abcdef", .output = "out/x"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job writer = job;
        int code = -1;
        writer.uid = rows[i].uid;
        writer.run = rows[i].run;
        AUTO(text_freep) char *text = ended(&writer, rows[i].state, rows[i].exit_code);
        AUTO(tree_freep) json_t *words = summary_words(&job, false, text, strlen(text), &code);
        CHECK_INT(words != NULL, rows[i].is_the_end);
        CHECK_INT(code, rows[i].is_the_end ? rows[i].exit_code : -1);
        if (words) {
            CHECK_STR(tree_text(words, "state", ""), progress_state_name(rows[i].state));
            CHECK_STR(tree_text(words, "message", ""), "why");
            CHECK_STR(tree_text(words, "outputs[0]", ""), "out/x/film.mp4");
            CHECK_STR(tree_text(words, "summary", ""), "out/x/summary.json");
            CHECK_INT(tree_integer(words, "items.total", -1), 8);
            CHECK_INT(tree_integer(words, "secondsLeft", -1), 0);
        }
    }
}

static void test_a_broken_summary_is_none(void) {
    static const char whole[] = "{\"uid\": \"u-1\", \"run\": \"0123456789abcdef\", "
                                "\"state\": \"Succeeded\", \"exitCode\": 0";
    static const char *const endings[] = {
        "",
        "}",
        ", \"message\": \"\", \"itemsPerSecond\": \"1\", \"outputs\": [7]}",
        ", \"message\": \"\", \"itemsPerSecond\": \"1\", \"outputs\": [], \"items\": 3}",
    };
    struct job job = {.name = "j", .uid = "u-1", .run = "0123456789abcdef", .output = "out/x"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        int code = -1;
        AUTO(text_freep) char *text = x_printf("%s%s", whole, endings[i]);
        CHECK(!summary_words(&job, false, text, strlen(text), &code));
        CHECK_INT(code, -1);
    }
}

int main(void) {
    TEST(test_the_summary_tells_what_failed_and_who_did_what);
    TEST(test_a_summary_says_again_how_it_ended);
    TEST(test_a_broken_summary_is_none);
    return TEST_END();
}
