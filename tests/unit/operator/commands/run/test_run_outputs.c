// SPDX-License-Identifier: Apache-2.0
/* Whether what a run has left is complete, by names and sizes. */
#include "operator/commands/run/run_outputs.h"

#include "lib/file.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char folder[] = "/tmp/windlass-outputs-XXXXXX";

static void put(const char *name, const char *text) {
    AUTO(text_freep) char *path = file_join(folder, name);
    struct error err = {0};
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static bool is_whole_of(const char *kind, const char *status) {
    AUTO(text_freep)
    char *text = x_printf("{'kind': '%s', 'metadata': {'name': 'j', 'uid': 'u'}, 'spec': {%s}, "
                          "'status': %s}",
                          kind,
                          strcmp(kind, "BatchScore") == 0 ? "'output': {'path': 'd/out'}"
                                                          : "'outputs': [{'path': 'd/out'}]",
                          status);
    AUTO(tree_freep) json_t *object = parse(text);
    AUTO(tree_freep) json_t *folders = json_pack("{s:s}", "d", folder);
    return run_outputs_are_whole(object, object, folders);
}

static bool is_whole(void) {
    return is_whole_of("DistTrain", "{}");
}

static void put_result(const char *kind, const char *name, const char *uid) {
    AUTO(text_freep)
    char *text = x_printf("{\"kind\": \"%s\", \"name\": \"%s\", \"uid\": \"%s\", %s\"outputs\": "
                          "[{\"name\": \"rows\", \"bytes\": 4}], \"reports\": [{\"name\": \"a/r\", "
                          "\"bytes\": 1}], \"list\": {\"name\": \"list\", \"bytes\": %zu}}",
                          kind, name, uid, strcmp(kind, "DistTrain") == 0 ? "\"proof\": {}, " : "",
                          strlen("[\"f\",2,\"" SHA "\"]\n[\"g\",0,\"" SHA "\"]\n"));
    put("out/result.json", text);
}

static void put_all(void) {
    AUTO(text_freep) char *inner = file_join(folder, "out/a");
    struct error err = {0};
    CHECK_OK(file_make_folders(inner, &err), &err);
    put("out/rows", "1\n2\n");
    put("out/a/r", "r");
    put("out/f", "ff");
    put("out/g", "");
    put("out/list", "[\"f\",2,\"" SHA "\"]\n[\"g\",0,\"" SHA "\"]\n");
    put_result("DistTrain", "j", "u");
}

/* Each file is missed, and one that was cut. */
static void test_each_file_counts(void) {
    static const char *const names[] = {"result.json", "rows", "a/r", "list", "f", "g"};
    put_all();
    CHECK(is_whole());
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(text_freep) char *name = x_printf("out/%s", names[i]);
        AUTO(text_freep) char *path = file_join(folder, name);
        CHECK_INT(unlink(path), 0);
        CHECK(!is_whole());
        put(name, "of another size");
        CHECK(!is_whole());
        put_all();
        CHECK(is_whole());
    }
    put("out/list", "[\"f\",2,\"" SHA "\"]\n[\"../x\",\"\" " SHA "\"]\n");
    CHECK(!is_whole());
}

static void test_whose_result_it_is(void) {
    put_all();
    put_result("DistTrain", "other", "u");
    CHECK(!is_whole());
    put_result("DistTrain", "j", "another run's");
    CHECK(!is_whole());
    put_result("BatchScore", "j", "u");
    CHECK(!is_whole());
    CHECK(is_whole_of("BatchScore", "{}"));
    put_result("BatchScore", "j", "of the run that had something to do");
    CHECK(is_whole_of("BatchScore", "{}"));
}

/* The status of a command says why it has none. */
static void test_commands_without(void) {
    put("out/result.json", "{\"accuracy\": 1}");
    CHECK(!is_whole());
    CHECK(is_whole_of("DistTrain", "{'proof': {'resultMessage': 'a file of the program'}}"));
}

int main(void) {
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    TEST(test_each_file_counts);
    TEST(test_whose_result_it_is);
    TEST(test_commands_without);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
