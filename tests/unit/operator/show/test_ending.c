// SPDX-License-Identifier: Apache-2.0
/* The termination message of a local run that failed: what to do next, by its reason. */
#include "operator/show/ending.h"

#include "operator/kinds/kinds.h"

#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

/* The output on standard error, up to a number of bytes. */
static void told(const char *kind, json_t *status, int *ret_code, char *text, size_t size) {
    struct ending ending = {.kind = kinds_ending(kinds_find(kind)),
                            .name = "s",
                            .unit = "trials",
                            .status = status,
                            .state_folder = "st"};
    FILE *file = tmpfile();
    CHECK(file != NULL);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    CHECK(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    *ret_code = ending_print(&ending);
    fflush(stderr);
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static json_t *failed(const char *reason, const char *message) {
    return json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "conditions", "type", "Succeeded", "status",
                     "False", "reason", reason, "message", message);
}

static void each_reason_has_its_advice(void) {
    static const struct {
        const char *kind, *reason, *next;
        int code;
    } rows[] = {
        {"BatchScore", "SpecInvalid", "correct the manifest and run again", 2},
        {"Sweep", "TrialsFailed", "correct what the trial reports and run again", 1},
        {"Sweep", "ObjectiveMissing",
         "set spec.objective.metric to a metric that the trials report", 1},
        {"DistTrain", "Stopped", "remove spec.stop from the manifest and run again", 1},
        {"BatchScore", "Stopped", "see the log, correct the cause and run again", 1},
        {"Sweep", "DeadlineExceeded", "raise spec.activeDeadlineSeconds and run again", 1},
        {"Sweep", "RegisterFailed",
         "correct the cause that kept the model from being copied and run again, or copy it", 1},
        {"DistTrain", "Unheard", "see the log, correct the cause and run again", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1000];
        int code;
        AUTO(tree_freep) json_t *status = failed(rows[i].reason, "because");
        told(rows[i].kind, status, &code, text, sizeof text);
        AUTO(text_freep)
        char *wanted =
            x_printf("windlass: s failed: because\n  next: %s\n  logs: st\n", rows[i].next);
        CHECK_STR(text, wanted);
        CHECK_INT(code, rows[i].code);
    }
}

/* An output that another run has begun is not "correct the input". */
static void another_run_asks_for_a_restart(void) {
    static const char anew[] =
        "spec.output.path: out holds the results of job s, started with a different spec: "
        "spec.scorer.onnx.path: was a, is b: rerun with --restart (annotation "
        "windlass.dev/restart), or choose another output";
    static const struct {
        const char *message, *next;
    } rows[] = {
        {anew,
         "\n  next: run again with --restart (starts from the beginning), or undo the change, or "
         "choose another output\n"},
        {"spec.input.video.path: data/x.mp4 is not there",
         "\n  next: correct the input, or its path in the manifest, and run again\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[1000];
        int code;
        AUTO(tree_freep) json_t *status = failed("InputInvalid", rows[i].message);
        told("BatchScore", status, &code, text, sizeof text);
        CHECK(strstr(text, rows[i].next) != NULL);
        CHECK_INT(code, 2);
    }
}

/* Its pods say what is printed; the last lines of a program stay lines. */
static void a_terminal_obeys_no_message(void) {
    char text[1000];
    int code;
    AUTO(tree_freep) json_t *status = failed("Failed", "\x1b[2Jwell\xc2\x9b\n");
    json_object_set_new(status, "failedLog", json_string("a\nb\x1b]0;x\x07"));
    json_object_set_new(status, "retired", json_pack("[{s:s}]", "message", "\xe2\x80\xaex"));
    told("BatchScore", status, &code, text, sizeof text);
    CHECK(strstr(text, "failed: \\x1B[2Jwell\\x9B \n") != NULL);
    CHECK(strstr(text, "    | a\n    | b\\x1B]0;x\\x07\n") != NULL);
    CHECK(strstr(text, ": \\u202Ex\n") != NULL);
    CHECK(!strchr(text, '\x1B'));
}

int main(void) {
    TEST(a_terminal_obeys_no_message);
    TEST(another_run_asks_for_a_restart);
    TEST(each_reason_has_its_advice);
    return TEST_END();
}
