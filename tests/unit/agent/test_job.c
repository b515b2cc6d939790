// SPDX-License-Identifier: Apache-2.0
#include "agent/job.h"

#include "tests/test.h"

#include <stdlib.h>

static void set_pod(void) {
    setenv("WINDLASS_JOB", "j", 1);
    setenv("WINDLASS_RUN", "0123456789abcdef", 1);
    setenv("WINDLASS_WORKER", "j-worker-0", 1);
    setenv("WINDLASS_TOKEN", "t", 1);
    setenv("WINDLASS_COORDINATOR", "127.0.0.1:1", 1);
    setenv("WINDLASS_COORDINATOR_SHA256", "00", 1);
    setenv("WINDLASS_SPEC",
           "{\"miniBatchSize\": \"16\", \"retry\": {\"maxTries\": 5, \"timeoutSeconds\": 2},"
           "\"scorer\": {\"onnx\": {\"path\": \"m/a.onnx\"}}, \"output\": {\"path\": \"o/x\"}}",
           1);
}

static void test_a_pods_environment_is_read(void) {
    struct error err = {0};
    struct job job = {0};
    set_pod();
    CHECK_OK(job_read(JOB_WORKER, &job, &err), &err);
    CHECK_INT(job.batch_items, 16);
    CHECK_INT(job.max_tries, 5);
    CHECK_INT(job.timeout_ms, 2000);
    CHECK_STR(job.model, "m/a.onnx");
    job_release(&job);
    CHECK_INT(job_read(JOB_COORDINATOR, &job, &err), -1);
    CHECK(strstr(err.text, "WINDLASS_BIND is missing"));
}

static void test_a_bad_environment_is_named(void) {
    static const struct {
        const char *name, *value, *sentence;
    } rows[] = {
        {"WINDLASS_TOKEN", "", "WINDLASS_TOKEN is missing"},
        {"WINDLASS_RUN", "../../../../etc/", "WINDLASS_RUN is not 16 hexadecimal digits"},
        {"WINDLASS_SPEC", "{", "WINDLASS_SPEC"},
        {"WINDLASS_SPEC", "{\"miniBatchSize\": 0}", "spec.miniBatchSize is not"},
        {"WINDLASS_SPEC", "{\"miniBatchSize\": \"8x\"}", "spec.miniBatchSize is not"},
        {"WINDLASS_SPEC", "{\"miniBatchSize\": 1.5}", "spec.miniBatchSize is not"},
        {"WINDLASS_SPEC", "{}", "spec.miniBatchSize is not"}, /* windlass fills defaults in */
        {"WINDLASS_SPEC", "{\"miniBatchSize\": 8, \"retry\": {\"maxTries\": -3}}",
         "spec.retry.maxTries is not"},
        {"WINDLASS_SPEC",
         "{\"miniBatchSize\": 8, \"retry\": {\"maxTries\": 3, \"timeoutSeconds\": 60}}",
         "spec.scorer.onnx.path is missing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct job job = {0};
        set_pod();
        setenv(rows[i].name, rows[i].value, 1);
        CHECK_INT(job_read(JOB_WORKER, &job, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        if (!strstr(err.text, rows[i].sentence)) {
            CHECK_STR(err.text, rows[i].sentence);
        }
    }
}

int main(void) {
    TEST(test_a_pods_environment_is_read);
    TEST(test_a_bad_environment_is_named);
    return TEST_END();
}
