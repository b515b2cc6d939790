// SPDX-License-Identifier: Apache-2.0
/* A run's file has the digest of its network: over all bytes that reads give, to the end. */
#include "agent/score/log/run_file.h"

#include "agent/data/input/input.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "tests/unit/agent/data/tries.h"

#include <stdlib.h>
#include <unistd.h>

static const char path[] = "build/test_run_file.bin";

/* The digest of this network in the run's file; the caller frees. */
static char *digest_of(const char *network, struct error *err) {
    static const struct input_kind kind = {0}; /* by lines: nothing to list */
    const struct media media = {.lines = &kind};
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:s}}}", "scorer", "onnx", "path", "engine/models/net.onnx");
    AUTO(tree_freep) json_t *run = NULL;
    const struct job job = {.spec = spec};
    return run_file_make(&job, &media, NULL, network, &run, err) < 0
               ? NULL
               : x_strdup(tree_text(run, "model", ""));
}

static void test_files_of_any_size(void) {
    static const size_t sizes[] = {0, 1, 1 << 20, (1 << 20) + 1, 5 << 19};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct error err = {0};
        AUTO(text_freep) char *bytes = x_malloc(sizes[i] + 1);
        char wanted[65];
        for (size_t k = 0; k < sizes[i]; k++) {
            bytes[k] = (char)(k * 31 + k / 4096);
        }
        CHECK_OK(file_write(path, bytes, sizes[i], &err), &err);
        digest_sha256(bytes, sizes[i], wanted);
        AUTO(text_freep) char *seen = digest_of(path, &err);
        CHECK_STR(seen, wanted);
        unlink(path);
    }
}

/* A file's size at opening may be wrong: it is read until it ends. A mapping of that size would end
 * the process if the file is shorter by then. */
static void test_the_size_that_is_told_is_not_believed(void) {
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    char wanted[65];
    CHECK_OK(file_read("/proc/version", 1 << 20, &text, &size, &err), &err); /* "0 bytes" */
    CHECK(size > 0);
    digest_sha256(text, size, wanted);
    AUTO(text_freep) char *seen = digest_of("/proc/version", &err);
    CHECK_STR(seen, wanted);
}

static void test_what_cannot_be_read_is_told_with_its_field(void) {
    static const char *const paths[] = {"build/test_run_file.none", "build"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct error err = {0};
        AUTO(text_freep) char *seen = digest_of(paths[i], &err);
        CHECK(!seen);
        CHECK(text_starts(err.text, "spec.scorer.onnx.path: engine/models/net.onnx"));
    }
}

/* Another network or other labels under the old names end a run that began with others. */
static void test_files_that_have_changed_are_refused_by_name(void) {
    static const char *const fields[] = {"model", "labels"};
    static const char *const paths[] = {"spec.scorer.onnx.path is not",
                                        "spec.scorer.onnx.postprocess.labels is not"};
    fixtures_start("run_file");
    AUTO(store_freep) struct store *output = open_output("out/run_file");
    struct error err = {0};
    AUTO(tree_freep)
    json_t *run = json_pack("{s:i,s:s,s:s}", "windlass", 1, "model", "aa", "labels", "bb");
    CHECK_OK(run_file_check(output, RUN, run, &err), &err); /* there is none yet */
    CHECK_OK(run_file_store(output, RUN, run, &err), &err);
    CHECK_OK(run_file_store(output, RUN, run, &err), &err);
    CHECK_OK(run_file_check(output, RUN, run, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        for (int is_gone = 0; is_gone < 2; is_gone++) {
            AUTO(tree_freep) json_t *other = json_deep_copy(run);
            if (is_gone) {
                json_object_del(other, fields[i]);
            } else {
                json_object_set_new(other, fields[i], json_string("cc"));
            }
            for (int way = 0; way < 2; way++) {
                err = (struct error){0};
                CHECK_INT(way ? run_file_store(output, RUN, other, &err)
                              : run_file_check(output, RUN, other, &err),
                          -1);
                CHECK_INT(err.kind, ERROR_INVALID);
                CHECK(text_starts(err.text, paths[i]));
            }
        }
    }
}

int main(void) {
    TEST(test_files_of_any_size);
    TEST(test_the_size_that_is_told_is_not_believed);
    TEST(test_what_cannot_be_read_is_told_with_its_field);
    TEST(test_files_that_have_changed_are_refused_by_name);
    return TEST_END();
}
