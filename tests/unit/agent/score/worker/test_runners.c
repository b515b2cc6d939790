// SPDX-License-Identifier: Apache-2.0
/* Runners with real programs: when the coordinator's clock of a lease must stop. */
#include "agent/score/worker/runners.h"
#include "tests/unit/agent/spec_defaults.h"

#include "lib/time/clock.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>
#include <signal.h>

enum { AT_LEAST_MS = 350 /* of the half second that programs take here */ };

static struct store *output;

static void on_wake(void *context UNUSED) {
}

/* A worker of one slot, whose program is this shell script. */
struct bench {
    struct job job;
    struct runners *runners;
    char words[96]; /* "w7 b7 d7": the messages so far */
    int64_t told_ms[32];
    int count;
};

static void bench_open(struct bench *bench, const char *script) {
    struct error err = {0};
    *bench = (struct bench){.job = {.name = "j",
                                    .run = RUN,
                                    .worker = "j-worker-0",
                                    .output = "out/runs",
                                    .timeout_ms = 60000,
                                    .slots = 1}};
    bench->job.spec = json_pack("{s:{s:{s:s}}, s:{s:{s:[s,s,s]}}, s:{s:s,s:s}}", "input", "files",
                                "path", "out/in", "scorer", "command", "command", "sh", "-c",
                                script, "output", "path", "out/runs", "mode", "SummaryOnly");
    spec_fill(bench->job.spec);
    struct runners_options options = {.job = &bench->job, .output = output, .wake = on_wake};
    CHECK_OK(runners_open(&options, &bench->runners, &err), &err);
    CHECK_OK(runners_start(bench->runners, &err), &err);
    int ready = 0;
    for (int i = 0; i < 6000 && ready == 0; i++) {
        ready = runners_ready(bench->runners, &err);
        poll(NULL, 0, 10);
    }
    CHECK_INT(ready, 1);
}

static void bench_close(struct bench *bench) {
    CHECK(runners_free(bench->runners, 60000));
    json_decref(bench->job.spec);
}

/* `count` leases in one message, from `first` on: the second is known when the first begins. */
static void give(struct bench *bench, int64_t epoch, int64_t first, size_t count) {
    AUTO(tree_freep) json_t *work = json_pack("[s]", "a.txt");
    struct message_lease rows[2];
    for (size_t i = 0; i < count; i++) {
        int64_t lease = first + (int64_t)i;
        rows[i] = (struct message_lease){
            .lease = lease, .first = lease, .slot = 0, .cells = 1, .try = 1, .work = work};
    }
    runners_enqueue(bench->runners, epoch, rows, count);
}

static void note(struct bench *bench, const struct message_result *result) {
    size_t used = strlen(bench->words);
    char letter = result->event == MESSAGE_WAITS    ? 'w'
                  : result->event == MESSAGE_BEGINS ? 'b'
                  : !result->is_fault               ? 'd'
                                                    : 'f';
    snprintf(bench->words + used, sizeof bench->words - used, "%s%c%lld", used ? " " : "", letter,
             (long long)result->lease);
    if (letter == 'f') {
        printf("# %.*s\n", (int)result->text_size, result->text);
    }
    bench->told_ms[bench->count++] = clock_monotonic_ms();
}

/* Waits for that message; returns its time. */
static int64_t await(struct bench *bench, const char *wanted) {
    for (int i = 0; i < 12000; i++) {
        size_t count = 0;
        struct scoring_report *reports = runners_take(bench->runners, &count);
        for (size_t k = 0; k < count; k++) {
            note(bench, &reports[k].result);
            scoring_report_release(&reports[k]);
        }
        free(reports);
        const char *at = strstr(bench->words, wanted);
        if (at) { /* all words have two letters */
            return bench->told_ms[(at - bench->words) / 3];
        }
        poll(NULL, 0, 5);
    }
    CHECK_STR(bench->words, wanted);
    return -1;
}

static void await_running(struct bench *bench) {
    for (int i = 0; i < 12000 && runners_read_status(bench->runners).is_idle; i++) {
        poll(NULL, 0, 5);
    }
}

