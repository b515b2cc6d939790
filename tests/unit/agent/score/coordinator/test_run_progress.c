// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/run_progress.h"

#include "agent/score/wire/request_metrics.h"
#include "tests/test.h"

#include <math.h>

static void test_a_steady_run_has_a_steady_rate(void) {
    struct run_progress progress;
    run_progress_init(&progress);
    progress.state = PROGRESS_RUNNING;
    CHECK(run_progress_rate(&progress, 5000) == 0);
    run_progress_start(&progress, 1000);
    CHECK(run_progress_rate(&progress, 5000) == 0);
    int64_t now_ms = 1000;
    for (int i = 1; i <= 1000; i++) {
        now_ms += 100;
        run_progress_add(&progress, 2 * i, now_ms);
        CHECK(fabs(run_progress_rate(&progress, now_ms) - 20) < 1e-9);
        CHECK(progress.sample_count <= PROGRESS_SAMPLES);
    }
    /* Three times as fast: the window forgets the past. */
    for (int i = 1; i <= 1000; i++) {
        now_ms += 100;
        run_progress_add(&progress, 2000 + 6 * i, now_ms);
    }
    CHECK(fabs(run_progress_rate(&progress, now_ms) - 60) < 1e-9);
    CHECK(run_progress_rate(&progress, now_ms + 60000) < 30); /* and a stall is visible */
    progress.state = PROGRESS_SUCCEEDED;
    CHECK(fabs(run_progress_rate(&progress, now_ms) - 40) < 1e-9); /* the whole run */
}

static void test_slow_batches_have_a_rate_too(void) {
    struct run_progress progress;
    run_progress_init(&progress);
    progress.state = PROGRESS_RUNNING;
    run_progress_start(&progress, 0);
    for (int i = 1; i <= 10; i++) {
        run_progress_add(&progress, 8 * i, 60000 * i);
        CHECK(fabs(run_progress_rate(&progress, 60000 * i + 30000) - 8.0 / 60) < 1e-9);
    }
}

