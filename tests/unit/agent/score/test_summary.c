// SPDX-License-Identifier: Apache-2.0
#include "agent/score/summary.h"

#include "tests/test.h"

static void test_the_summary_tells_what_failed_and_who_did_what(void) {
    struct error err = {0};
    struct ledger *ledger = NULL;
    struct ledger_options options = {17, 8, 1, 1000, 1};
    CHECK_OK(ledger_new(&options, &ledger, &err), &err);
    int worker = -1;
    CHECK_OK(ledger_join(ledger, "w-0", &worker, &err), &err);
    struct ledger_lease lease;
    CHECK(ledger_grant(ledger, 0, &lease));
    ledger_finish(ledger, &lease, 8, 0, NULL);
    CHECK(ledger_grant(ledger, 0, &lease));
    ledger_fail(ledger, &lease, "frame 9: bad", 0, NULL);
    struct progress progress;
    progress_init(&progress);
    progress.state = PROGRESS_FAILED;
    struct job job = {.name = "j", .run = "0123456789abcdef", .batch_items = 8};
    struct summary summary = {&job, &progress, ledger, 0, 61000};
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

int main(void) {
    TEST(test_the_summary_tells_what_failed_and_who_did_what);
    return TEST_END();
}