#define ANSWERS                                                                                    \
    "read -r line; echo '{\"ready\":true}'; while read -r line; do id=${line#*:}; "                \
    "id=${id%%,*}; sleep 0.5; echo \"{\\\"id\\\":$id,\\\"results\\\":[1]}\"; done"

static void test_a_lease_that_lies_ahead_begins_at_once(void) {
    struct bench bench;
    bench_open(&bench, ANSWERS);
    give(&bench, 5, 1, 2);
    await(&bench, "d2");
    CHECK_STR(bench.words, "d1 d2");
    bench_close(&bench);
}

static void test_what_nobody_wants_any_more_is_not_the_next_leases_time(void) {
    struct bench bench;
    bench_open(&bench, ANSWERS);
    give(&bench, 5, 1, 2);
    await_running(&bench);
    poll(NULL, 0, 100); /* the second is in its pipe by then */
    runners_cancel(bench.runners, 2);
    give(&bench, 5, 3, 1);
    int64_t waits_ms = await(&bench, "w3"), begins_ms = await(&bench, "b3");
    CHECK(begins_ms - waits_ms >= AT_LEAST_MS);
    await(&bench, "d3");
    CHECK_STR(strstr(bench.words, "d1 "), "d1 w3 b3 d3");
    bench_close(&bench);
}

static void test_a_lease_waits_while_its_program_is_started(void) {
    struct bench bench;
    bench_open(&bench, "read -r line; sleep 0.5; echo '{\"ready\":true}'; read -r line; "
                       "id=${line#*:}; echo \"{\\\"id\\\":${id%%,*},\\\"results\\\":[1]}\"");
    give(&bench, 5, 1, 1);
    await(&bench, "d1");
    poll(NULL, 0, 200); /* it has ended */
    give(&bench, 5, 2, 1);
    int64_t waits_ms = await(&bench, "w2"), begins_ms = await(&bench, "b2");
    CHECK(begins_ms - waits_ms >= AT_LEAST_MS);
    await(&bench, "d2");
    CHECK_STR(bench.words, "d1 w2 b2 d2");
    bench_close(&bench);
}

/* The coordinator came back, and does not know what runs. */
static void test_a_lease_waits_for_what_ran_before_its_connection(void) {
    struct bench bench;
    bench_open(&bench, ANSWERS);
    give(&bench, 5, 1, 1);
    await_running(&bench);
    runners_forget(bench.runners);
    give(&bench, 6, 7, 2);
    await(&bench, "w7");
    runners_cancel(bench.runners, 7);
    await(&bench, "w8"); /* now this is the first */
    await(&bench, "d8");
    CHECK_STR(bench.words, "w7 f7 w8 d1 b8 d8");
    bench_close(&bench);
}

/* A lost connection: its coordinator gives the leases to others. What runs is finished, what was
 * ahead is not begun. */
static void test_leases_ahead_end_with_their_connection(void) {
    struct bench bench;
    bench_open(&bench, ANSWERS);
    give(&bench, 5, 1, 2);
    await_running(&bench);
    runners_forget(bench.runners);
    await(&bench, "d1");
    poll(NULL, 0, 1200); /* the time of two more */
    give(&bench, 6, 7, 1);
    await(&bench, "d7");
    CHECK(!strstr(bench.words, "2"));
    bench_close(&bench);
}

int main(void) {
    struct error err = {0};
    signal(SIGPIPE, SIG_IGN);
    fixtures_start("runners");
    AUTO(store_freep) struct store *input = open_output("out/in");
    CHECK_OK(store_put(input, "a.txt", "a", 1, STORE_REPLACE, &err), &err);
    output = open_output("out/runs");
    TEST(test_a_lease_that_lies_ahead_begins_at_once);
    TEST(test_what_nobody_wants_any_more_is_not_the_next_leases_time);
    TEST(test_a_lease_waits_while_its_program_is_started);
    TEST(test_a_lease_waits_for_what_ran_before_its_connection);
    TEST(test_leases_ahead_end_with_their_connection);
    store_free(output);
    return TEST_END();
}
