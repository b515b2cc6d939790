// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/summary.h"

#include "tests/broken_store.h"
#include "tests/unit/agent/data/tries.h"

#include <stdlib.h>

/* A ledger of `items` items in mini-batches of 8, tried once. */
static struct ledger *new_ledger(int64_t items) {
    struct error err = {0};
    struct ledger_options options = {.cell_items = 8,
                                     .max_tries = 1,
                                     .timeout_ms = 1000,
                                     .errors_max = -1,
                                     .cell_errors_max = -1,
                                     .cell_errors_percent = -1};
    struct ledger *ledger = ledger_new(&options);
    CHECK_OK(ledger_extend(ledger, (items + 7) / 8, items, true, &err), &err);
    return ledger;
}

struct made_record {
    enum commit_record_type type;
    int64_t epoch, first;
    const char *worker;
    int64_t failed; /* items */
    enum commit_fault fault;
};

static void add(struct facts *facts, const struct made_record *made) {
    static const char cause[] = "frame 9: bad";
    AUTO(tree_freep) json_t *failures = json_pack("[[i,s]]", 1, cause);
    struct commit_record record = {.type = made->type,
                                   .first = made->first,
                                   .cells = 1,
                                   .items = 8,
                                   .failed = made->failed,
                                   .epoch = made->epoch,
                                   .try = 2,
                                   .worker = made->worker,
                                   .text = cause,
                                   .text_size = strlen(cause),
                                   .fault = made->fault,
                                   .failures = made->type == COMMIT_PARTIAL ? failures : NULL};
    facts_add(facts, &record, made->type == COMMIT_RETRY ? 0 : 1);
}

static void test_the_summary_tells_what_failed_and_who_did_what(void) {
    /* Of an earlier coordinator, and of the one that ends the run, which never saw w-1. */
    static const struct made_record records[] = {
        {COMMIT_RETRY, 0, 1, "w-1", 0, COMMIT_LOST},
        {COMMIT_RETRY, 0, 2, "w-1", 0, COMMIT_TIMEOUT},
        {COMMIT_DONE, 0, 0, "w-1", 0, COMMIT_ERROR},
        {COMMIT_FAILED, 0, 1, "w-1", 8, COMMIT_LOST},
        {COMMIT_PARTIAL, 5, 2, "w-0", 3, COMMIT_ERROR},
        {COMMIT_FAILED, 5, 3, "w-0", 8, COMMIT_ERROR},
    };
    struct ledger *ledger = new_ledger(33);
    AUTO(facts_freep) struct facts *facts = facts_new();
    for (size_t i = 0; i < ARRAY_LEN(records); i++) {
        add(facts, &records[i]);
    }
    facts_finish(facts);
    struct run_progress progress;
    run_progress_init(&progress);
    progress.state = PROGRESS_FAILED;
    snprintf(progress.failed_log, sizeof progress.failed_log, "two\nlines");
    struct job job = {.name = "j", .uid = "u-1", .run = "0123456789abcdef", .batch_items = 8};
    struct summary summary = {.job = &job,
                              .progress = &progress,
                              .ledger = ledger,
                              .facts = facts,
                              .completed_wall_ms = 61000,
                              .exit_code = 1};
    AUTO(tree_freep) json_t *tree = summary_json(&summary);
    CHECK_STR(tree_text(tree, "state", ""), "Failed");
    CHECK_STR(tree_text(tree, "started", ""), "1970-01-01T00:00:00Z");
    CHECK_STR(tree_text(tree, "completed", ""), "1970-01-01T00:01:01Z");
    CHECK_STR(tree_text(tree, "failedLog", ""), "two\nlines");
    CHECK_INT(json_array_size(json_object_get(tree, "failed")), 3);
    CHECK_INT(tree_integer(tree, "failed[0].firstItem", -1), 8);
    CHECK_INT(tree_integer(tree, "failed[0].tries", -1), 2);
    CHECK_STR(tree_text(tree, "failed[1].cause", ""), "frame 9: bad");
    CHECK_STR(tree_text(tree, "failed[2].worker", ""), "w-0");
    CHECK_INT(json_array_size(json_object_get(tree, "workers")), 2);
    AUTO(text_freep) char *workers = tree_canonical(json_object_get(tree, "workers"));
    CHECK_STR(workers, "[{\"errors\":0,\"items\":8,\"lost\":2,\"miniBatches\":1,\"name\":\"w-1\","
                       "\"timeouts\":1},{\"errors\":2,\"items\":5,\"lost\":0,\"miniBatches\":1,"
                       "\"name\":\"w-0\",\"timeouts\":0}]");
    ledger_free(ledger);
}

