// SPDX-License-Identifier: Apache-2.0
#include "operator/show/progress_line.h"

#include "lib/contract.h"
#include "operator/kinds/batchscore/local_run.h"
#include "operator/kinds/disttrain/local_run.h"
#include "operator/kinds/sweep/local_run.h"

#include "tests/test.h"

static json_t *status(const char *reason, int done, int total, const char *rate, int left_s) {
    return json_pack("{s:[{s:s, s:s}], s:{s:i, s:i, s:i}, s:{s:i}, s:s, s:i}", "conditions", "type",
                     "Succeeded", "reason", reason, "items", "total", total, "done", done, "failed",
                     0, "miniBatches", "retried", 0, "itemsPerSecond", rate, "secondsLeft", left_s);
}

static void bars_fit_their_terminal(void) {
    struct progress_line progress = {.name = "job", .unit = "frames", .start_ms = 1000};
    AUTO(tree_freep) json_t *half = status("Running", 140, 280, "12.5", 71);
    static const struct {
        int columns;
        const char *wanted;
    } rows[] = {
        {120, "Running   [===================>                  ]  140/280 frames  12.5/s  0:04  "
              "1:11 left"},
        {72, "Running   [========>       ]  140/280 frames  12.5/s  0:04  1:11 left"},
        {55, "Running   140/280 frames  12.5/s  0:04  1:11 left"},
        {50, "Running   140/280 frames  12.5/s  1:11 left"},
        {42, "Running   140/280 frames  1:11 left"},
        {32, "Running   140/280 frames"},
        {14, "Running "},
        {7, "Runn"},
        {3, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];
        progress_line_bar(&progress, half, 5000, rows[i].columns, text);
        CHECK_STR(text, rows[i].wanted);
    }
    for (int columns = 0; columns < 600; columns++) {
        char text[512];
        progress_line_bar(&progress, half, 5000, columns, text);
        CHECK(strlen(text) < (size_t)(columns > 3 ? columns - 2 : 1));
    }
}

static void bars_tell_what_there_is(void) {
    struct progress_line progress = {
        .name = "job", .unit = "files", .read = batchscore_read_numbers, .start_ms = 1000};
    char text[512];
    progress_line_bar(&progress, NULL, 8000, 80, text);
    CHECK_STR(text, "Pending   0:07");
    AUTO(tree_freep) json_t *none = status("Running", 0, 10, "0", 0);
    progress_line_bar(&progress, none, 66000, 80, text);
    CHECK_STR(text, "Running   [                                      ]  0/10 files  1:05");
    AUTO(tree_freep) json_t *all = status("Joining", 10, 10, "2.0", 0);
    json_object_set_new(json_object_get(all, "miniBatches"), "retried", json_integer(3));
    json_object_set_new(json_object_get(all, "items"), "failed", json_integer(1));
    progress_line_bar(&progress, all, 4000000, 120, text);
    CHECK_STR(text, "Joining   [======================================]  10/10 files  2.0/s  "
                    "1:06:39  3 retried  1 failed");
}

/* A BatchScore that cannot store its results says so, and why. */
static void what_is_waited_for(void) {
    struct progress_line progress = {
        .name = "job", .unit = "files", .read = batchscore_read_numbers, .start_ms = 1000};
    char text[512];
    AUTO(tree_freep)
    json_t *status = json_pack("{s:{s:i, s:i}, s:[{s:s, s:s, s:s, s:s}]}", "items", "total", 20,
                               "done", 20, "conditions", "type", "Succeeded", "status", "Unknown",
                               "reason", "Running", "message", CONTRACT_WAITS "out: no such file");
    progress_line_format(&progress, status, 6000, text);
    CHECK_STR(text, "job: Running: 20 of 20 files (100 %); waits for the output's storage: out: no "
                    "such file, 0:05 elapsed");
    progress_line_bar(&progress, status, 6000, 120, text);
    CHECK(strstr(text, "20/20 files  waits for the output's storage"));
}

/* So does a training. */
static void what_a_training_waits_for(void) {
    struct progress_line progress = {
        .name = "job", .unit = "samples", .read = disttrain_read_numbers, .start_ms = 1000};
    char text[512];
    AUTO(tree_freep)
    json_t *status =
        json_pack("{s:i, s:{s:i, s:i}, s:[{s:s, s:s, s:s, s:s}]}", "step", 12, "workers", "wanted",
                  1, "registered", 1, "conditions", "type", "Succeeded", "status", "Unknown",
                  "reason", "Running", "message", CONTRACT_WAITS "out: no such file");
    progress_line_format(&progress, status, 6000, text);
    CHECK_STR(text, "job: Running: step 12; waits for the output's storage: out: no such file, "
                    "0:05 elapsed");
    progress_line_bar(&progress, status, 6000, 120, text);
    CHECK(strstr(text, "step 12, waits for storage"));
}

static void lines_tell_the_same(void) {
    struct progress_line progress = {
        .name = "job", .unit = "frames", .read = batchscore_read_numbers, .start_ms = -1};
    char text[512];
    progress_line_format(&progress, NULL, 5000, text);
    CHECK_STR(text, "job: Pending");
    progress.start_ms = 1000;
    AUTO(tree_freep) json_t *some = status("Running", 24, 280, "12.5", 3671);
    json_object_set_new(json_object_get(some, "miniBatches"), "retried", json_integer(1));
    progress_line_format(&progress, some, 66000, text);
    CHECK_STR(text, "job: Running: 24 of 280 frames (8 %), 12.5 frames/s, 1:05 elapsed, 1:01:11 "
                    "left, 1 mini-batch retried");
}

