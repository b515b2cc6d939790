// SPDX-License-Identifier: Apache-2.0
#include "agent/job.h"

#include "tests/test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What windlass fills in. */
#define ONNX_FILLED                                                                                \
    "\"preprocess\": {\"multipleOf\": 1, \"color\": \"RGB\", \"range\": \"Byte\"},"                \
    "\"postprocess\": {\"type\": \"Image\", \"range\": \"Byte\", \"top\": 5}"

static void set_pod(void) {
    setenv("WINDLASS_JOB", "j", 1);
    setenv("WINDLASS_RUN", "0123456789abcdef", 1);
    setenv("WINDLASS_WORKER", "j-worker-0", 1);
    setenv("WINDLASS_TOKEN", "t", 1);
    setenv("WINDLASS_GPUS", "2", 1);
    setenv("WINDLASS_COORDINATOR", "127.0.0.1:1", 1);
    setenv("WINDLASS_COORDINATOR_SHA256", "00", 1);
    setenv("WINDLASS_SPEC",
           "{\"miniBatchSize\": \"16\", \"errorThreshold\": 0, \"miniBatchErrorThreshold\": -1, "
           "\"retry\": {\"maxTries\": 5, \"timeoutSeconds\": 2},"
           "\"scorer\": {\"onnx\": {\"path\": \"m/a.onnx\", " ONNX_FILLED
           "}}, \"output\": {\"path\": \"o/x\", \"mode\": \"PerFile\"}}",
           1);
}

static void test_a_pods_environment_is_read(void) {
    struct error err = {0};
    struct job job = {0};
    set_pod();
    CHECK_OK(job_read(JOB_WORKER, &job, &err), &err);
    CHECK_INT(job.batch_items, 16);
    CHECK(!job.is_auto);
    CHECK_INT(job.max_tries, 5);
    CHECK_INT(job.timeout_ms, 2000);
    CHECK_STR(job.output, "o/x");
    CHECK_INT(job.gpus, 2);
    CHECK_INT(job.slots, 2);
    job_release(&job);
    set_pod();
    CHECK_INT(job_read(JOB_COORDINATOR, &job, &err), -1);
    CHECK(strstr(err.text, "WINDLASS_UID is missing"));
}

/* Each server may have as many requests in flight, and an eighth more wait. */
static void test_a_slot_for_each_request_in_flight(void) {
    struct error err = {0};
    struct job job = {0};
    set_pod();
    setenv("WINDLASS_SPEC",
           "{\"miniBatchSize\": \"16\", \"errorThreshold\": 0, \"miniBatchErrorThreshold\": -1, "
           "\"retry\": {\"maxTries\": 5, \"timeoutSeconds\": 2},"
           "\"scorer\": {\"endpoint\": {\"urls\": [\"http://a\", \"http://b\", \"http://c\"], "
           "\"concurrency\": 8, \"maxConcurrency\": 64, \"tries\": 1, \"timeoutSeconds\": 1, "
           "\"readyTimeoutSeconds\": 1}},"
           "\"output\": {\"path\": \"o/x\", \"mode\": \"PerFile\"}}",
           1);
    CHECK_OK(job_read(JOB_WORKER, &job, &err), &err);
    CHECK_INT(job.slots, 27);
    job_release(&job);
}

