// SPDX-License-Identifier: Apache-2.0
/* Bodies that programs post by the status protocol of Kubeflow Trainer, and refused ones. */
#include "agent/launch/rank/status_report.h"

#include "tests/test.h"

#include <stdlib.h>

static struct status_report_before before = {-1, -1, NULL};

/* The lines, or "" with the message in *err. */
static char *read_body(const char *body, struct error *err) {
    char *lines = NULL;
    *err = (struct error){0};
    return status_report_read(body, strlen(body), &before, &lines, err) < 0 ? x_strdup("") : lines;
}

#define METRICS(list) "{\"trainerStatus\": {\"metrics\": [" list "]}}"
#define METRIC(name, value) "{\"name\": \"" name "\", \"value\": \"" value "\"}"

static void test_lines(void) {
    static const struct {
        const char *body, *lines;
    } rows[] = {
        {"{}", ""},
        {"{\"trainerStatus\": null, \"dataInitializerStatus\": {}}", ""},
        {"{\"trainerStatus\": {\"lastUpdatedTime\": \"2026-11-30T10:00:00Z\"}}", ""},
        {"{\"trainerStatus\": {\"progressPercentage\": 0, \"estimatedRemainingSeconds\": null, "
         "\"metrics\": null}}",
         "0 windlass.percent 0 -1\n"},
        {"{\"trainerStatus\": {\"progressPercentage\": 42, \"estimatedRemainingSeconds\": 120, "
         "\"metrics\": [" METRIC("loss", "0.5") "," METRIC("current_step", "17") "]}}",
         "0 windlass.percent 42 17\n0 windlass.secondsLeft 120 17\n0 loss 0.5 17\n"},
        {METRICS(METRIC("step", "3") "," METRIC("a/b", "nan")), "0 a/b nan 3\n"},
        {METRICS(METRIC("current_epoch", "1.26") "," METRIC("epoch", "1")), "0 epoch 2 -1\n"},
        {METRICS(METRIC("epoch", "3.0") "," METRIC("total_steps", "9")), "0 epoch 3 -1\n"},
        {METRICS(METRIC("two words", "1") "," METRIC("text", "1 %") "," METRIC("ok", "2")),
         "0 ok 2 -1\n"},
        {METRICS(METRIC("windlass.percent", "300")), ""},
        {METRICS(METRIC("current_step", "-1") "," METRIC("x", "1e400")), "0 x inf -1\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err;
        status_report_forget(&before);
        AUTO(text_freep) char *lines = read_body(rows[i].body, &err);
        CHECK_STR(err.text, "");
        CHECK_STR(lines, rows[i].lines);
    }
}

static void test_what_is_refused(void) {
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"", ""},
        {"{", ""},
        {"[]", "the body is not an object"},
        {"{\"trainerStatus\": 1}", "trainerStatus is not an object"},
        {"{\"trainerStatus\": {\"progressPercentage\": 101}}",
         "trainerStatus.progressPercentage is not a whole number from 0 to 100"},
        {"{\"trainerStatus\": {\"progressPercentage\": \"5\"}}",
         "trainerStatus.progressPercentage is not"},
        {"{\"trainerStatus\": {\"estimatedRemainingSeconds\": -1}}",
         "trainerStatus.estimatedRemainingSeconds is not a whole number"},
        {"{\"trainerStatus\": {\"metrics\": {}}}", "trainerStatus.metrics is not a list"},
        {METRICS("{\"name\": \"loss\", \"value\": 0.5}"), "trainerStatus.metrics[0] has no name"},
        {METRICS("1"), "trainerStatus.metrics[0] has no name"},
        {METRICS(METRIC("a", "1") "," METRIC("", "1")), "trainerStatus.metrics[1] has no name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err;
        status_report_forget(&before);
        before.percent = 5;
        before.step = 7;
        AUTO(text_freep) char *lines = read_body(rows[i].body, &err);
        CHECK(err.kind == ERROR_INVALID);
        CHECK(text_starts(err.text, rows[i].message));
        CHECK(before.percent == 5 && before.step == 7);
    }
    /* One metric more than there may be; as many as there may be, with the longest names. */
    for (int count = STATUS_REPORT_METRICS_MAX; count <= STATUS_REPORT_METRICS_MAX + 1; count++) {
        AUTO(text_freep) char *list = x_strdup("");
        for (int i = 0; i < count; i++) {
            char *longer = x_printf("%s%s" METRIC("%0*d", "-1.2345678901234567e-300"), list,
                                    i ? "," : "", METRIC_NAME_MAX, i);
            free(list);
            list = longer;
        }
        AUTO(text_freep) char *body = x_printf(METRICS("%s"), list);
        struct error err;
        AUTO(text_freep) char *lines = read_body(body, &err);
        CHECK((err.kind == ERROR_INVALID) == (count > STATUS_REPORT_METRICS_MAX));
        CHECK((strlen(lines) > 60 * 256) == (count <= STATUS_REPORT_METRICS_MAX));
    }
}

