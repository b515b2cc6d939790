// SPDX-License-Identifier: Apache-2.0
/* The check of a training's stored result: the record of this round and run, its objects; a store
 * that is missing; freed while it runs. */
#include "agent/launch/proof/result_check.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "tests/test.h"
#include "tests/unit/agent/capabilities.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define RUN "0123456789abcdef"

static struct store *store;

static void record(int64_t generation, int64_t round, const char *run) {
    struct error err = {0};
    struct finished made = {.generation = generation, .round = round, .count = 1};
    snprintf(made.run, sizeof made.run, "%s", run);
    digest_sha256("", 0, made.settings);
    made.objects[0] = (struct finished_object){.name = "model.onnx", .size_bytes = 5};
    digest_sha256("model", 5, made.objects[0].sha256);
    CHECK_OK(finished_put(store, ".windlass/" RUN "/", &made, &err), &err);
}

/* Waits for the end. The error is empty if the result is complete. */
static struct error check(const char *path, int64_t round) {
    const struct result_check_options options = {
        .path = path, .run = RUN, .round = round, .timeout_ms = 1};
    struct result_check *made = result_check_start(&options);
    struct result_check_end end = {0};
    bool is_done = false;
    for (int i = 0; i < 6000 && !is_done; i++) {
        is_done = result_check_poll(made, &end);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    CHECK(is_done);
    CHECK(end.err.kind || end.finished.count == 1);
    result_check_free(made);
    return end.err;
}

static void put_model(const char *text) {
    struct error err = {0};
    CHECK_OK(store_put(store, "model.onnx", text, strlen(text), STORE_REPLACE, &err), &err);
}

static bool says(struct error err, const char *words) {
    bool is_right = strstr(err.text, words) != NULL;
    if (!is_right) {
        printf("# %s\n", err.text);
    }
    return is_right;
}

static void the_result_is_as_recorded(void) {
    CHECK(
        says(check("resulttest/out", 7), "rank 0 left no record of the result in resulttest/out/"));
    put_model("model");
    record(1, 7, RUN);
    CHECK_INT(check("resulttest/out", 7).kind, ERROR_NONE);
    /* Another hub's round, also with the right objects. */
    CHECK(says(check("resulttest/out", 8), "is of round 7 and not of this one, 8"));
    put_model("Model");
    CHECK(says(check("resulttest/out", 7), "model.onnx is not what the training wrote"));
    put_model("model");
    record(2, 9, RUN);
    CHECK(says(check("resulttest/out", 7), "is of round 9 and not of this one, 7"));
    record(3, 7, "fedcba9876543210");
    CHECK(says(check("resulttest/out", 7), "is of round 7 and not of this one"));
    CHECK(check("resulttest/none", 7).kind != ERROR_NONE);
    CHECK(check("novolume/out", 7).kind != ERROR_NONE);
}

/* Of a folder that may be read later. */
static void what_it_waits_for_is_known(void) {
    const struct result_check_options options = {.path = "resulttest/out", .run = RUN, .round = 7};
    AUTO(text_freep) char *path = file_join(getenv("resulttest"), "out");
    char trouble[512] = "";
    CHECK(chmod(path, 0) == 0);
    uint32_t before = capabilities_drop(CAPABILITIES_OF_FILES);
    struct result_check *made = result_check_start(&options);
    for (int i = 0; i < 6000 && !*trouble; i++) {
        result_check_read_trouble(made, trouble, sizeof trouble);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    CHECK(strstr(trouble, "ermission denied"));
    result_check_free(made);
    capabilities_set(before);
    CHECK(chmod(path, 0700) == 0);
}

static void it_is_not_waited_for(void) {
    const struct result_check_options options = {.path = "novolume/out", .run = RUN, .round = 1};
    for (int i = 0; i < 100; i++) {
        result_check_free(result_check_start(&options));
    }
    result_check_free(NULL);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-result-XXXXXX";
    setenv("resulttest", mkdtemp(folder), 1);
    CHECK_OK(store_open("resulttest/out", /* writes= */ true, &store, &err), &err);
    TEST(the_result_is_as_recorded);
    TEST(what_it_waits_for_is_known);
    TEST(it_is_not_waited_for);
    store_free(store);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