/* Then a cell is one item. */
static void test_sizes_may_be_ours_to_find(void) {
    struct error err = {0};
    struct job job = {0};
    set_pod();
    setenv("WINDLASS_SPEC",
           "{\"miniBatchSize\": \"auto\", \"errorThreshold\": 0, \"miniBatchErrorThreshold\": -1, "
           "\"retry\": {\"maxTries\": 5, \"timeoutSeconds\": 2},"
           "\"output\": {\"path\": \"o/x\", \"mode\": \"PerFile\"}}",
           1);
    CHECK_OK(job_read(JOB_WORKER, &job, &err), &err);
    CHECK(job.is_auto);
    CHECK_INT(job.batch_items, 1);
    CHECK_INT(job.max_tries, 5);
    job_release(&job);
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
        {"WINDLASS_SPEC", "{\"miniBatchSize\": \"automatic\"}", "spec.miniBatchSize is not"},
        {"WINDLASS_SPEC", "{\"miniBatchSize\": 8, \"retry\": {\"maxTries\": 3}}",
         "WINDLASS_SPEC: retry.timeoutSeconds is missing"},
        {"WINDLASS_SPEC", "{\"input\": {\"files\": {\"path\": \"d\", \"order\": \"Name\"}}}",
         "WINDLASS_SPEC: input.files.pattern is missing"},
        {"WINDLASS_SPEC", "{\"scorer\": {\"onnx\": {\"preprocess\": {\"multipleOf\": 1}}}}",
         "WINDLASS_SPEC: scorer.onnx.preprocess.color is missing"},
        {"WINDLASS_SPEC",
         "{\"miniBatchSize\": 8, \"retry\": {\"maxTries\": 3, \"timeoutSeconds\": 60}}",
         "WINDLASS_SPEC: miniBatchErrorThreshold is missing"},
        {"WINDLASS_SPEC", "{\"output\": {\"path\": \"o/x\"}}",
         "WINDLASS_SPEC: output.mode is missing"},
        {"WINDLASS_SPEC", "{\"output\": {\"path\": \"o/x\", \"mode\": \"AppendRow\"}}",
         "WINDLASS_SPEC: output.appendRowFileName is missing"},
        {"WINDLASS_SPEC", "{}", "spec.miniBatchSize is not"}, /* windlass fills defaults in */
        {"WINDLASS_SPEC",
         "{\"miniBatchSize\": 8, \"retry\": {\"maxTries\": -3, \"timeoutSeconds\": 60}}",
         "spec.retry.maxTries is not"},
        {"WINDLASS_SPEC",
         "{\"miniBatchSize\": 8, \"errorThreshold\": 0, \"miniBatchErrorThreshold\": 1,"
         " \"retry\": {\"maxTries\": 3, \"timeoutSeconds\": 60}}",
         "spec.output.path is missing"},
        {"WINDLASS_SPEC", /* as in crds/batchscore.yaml: no one resolves it to 64 here */
         "{\"miniBatchSize\": 8, \"retry\": {\"maxTries\": 3, \"timeoutSeconds\": 60},"
         " \"scorer\": {\"command\": {\"processesPerWorker\": 65, \"initTimeoutSeconds\": 1}}}",
         "spec.scorer.command.processesPerWorker is not an integer of 1 to 64"},
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

/* The part of our environment that other processes of this user see. */
static bool environment_shows(const char *text) {
    static char bytes[1 << 16];
    FILE *file = fopen("/proc/self/environ", "re");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) {
        fclose(file);
    }
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

/* Runs in a process that was started with the variables, like a pod's. */
static int read_as_a_pod(void) {
    struct error err = {0};
    struct job job = {0};
    bool was_there = environment_shows("a-token-to-hide") && environment_shows("a-key-to-hide");
    if (!was_there || job_read(JOB_COORDINATOR, &job, &err) < 0) {
        return 2;
    }
    bool is_read = strcmp(job.token, "a-token-to-hide") == 0 &&
                   strcmp(job.key_pem, "a-key-to-hide") == 0 && strcmp(job.uid, "u-1") == 0;
    bool is_hidden = !environment_shows("to-hide") && !getenv("WINDLASS_TOKEN") &&
                     !getenv("WINDLASS_TLS_KEY") && environment_shows("WINDLASS_RUN=0123");
    job_release(&job);
    return is_read && is_hidden && !job.token && !job.key_pem ? 0 : 1;
}

static void test_secrets_leave_the_environment(void) {
    set_pod();
    setenv("WINDLASS_UID", "u-1", 1);
    setenv("WINDLASS_BIND", "127.0.0.1:1", 1);
    setenv("WINDLASS_TOKEN", "a-token-to-hide", 1);
    setenv("WINDLASS_TLS_KEY", "a-key-to-hide", 1);
    setenv("WINDLASS_TLS_CERTIFICATE", "c", 1);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_job", "as-a-pod", (char *)NULL);
        _exit(3);
    }
    int status = -1;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

int main(int argc, char **argv UNUSED) {
    if (argc > 1) {
        return read_as_a_pod();
    }
    TEST(test_a_pods_environment_is_read);
    TEST(test_a_slot_for_each_request_in_flight);
    TEST(test_sizes_may_be_ours_to_find);
    TEST(test_a_bad_environment_is_named);
    TEST(test_secrets_leave_the_environment);
    return TEST_END();
}