static void gangs_tell_who_is_there_and_how_far(void) {
    struct progress_line progress = {
        .name = "job", .unit = "samples", .read = disttrain_read_numbers, .start_ms = 1000};
    char text[512];
    AUTO(tree_freep)
    json_t *gang = json_pack("{s:[{s:s, s:s}], s:{s:i, s:i}, s:{s:i, s:i}}", "conditions", "type",
                             "Succeeded", "reason", "Gathering", "workers", "wanted", 4,
                             "registered", 3, "restarts", "counted", 0, "disrupted", 0);
    progress_line_format(&progress, gang, 3000, text);
    CHECK_STR(text, "job: Gathering: 3 of 4 workers, 0:02 elapsed");
    progress_line_bar(&progress, gang, 3000, 80, text);
    CHECK_STR(text, "Gathering  3/4 workers  0:02");
    json_object_set_new(gang, "step", json_integer(120));
    json_object_set_new(gang, "epoch", json_integer(2));
    json_object_set_new(gang, "loss", json_string("0.31"));
    json_object_set_new(gang, "samplesPerSecond", json_string("4100"));
    json_object_set_new(json_object_get(gang, "restarts"), "disrupted", json_integer(1));
    progress_line_format(&progress, gang, 3000, text);
    CHECK_STR(text, "job: Gathering: step 120, epoch 2, loss 0.31, 4100 samples/s, 0:02 elapsed, "
                    "1 restart");
    progress_line_bar(&progress, gang, 3000, 80, text);
    CHECK_STR(text, "Gathering  step 120, epoch 2  loss 0.31  4100/s  0:02  1 restart");
    json_object_set_new(gang, "percent", json_integer(42));
    json_object_set_new(gang, "secondsLeft", json_integer(90));
    progress_line_format(&progress, gang, 3000, text);
    CHECK_STR(text, "job: Gathering: step 120, epoch 2, 42 %, loss 0.31, 4100 samples/s, "
                    "0:02 elapsed, 1:30 left, 1 restart");
    json_object_del(gang, "percent");
    json_object_set_new(gang, "accuracy", json_string("0.9"));
    json_object_set_new(gang, "lastLine", json_string("epoch 2: 91 %"));
    progress_line_format(&progress, gang, 3000, text);
    CHECK_STR(text, "job: Gathering: step 120, epoch 2, loss 0.31, accuracy 0.9, 4100 samples/s, "
                    "0:02 elapsed, 1 restart | epoch 2: 91 %");
    progress_line_bar(&progress, gang, 3000, 120, text);
    CHECK_STR(text, "Gathering  step 120, epoch 2  loss 0.31, accuracy 0.9  4100/s  0:02  "
                    "1 restart  | epoch 2: 91 %");
}

static void sweeps_tell_their_trials(void) {
    struct progress_line progress = {
        .name = "job", .unit = "trials", .read = sweep_read_numbers, .start_ms = 1000};
    char text[512];
    AUTO(tree_freep)
    json_t *sweep = json_pack("{s:[{s:s, s:s}], s:s, s:{s:i, s:i, s:i}}", "conditions", "type",
                              "Succeeded", "reason", "Running", "progress", "3/40", "trials",
                              "running", 2, "stopped", 0, "failed", 0);
    progress_line_format(&progress, sweep, 3000, text);
    CHECK_STR(text, "job: Running: 3 of 40 trials (7 %), 2 run, 0:02 elapsed");
    json_object_set_new(json_object_get(sweep, "trials"), "stopped", json_integer(1));
    json_object_set_new(json_object_get(sweep, "trials"), "failed", json_integer(1));
    json_object_set_new(sweep, "best",
                        json_pack("{s:s, s:s}", "value", "0.93", "trial", "job-0001"));
    progress_line_format(&progress, sweep, 3000, text);
    CHECK_STR(text, "job: Running: 3 of 40 trials (7 %), 2 run, 1 stopped, 1 failed, best 0.93 "
                    "(job-0001), 0:02 elapsed");
    progress_line_bar(&progress, sweep, 3000, 80, text);
    CHECK_STR(text,
              "Running   [=>                       ]  3/40 trials  best 0.93  0:02  1 failed");
    json_object_set_new(sweep, "progress", json_string("anything"));
    progress_line_format(&progress, sweep, 3000, text);
    CHECK(strstr(text, "job: Running, 2 run, ") != NULL);
}

/* The rate is a text of the job's hub. */
static void a_terminal_obeys_no_figure(void) {
    struct progress_line progress = {.name = "job", .unit = "files", .start_ms = 1000};
    AUTO(tree_freep) json_t *hostile = status("Running", 1, 2, "\x1b[2J\xc2\x9b", 0);
    char text[512];
    progress_line_format(&progress, hostile, 2000, text);
    CHECK(!strpbrk(text, "\x1b\xc2"));
    progress_line_bar(&progress, hostile, 2000, 120, text);
    CHECK(!strpbrk(text, "\x1b\xc2"));
}

int main(void) {
    TEST(a_terminal_obeys_no_figure);
    TEST(bars_fit_their_terminal);
    TEST(bars_tell_what_there_is);
    TEST(lines_tell_the_same);
    TEST(gangs_tell_who_is_there_and_how_far);
    TEST(sweeps_tell_their_trials);
    TEST(what_is_waited_for);
    TEST(what_a_training_waits_for);
    return TEST_END();
}