/* The last post of Hugging Face's callback has no step; a lower percentage is another start. */
static void test_the_step_of_before(void) {
    static const struct {
        const char *body, *lines;
    } rows[] = {
        {"{\"trainerStatus\": {\"progressPercentage\": 60, \"metrics\": [" METRIC("current_step",
                                                                                  "6") "]}}",
         "0 windlass.percent 60 6\n"},
        {METRICS(METRIC("loss", "1")), "0 loss 1 6\n"},
        {"{\"trainerStatus\": {\"progressPercentage\": 100, \"metrics\": [" METRIC("loss",
                                                                                   "2") "]}}",
         "0 windlass.percent 100 6\n0 loss 2 6\n"},
        {"{\"trainerStatus\": {\"progressPercentage\": 0, \"metrics\": [" METRIC("loss", "3") "]}}",
         "0 windlass.percent 0 -1\n0 loss 3 -1\n"},
    };
    status_report_forget(&before);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err;
        AUTO(text_freep) char *lines = read_body(rows[i].body, &err);
        CHECK_STR(lines, rows[i].lines);
    }
}

/* What was logged last is posted again until something else is. */
static void test_what_is_repeated(void) {
    static const struct {
        const char *body, *lines;
    } rows[] = {
        {METRICS(METRIC("eval_loss", "0.5") "," METRIC("step", "2")), "0 eval_loss 0.5 2\n"},
        {METRICS(METRIC("eval_loss", "0.5") "," METRIC("step", "3")), ""},
        {METRICS(METRIC("step", "4") "," METRIC("eval_loss", "0.5") "," METRIC("loss", "1")),
         "0 loss 1 4\n"},
        {METRICS(METRIC("eval_loss", "0.50") "," METRIC("loss", "1")), "0 eval_loss 0.5 4\n"},
        {"{\"trainerStatus\": {\"metrics\": 1}}", ""},
        {METRICS(METRIC("loss", "1")), ""},
        {METRICS(METRIC("eval_loss", "0.50")), "0 eval_loss 0.5 4\n"},
        {"{\"trainerStatus\": {\"progressPercentage\": 9, \"metrics\": [" METRIC("eval_loss",
                                                                                 "0.50") "]}}",
         "0 windlass.percent 9 4\n"},
        {"{\"trainerStatus\": {\"progressPercentage\": 0, \"metrics\": [" METRIC("eval_loss",
                                                                                 "0.50") "]}}",
         "0 windlass.percent 0 -1\n0 eval_loss 0.5 -1\n"},
    };
    status_report_forget(&before);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err;
        AUTO(text_freep) char *lines = read_body(rows[i].body, &err);
        CHECK_STR(lines, rows[i].lines);
    }
}

int main(void) {
    TEST(test_lines);
    TEST(test_what_is_refused);
    TEST(test_the_step_of_before);
    TEST(test_what_is_repeated);
    status_report_forget(&before);
    return TEST_END();
}
