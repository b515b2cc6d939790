// SPDX-License-Identifier: Apache-2.0
/* The result of a folder into which a program writes: all files, another output inside, links that
 * leave the volume; what an earlier run has left; a program's own result.json. */
#include "agent/result/result_folder.h"

#include "agent/result/verify.h"
#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct store *output, *scratch;
static char folder[] = "/tmp/windlass-folder-XXXXXX";

static void put(const char *name, const char *text) {
    struct error err = {0};
    CHECK_OK(store_put(output, name, text, strlen(text), STORE_REPLACE, &err), &err);
}

static bool is_there(const char *name) {
    struct store_info info;
    struct error ignored = {0};
    return store_stat(output, name, &info, &ignored) == 0;
}

static json_t *new_result(const char *excluded) {
    json_t *result =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:[]}", "windlass", RESULT_FORMAT, "kind", "DistTrain",
                  "name", "j", "run", "0", "completed", "2026-11-23T00:00:00Z", "excluded");
    if (excluded) {
        json_array_append_new(json_object_get(result, "excluded"), json_string(excluded));
    }
    return result;
}

static int64_t faults(void) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *result = NULL;
    AUTO(verify_report_release) struct verify_report report = {0};
    struct error err = {0};
    int64_t count = 0;
    buffer_init(&text, RESULT_BYTES_MAX);
    CHECK_OK(store_get(output, RESULT_NAME, &text, NULL, &err), &err);
    CHECK_OK(result_file_parse(text.data, text.size, &result, &err), &err);
    const struct verify_options options = {.output = output, .scratch = scratch, .result = result};
    CHECK_OK(verify_output(&options, &report, &err), &err);
    for (int i = 0; i < VERIFY_FAULT_COUNT; i++) {
        count += report.counts[i];
    }
    return count;
}

static const struct result_folder_job no_job = {RESULT_DISTTRAIN, NULL, NULL};

static void all_files_are_named(void) {
    AUTO(tree_freep) json_t *result = new_result("inner");
    AUTO(text_freep) char *link = x_printf("%s/out/link", folder);
    struct error err = {0};
    char sha256[65];
    put("model.bin", "model");
    put("deep/er/x", "");
    put("inner/result.json", "of another output");
    put(".hidden/x", "x");
    CHECK_INT(symlink("/etc/passwd", link), 0);
    CHECK_OK(result_folder_begin(output, &no_job, &err), &err);
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
    CHECK_INT(tree_integer(result, "list.files", -1), 2);
    CHECK_INT(tree_integer(result, "list.fileBytes", -1), 5);
    CHECK_INT(faults(), 0);
    put("model.bin", "Model");
    CHECK_INT(faults(), 1);
    put("more", "x");
    CHECK_INT(faults(), 2);
    CHECK_OK(store_remove(output, "model.bin", &err) | store_remove(output, "more", &err), &err);
    CHECK_INT(faults(), 1);
}

/* What is too deep in folders has no name that a list could have. */
static void files_that_cannot_be_named(void) {
    AUTO(tree_freep) json_t *result = new_result("inner");
    AUTO(text_freep) char *top = x_printf("%s/out/d", folder);
    AUTO(text_freep) char *path = x_strdup(top);
    struct error err = {0};
    char sha256[65];
    CHECK_OK(result_folder_begin(output, &no_job, &err), &err);
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
    CHECK_INT(faults(), 0);
    for (int i = 0; i <= STORE_DEPTH_MAX; i++) {
        CHECK_INT(mkdir(path, 0777), 0);
        char *below = x_printf("%s/d", path);
        free(path);
        path = below;
    }
    CHECK_OK(file_write(path, "x", 1, &err), &err);
    CHECK_INT(faults(), 1);
    CHECK_INT(result_folder_write(output, result, NULL, sha256, &err), -1);
    CHECK(strstr(err.text, "has names of more than 64 parts") != NULL);
    error_clear(&err);
    CHECK_OK(file_remove_tree(top, &err), &err);
}

static void an_earlier_result_goes(void) {
    AUTO(tree_freep) json_t *result = new_result(NULL);
    struct error err = {0};
    char sha256[65];
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
    put(RESULT_ENVELOPE_NAME, "{}\n");
    CHECK_OK(result_folder_begin(output, &no_job, &err), &err);
    CHECK(!is_there(RESULT_NAME) && !is_there(RESULT_ENVELOPE_NAME));
    CHECK(!is_there(RESULT_FOLDER_LIST));
    CHECK(is_there("deep/er/x"));
}

/* Whatever it holds, also what would be ours but for one field. */
static void a_programs_own_stays(void) {
    static const char *const rows[] = {"", "{}", "{\"accuracy\": 0.9}", "[1]",
                                       "{\"windlass\": 1, \"kind\": \"x\"}"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *result = new_result(NULL);
        AUTO(buffer_release) struct buffer text;
        struct error err = {0}, refused = {0};
        char sha256[65];
        buffer_init(&text, RESULT_BYTES_MAX);
        put(RESULT_NAME, rows[i]);
        CHECK_OK(result_folder_begin(output, &no_job, &err), &err);
        CHECK_INT(result_folder_write(output, result, NULL, sha256, &refused), -1);
        CHECK_INT(refused.kind, ERROR_FAILED);
        CHECK(strstr(refused.text, "is a file of the program") != NULL);
        CHECK_OK(store_get(output, RESULT_NAME, &text, NULL, &err), &err);
        CHECK_INT(text.size, strlen(rows[i]));
        CHECK(text.size == 0 || memcmp(text.data, rows[i], text.size) == 0);
        CHECK(!is_there(RESULT_FOLDER_LIST));
    }
}