/* The end of a job of one mini-batch, as its coordinator writes it; the caller frees. */
static char *ended(const struct job *job, enum run_progress_state state, int exit_code) {
    struct ledger *ledger = new_ledger(8);
    struct run_progress progress;
    run_progress_init(&progress);
    progress.state = state;
    snprintf(progress.message, sizeof progress.message, "why");
    AUTO(tree_freep) json_t *outputs = json_pack("[s]", "out/x/film.mp4");
    progress.outputs = outputs;
    AUTO(tree_freep) json_t *lost = json_pack("[{s:s,s:s}]", "what", "chapters", "why", "no room");
    progress.lost = lost;
    progress.items_left_out = 4;
    struct summary summary = {.job = job,
                              .progress = &progress,
                              .ledger = ledger,
                              .completed_wall_ms = 61000,
                              .exit_code = exit_code,
                              .has_report = exit_code == 0};
    AUTO(tree_freep) json_t *tree = summary_json(&summary);
    ledger_free(ledger);
    return json_dumps(tree, 0);
}

static void test_a_summary_says_again_how_it_ended(void) {
    static const struct {
        enum run_progress_state state;
        int exit_code;
        const char *uid, *run;
        bool is_the_end;
    } rows[] = {
        {PROGRESS_SUCCEEDED, 0, "u-1", "0123456789abcdef", true},
        {PROGRESS_FAILED, 1, "u-1", "0123456789abcdef", true},
        {PROGRESS_FAILED, 130, "u-1", "0123456789abcdef", false}, /* ended by a signal */
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
        AUTO(tree_freep) json_t *words = summary_message(&job, false, text, strlen(text), &code);
        CHECK_INT(words != NULL, rows[i].is_the_end);
        CHECK_INT(code, rows[i].is_the_end ? rows[i].exit_code : -1);
        if (words) {
            CHECK_STR(tree_text(words, "state", ""), run_progress_state_name(rows[i].state));
            CHECK_STR(tree_text(words, "message", ""), "why");
            CHECK_STR(tree_text(words, "outputs[0]", ""), "out/x/film.mp4");
            CHECK_STR(tree_text(words, "summary", ""), "out/x/summary.json");
            CHECK_INT(tree_integer(words, "items.total", -1), 8);
            CHECK_INT(tree_integer(words, "items.leftOut", -1), 4);
            CHECK_STR(tree_text(words, "lost[0].what", ""), "chapters");
            CHECK_STR(tree_text(words, "lost[0].why", ""), "no room");
            CHECK_INT(tree_integer(words, "secondsLeft", -1), 0);
            CHECK_INT(tree_bool(words, "report", false), rows[i].exit_code == 0);
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
        ", \"message\": \"\", \"itemsPerSecond\": \"1\", \"outputs\": [], \"lost\": [{}]}",
    };
    struct job job = {.name = "j", .uid = "u-1", .run = "0123456789abcdef", .output = "out/x"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        int code = -1;
        AUTO(text_freep) char *text = x_printf("%s%s", whole, endings[i]);
        CHECK(!summary_message(&job, false, text, strlen(text), &code));
        CHECK_INT(code, -1);
    }
}

/* What does not fit into a pod's message is cut from the end, and the message says so. */
static void test_what_is_lost_is_told_however_much_it_is(void) {
    char why[256] = "";
    AUTO(tree_freep) json_t *progress = json_pack("{s:s, s:[]}", "state", "Succeeded", "lost");
    memset(why, 'y', sizeof why - 1);
    for (int i = 0; i < 40; i++) {
        AUTO(text_freep) char *what = x_printf("track %d", i);
        json_array_append_new(json_object_get(progress, "lost"),
                              json_pack("{s:s,s:s}", "what", what, "why", why));
    }
    AUTO(text_freep) char *file = x_printf("%s/termination", fixtures_out);
    setenv("WINDLASS_TERMINATION_LOG", file, 1);
    summary_leave_message(progress, 0);
    unsetenv("WINDLASS_TERMINATION_LOG");
    AUTO(tree_freep) json_t *told = json_load_file(file, 0, NULL);
    json_t *lost = json_object_get(told, "lost");
    size_t count = json_array_size(lost);
    CHECK(told && count > 5 && count < 40);
    CHECK_STR(tree_text(json_array_get(lost, 0), "what", ""), "track 0");
    AUTO(text_freep) char *more = x_printf("%zu more", 40 - (count - 1));
    CHECK_STR(tree_text(json_array_get(lost, count - 1), "what", ""), more);
    CHECK_STR(tree_text(json_array_get(lost, count - 1), "why", ""), "see summary.json");
}

/* Writes the files of a run without results, to a store that dies after a number of calls (0:
 * never). */
static int tell(struct summary *summary, struct commit_log *log, int64_t dies_after,
                struct error *err) {
    struct broken_options options = {.seed = (uint64_t)dies_after, .dies_after = dies_after};
    AUTO(store_freep) struct store *output = broken_store(open_output("out/told"), &options);
    error_clear(err);
    return summary_write_all(summary, output, log, err);
}

/* Wherever the disk becomes full: the summary and all other files exist, or no summary does. */
static void test_a_success_that_cannot_be_told_is_none(void) {
    static const char *const names[] = {"report.html", "failed.jsonl", "mini_batches.csv",
                                        "workers.csv"};
    struct error err = {0};
    struct store_info info;
    struct job job = {.name = "j", .uid = "u-1", .run = RUN, .output = "out/told"};
    struct commit_identity identity = {.run = RUN, .uid = "u-1", .job = "j"};
    struct commit_log *log = NULL;
    AUTO(store_freep) struct store *output = open_output("out/told");
    CHECK_OK(commit_open(output, &identity, NULL, NULL, &log, &err), &err);
    struct ledger *ledger = new_ledger(8);
    struct run_progress progress;
    run_progress_init(&progress);
    struct summary summary = {.job = &job, .progress = &progress, .ledger = ledger};
    int64_t calls = 1;
    while (calls < 1000 && tell(&summary, log, calls, &err) < 0) {
        CHECK_INT(err.kind, ERROR_UNAVAILABLE);
        CHECK(text_starts(err.text,
                          "all items are done, but the report or summary cannot be written: "));
        CHECK(store_stat(output, "summary.json", &info, &(struct error){0}) < 0);
        calls++;
    }
    CHECK(calls > 5 && calls < 1000 && summary.has_report);
    CHECK_OK(store_stat(output, "summary.json", &info, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_OK(store_stat(output, names[i], &info, &err), &err);
    }
    /* A failed job remains failed: the files that can be written are written. */
    summary.exit_code = 1;
    CHECK(tell(&summary, log, calls - 2, &err) < 0 && !summary.has_report);
    CHECK_STR(err.text, "out/told/summary.json: broken for a test");
    error_clear(&err);
    /* A permanent obstacle does not end the job, and the summary says that there is no report. */
    summary.exit_code = 0;
    CHECK_OK(store_remove(output, "report.html", &err), &err);
    AUTO(text_freep) char *folder = x_printf("%s/told/report.html/folder", fixtures_out);
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(tell(&summary, log, 0, &err), &err);
    CHECK(!summary.has_report);
    /* Those of an earlier run are gone, but for one that cannot be removed, and it is named. */
    for (size_t i = 1; i < ARRAY_LEN(names); i++) {
        CHECK(store_stat(output, names[i], &info, &(struct error){0}) < 0);
    }
    const json_t *lost = tree_find(progress.lost, "what", "report");
    CHECK(strstr(tree_text(lost, "why", ""), "it cannot be written: "));
    CHECK(strstr(tree_text(lost, "why", ""), "; report.html there may be an earlier run's"));
    AUTO(tree_freep) json_t *told = summary_json(&summary);
    CHECK(tree_find(json_object_get(told, "lost"), "what", "report"));
    /* ... unless it is the summary's. */
    CHECK_OK(store_remove(output, "summary.json", &err), &err);
    AUTO(text_freep) char *place = x_printf("%s/told/summary.json/folder", fixtures_out);
    CHECK_OK(file_make_folders(place, &err), &err);
    CHECK_INT(tell(&summary, log, 0, &err), -1);
    CHECK(err.kind != ERROR_UNAVAILABLE && strstr(err.text, "all items are done, but the report "
                                                            "or summary cannot be written: "));
    run_progress_release(&progress);
    commit_free(log);
    ledger_free(ledger);
}

int main(void) {
    fixtures_start("summary");
    TEST(test_the_summary_tells_what_failed_and_who_did_what);
    TEST(test_a_summary_says_again_how_it_ended);
    TEST(test_a_broken_summary_is_none);
    TEST(test_what_is_lost_is_told_however_much_it_is);
    TEST(test_a_success_that_cannot_be_told_is_none);
    return TEST_END();
}
