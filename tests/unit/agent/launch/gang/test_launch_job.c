// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/launch_job.h"
#include "lib/file.h"
#include "lib/text/text_list.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

static json_t *spec_of_a_job(void) {
    return json_pack("{s:i,s:i,s:i,s:i,s:{s:i,s:i,s:i,s:i},s:s,s:[s,s]}", "workers", 3,
                     "minWorkers", 2, "slotsPerWorker", 1, "gpus", 0, "restart", "maxRestarts", 4,
                     "backoffSeconds", 5, "waitSeconds", 6, "hangSeconds", 7, "launcher", "None",
                     "command", "echo", "hello");
}

/* What a worker of index 1 gets from the operator. The token is taken out of the environment. */
static int read_job(const json_t *spec, struct launch_job *ret_job, struct error *err) {
    static char folder[] = "/tmp/launch-job-XXXXXX";
    if (folder[strlen(folder) - 1] == 'X' && !mkdtemp(folder)) {
        return error_set(err, ERROR_BUG, "mkdtemp");
    }
    const char *const variables[][2] = {
        {"WINDLASS_JOB", "j"},          {"WINDLASS_WORKER", "j-1"},    {"WINDLASS_INDEX", "1"},
        {"WINDLASS_ATTEMPT", "1"},      {"POD_IP", "10.1.0.6"},        {"WINDLASS_TOKEN", "secret"},
        {"WINDLASS_HUB", "10.1.0.5:1"}, {"WINDLASS_HUB_SHA256", "00"}, {"WINDLASS_FOLDER", folder},
    };
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        setenv(variables[i][0], variables[i][1], 1);
    }
    AUTO(text_freep) char *text = json_dumps(spec, JSON_COMPACT);
    setenv("WINDLASS_SPEC", text, 1);
    int result = launch_job_read(ret_job, err);
    AUTO(text_freep) char *run = file_join(folder, "run");
    rmdir(run);
    rmdir(folder);
    return result;
}

static void test_a_job_is_read(void) {
    AUTO(tree_freep) json_t *spec = spec_of_a_job();
    struct launch_job job = {0};
    struct error err = {0};
    CHECK_OK(read_job(spec, &job, &err), &err);
    CHECK_INT(job.gang.workers, 3);
    CHECK_INT(job.gang.min_workers, 2);
    CHECK_INT(job.gang.slots, 1);
    CHECK_INT(job.gang.max_restarts, 4);
    CHECK_INT(job.gang.backoff_ms, 5000);
    CHECK_INT(job.gang.gather_timeout_ms, 6000);
    CHECK_INT(job.gang.hang_ms, 7000);
    CHECK_STR(job.command[1], "hello");
    CHECK(!job.command[2]);
    launch_job_release(&job);
}

static void is_refused(const json_t *spec, const char *sentence) {
    struct launch_job job = {0};
    struct error err = {0};
    CHECK_INT(read_job(spec, &job, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, sentence);
}

static void test_a_number_out_of_bounds_is_refused_with_its_bounds(void) {
    static const struct {
        const char *field;
        json_int_t value;
        const char *sentence;
    } rows[] = {
        {"workers", 0, "spec.workers: expected a whole number from 1 to 1000"},
        {"workers", 1001, "spec.workers: expected a whole number from 1 to 1000"},
        {"minWorkers", 0, "spec.minWorkers: expected a whole number from 1 to 1000"},
        {"minWorkers", 4, "spec.minWorkers: expected at most spec.workers, which is 3"},
        {"slotsPerWorker", 0, "spec.slotsPerWorker: expected a whole number from 1 to 64"},
        {"gpus", -1, "spec.gpus: expected a whole number from 0 to 1024"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of_a_job();
        json_object_set_new(spec, rows[i].field, json_integer(rows[i].value));
        is_refused(spec, rows[i].sentence);
    }
    AUTO(tree_freep) json_t *text = spec_of_a_job(), *missing = spec_of_a_job();
    json_object_set_new(text, "gpus", json_string("1"));
    is_refused(text, "spec.gpus: expected a whole number from 0 to 1024");
    json_object_del(missing, "gpus");
    is_refused(missing, "the environment variable WINDLASS_SPEC: gpus is missing");
}

/* The definition allows fewer; a list is never cut without a word. */
static void test_a_list_that_is_too_long_is_refused(void) {
    static const struct {
        const char *field;
        size_t most;
    } rows[] = {{"command", 4096}, {"prepare", 4096}, {"environment", 4096},
                {"secrets", 4096}, {"inputs", 256},   {"outputs", 256}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of_a_job();
        json_t *list = json_array();
        for (size_t k = 0; k <= rows[i].most; k++) {
            json_array_append_new(list, json_string("a"));
        }
        json_object_set_new(spec, rows[i].field, list);
        AUTO(text_freep)
        char *sentence = x_printf("spec.%s: %zu entries, expected at most %zu", rows[i].field,
                                  rows[i].most + 1, rows[i].most);
        is_refused(spec, sentence);
    }
}

int main(void) {
    TEST(test_a_job_is_read);
    TEST(test_a_number_out_of_bounds_is_refused_with_its_bounds);
    TEST(test_a_list_that_is_too_long_is_refused);
    return TEST_END();
}