/* Each would call whole what the other one has changed. */
static void another_kinds_stays(void) {
    AUTO(tree_freep) json_t *result = new_result(NULL);
    AUTO(buffer_release) struct buffer text;
    struct error err = {0};
    char sha256[65];
    buffer_init(&text, RESULT_BYTES_MAX);
    CHECK_OK(store_remove(output, RESULT_NAME, &err), &err);
    json_object_set_new(result, "kind", json_string("BatchScore"));
    json_object_set_new(result, "name", json_string("score"));
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
    json_object_set_new(result, "kind", json_string("DistTrain"));
    for (int i = 0; i < 2; i++) {
        struct error refused = {0};
        CHECK_INT(i ? result_folder_write(output, result, NULL, sha256, &refused)
                    : result_folder_begin(output, &no_job, &refused),
                  -1);
        CHECK_INT(refused.kind, ERROR_INVALID);
        CHECK(strstr(refused.text, "holds the result of BatchScore score (result.json): choose"));
    }
    CHECK_OK(store_get(output, RESULT_NAME, &text, NULL, &err), &err);
    CHECK(text.data && strstr(text.data, "BatchScore"));
}

/* Both are DistTrains. */
static void a_trainers_stays(void) {
    AUTO(tree_freep) json_t *result = new_result(NULL);
    struct error err = {0}, refused = {0};
    char sha256[65];
    CHECK_OK(store_remove(output, RESULT_NAME, &err), &err);
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
    CHECK_OK(result_file_check_kind(result, RESULT_COMMAND, "out", &err), &err);
    CHECK_INT(result_file_check_kind(result, RESULT_TRAINER, "out", &refused), -1);
    CHECK_STR(refused.text, "out holds the result of DistTrain j, made by its command "
                            "(result.json): choose another output");
    json_object_del(result, "list");
    json_object_set_new(result, "generation", json_integer(1));
    CHECK_OK(result_file_check_kind(result, RESULT_TRAINER, "out", &err), &err);
    CHECK_OK(result_write(output, result, NULL, sha256, &err), &err);
    error_clear(&refused);
    CHECK_INT(result_folder_begin(output, &no_job, &refused), -1);
    CHECK_INT(refused.kind, ERROR_INVALID);
    CHECK(
        strstr(refused.text, "holds the result of DistTrain j, made by its trainer (result.json"));
    CHECK(is_there(RESULT_NAME));
    CHECK_OK(store_remove(output, RESULT_NAME, &err), &err);
}

#define OWN "0123456789abcdef"
#define OTHER "fedcba9876543210"

/* The end of another run's ranks says nothing about this one; its own records are its successors'.
 */
static void ends_of_others_go(void) {
    const struct result_folder_job job = {RESULT_DISTTRAIN, "uid-1", OWN};
    struct error err = {0};
    put(".windlass/" OTHER "/ended/000001", "{}");
    put(".windlass/" OTHER "/ended/000002.1", "{}");
    put(".windlass/" OTHER "/checkpoint/7", "x");
    put(".windlass/" OWN "/ended/000001", "{}");
    put(".windlass/more/ended/x", "x");
    CHECK_OK(result_folder_begin(output, &job, &err), &err);
    CHECK(!is_there(".windlass/" OTHER "/ended/000001"));
    CHECK(!is_there(".windlass/" OTHER "/ended/000002.1"));
    CHECK(is_there(".windlass/" OTHER "/checkpoint/7") && is_there(".windlass/more/ended/x"));
    CHECK(is_there(".windlass/" OWN "/ended/000001"));
}

/* Two jobs with one output: the one that began first ends while the other one writes. */
static void who_began_last_writes(void) {
    static const char *const uids[] = {"uid-1", "uid-2"};
    AUTO(tree_freep) json_t *result = new_result(NULL);
    struct error err = {0}, refused = {0};
    char sha256[65];
    CHECK_OK(store_remove(output, RESULT_NAME, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        const struct result_folder_job job = {RESULT_DISTTRAIN, uids[i], OWN};
        CHECK_OK(result_folder_begin(output, &job, &err), &err);
    }
    json_object_set_new(result, "uid", json_string("uid-1"));
    CHECK_INT(result_folder_write(output, result, NULL, sha256, &refused), -1);
    CHECK_INT(refused.kind, ERROR_FAILED);
    CHECK(strstr(refused.text, "another job has begun to write there (uid uid-2)") != NULL);
    CHECK(!is_there(RESULT_NAME));
    json_object_set_new(result, "uid", json_string("uid-2"));
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
    CHECK_OK(store_remove(output, ".windlass/writer", &err), &err); /* its program may do that */
    CHECK_OK(result_folder_write(output, result, NULL, sha256, &err), &err);
}

int main(void) {
    struct error err = {0};
    setenv("resultfolder", mkdtemp(folder), 1);
    CHECK_OK(store_open("resultfolder/out", /* writes= */ true, &output, &err), &err);
    CHECK_OK(store_open("resultfolder/scratch", /* writes= */ true, &scratch, &err), &err);
    TEST(all_files_are_named);
    TEST(files_that_cannot_be_named);
    TEST(an_earlier_result_goes);
    TEST(a_programs_own_stays);
    TEST(ends_of_others_go);
    TEST(who_began_last_writes);
    TEST(another_kinds_stays);
    TEST(a_trainers_stays);
    store_free(output);
    store_free(scratch);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