static void test_rates_are_texts_of_about_three_digits(void) {
    static const struct {
        double rate;
        const char *text;
    } rows[] = {{0, "0.0"}, {0.1254, "0.125"}, {12.54, "12.5"}, {1250.4, "1250"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[32];
        run_progress_format_rate(rows[i].rate, text);
        CHECK_STR(text, rows[i].text);
    }
}

static void test_results_that_are_gone(void) {
    struct run_progress progress;
    run_progress_init(&progress);
    progress.state = PROGRESS_RUNNING;
    progress.items_before = 280;
    run_progress_start(&progress, 0);
    for (int i = 1; i <= 10; i++) {
        run_progress_add(&progress, 4 * i, 10000 + 2000 * i);
        CHECK(run_progress_rate(&progress, 10000 + 2000 * i) >= 0);
    }
    CHECK(fabs(run_progress_rate(&progress, 30000) - 2) < 0.1);
    progress.state = PROGRESS_SUCCEEDED;
    CHECK(fabs(run_progress_rate(&progress, 30000) - 2) < 0.1);
}

static void test_the_answer_has_the_contracts_fields(void) {
    struct run_progress progress;
    run_progress_init(&progress);
    AUTO(tree_freep) json_t *listing = run_progress_json(&progress, NULL, 0);
    CHECK_STR(tree_text(listing, "state", ""), "Listing");
    CHECK_INT(tree_integer(listing, "items.total", -1), 0);
    CHECK(!tree_get(listing, "secondsLeft"));
    CHECK(!tree_get(listing, "summary"));
    CHECK(!tree_get(listing, "exclusive"));

    struct ledger_counts counts = {
        .cells = {35, 3, 0, 1}, .items = {280, 24, 0, 8}, .leased = 4, .workers = 2};
    progress.state = PROGRESS_RUNNING;
    progress.knows_storage = true;
    run_progress_start(&progress, 0);
    run_progress_add(&progress, 24, 2000);
    AUTO(tree_freep) json_t *running = run_progress_json(&progress, &counts, 2000);
    CHECK_STR(tree_text(running, "itemsPerSecond", ""), "12.0");
    CHECK_INT(tree_integer(running, "secondsLeft", -1), 22); /* 256 / 12, rounded up */
    CHECK_INT(tree_integer(running, "miniBatches.retried", -1), 1);
    CHECK_INT(tree_integer(running, "workers", -1), 2);
    CHECK(json_is_array(tree_get(running, "outputs")));
    CHECK(json_is_false(tree_get(running, "exclusive")));
}

/* Tokens by the million, GPUs by the hour; of each worker the last figures count. */
static void test_requests_have_a_cost(void) {
    struct run_progress progress;
    AUTO(tree_freep)
    json_t *prices = json_pack("{s:f, s:i, s:i}", "perMillionInputTokens", 0.5,
                               "perMillionOutputTokens", 10, "perGpuHour", 4);
    AUTO(tree_freep)
    json_t *early =
        json_pack("{s:{s:i, s:i}, s:[]}", "counts", "tokensIn", 1, "gpuSeconds", 2, "latencies");
    AUTO(tree_freep)
    json_t *last = json_pack("{s:{s:i, s:i, s:i}, s:[]}", "counts", "tokensIn", 1000000,
                             "tokensOut", 100000, "gpuSeconds", 450, "latencies");
    struct ledger_counts counts = {.items = {2000, 2000, 0, 0}};
    run_progress_init(&progress);
    progress.prices = prices;
    run_progress_metrics(&progress, "a", early);
    run_progress_metrics(&progress, "a", last);
    run_progress_metrics(&progress, "b", last);
    AUTO(tree_freep) json_t *told = run_progress_json(&progress, &counts, 2000);
    CHECK_INT(tree_integer(told, "requests.gpuSeconds", -1), 900);
    CHECK_STR(tree_text(told, "requests.cost", ""), "4"); /* 1 + 2 for tokens, 1 for GPUs */
    CHECK_STR(tree_text(told, "requests.costPer1000", ""), "2");
    run_progress_release(&progress);
}

/* What a dead worker reported to an earlier coordinator counts; a living one reports all once more.
 * Tokens a second are those since then. */
static void test_requests_of_earlier_coordinators_count(void) {
    struct run_progress progress;
    struct ledger_counts counts = {.items = {2000, 2000, 0, 0}};
    AUTO(tree_freep)
    json_t *earlier =
        json_pack("{s:{s:{s:i}, s:[]}, s:{s:{s:i}, s:[]}, s:[]}", "a 3", "counts", "tokensIn", 700,
                  "latencies", "b 5", "counts", "tokensIn", 300, "latencies", "c 5");
    AUTO(tree_freep)
    json_t *last = json_pack("{s:{s:i}, s:[[i, i]], s:i}", "counts", "tokensIn", 500, "latencies",
                             80, 9, "began", 5);
    AUTO(tree_freep)
    json_t *other =
        json_pack("{s:{s:i}, s:[], s:i}", "counts", "tokensIn", 50, "latencies", "began", 7);
    run_progress_init(&progress);
    run_progress_recall(&progress, NULL);
    CHECK_INT(run_progress_latency_ms(&progress, 0.99), 0);
    run_progress_recall(&progress, earlier);
    run_progress_start(&progress, 1000);
    run_progress_metrics(&progress, "b", last);
    run_progress_metrics(&progress, "a", other); /* its place was taken */
    AUTO(tree_freep) json_t *told = run_progress_json(&progress, &counts, 3000);
    CHECK_INT(tree_integer(told, "requests.tokensIn", -1), 1250);
    CHECK_INT(tree_integer(told, "requests.tokensPerSecond", -1), 125);
    CHECK_INT(run_progress_latency_ms(&progress, 0.99), 1116); /* the bucket's end */
    run_progress_release(&progress);
}

static void report(struct run_progress *progress, const char *worker, int tokens, int began) {
    struct request_metrics told = {.began_ms = began};
    request_metrics_add(&told, REQUESTS_TOKENS_IN, tokens);
    request_metrics_latency(&told, 1000);
    AUTO(tree_freep) json_t *metrics = request_metrics_json(&told);
    run_progress_metrics(progress, worker, metrics);
}

static int64_t tokens_in(const struct run_progress *progress) {
    AUTO(tree_freep) json_t *told = run_progress_json(progress, NULL, 2000);
    return tree_integer(told, "requests.tokensIn", -1);
}

/* However little room there is, the next coordinator recalls those that will not report to it. */
static void test_requests_of_lost_workers_are_never_left_out(void) {
    static const struct {
        size_t most;
        size_t entries; /* that the next coordinator gets */
        int before;     /* tokens that it knows before anybody reports to it */
    } rows[] = {{100000, 5, 11111}, {900, 3, 11111}, {400, 1, 111}};
    struct run_progress progress;
    run_progress_init(&progress);
    CHECK(!run_progress_requests(&progress, 100));
    report(&progress, "a", 1, 3);
    report(&progress, "b", 10, 3);
    report(&progress, "c", 100, 3);
    report(&progress, "d", 1000, 3);
    report(&progress, "b", 10000, 5); /* another process */
    run_progress_gone(&progress, "a");
    run_progress_gone(&progress, "c");
    run_progress_gone(&progress, "c");
    run_progress_gone(&progress, "e");
    report(&progress, "c", 100, 3); /* its connection was broken */
    run_progress_gone(&progress, "c");
    CHECK_INT(tokens_in(&progress), 11111);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct run_progress next;
        AUTO(tree_freep) json_t *told = run_progress_requests(&progress, rows[i].most);
        run_progress_init(&next);
        run_progress_recall(&next, told);
        CHECK_INT(json_object_size(told), rows[i].entries);
        CHECK_INT(tokens_in(&next), rows[i].before);
        report(&next, "b", 10000, 5);
        report(&next, "d", 1000, 3);
        CHECK_INT(tokens_in(&next), 11111);
        run_progress_release(&next);
    }
    run_progress_release(&progress);
}

/* More processes than the table has room for, few of them at a time. */
static void test_requests_of_many_lost_workers_count(void) {
    enum { PROCESSES = 10100 };
    struct run_progress progress;
    run_progress_init(&progress);
    report(&progress, "w", 1, 0);
    for (int i = 1; i < PROCESSES; i++) {
        report(&progress, "x", 1, i);
    }
    report(&progress, "w", 2, 0);
    CHECK_INT(tokens_in(&progress), PROCESSES + 1);
    CHECK(json_object_size(progress.metrics) <= 10000);
    run_progress_release(&progress);
}

int main(void) {
    TEST(test_a_steady_run_has_a_steady_rate);
    TEST(test_slow_batches_have_a_rate_too);
    TEST(test_rates_are_texts_of_about_three_digits);
    TEST(test_results_that_are_gone);
    TEST(test_the_answer_has_the_contracts_fields);
    TEST(test_requests_have_a_cost);
    TEST(test_requests_of_earlier_coordinators_count);
    TEST(test_requests_of_lost_workers_are_never_left_out);
    TEST(test_requests_of_many_lost_workers_count);
    return TEST_END();
}
