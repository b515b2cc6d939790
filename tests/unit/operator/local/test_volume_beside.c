// SPDX-License-Identifier: Apache-2.0
#include "operator/local/volume_beside.h"

#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_volume_beside.XXXXXX";

/* The spec after the folders beside the manifest were declared, and their names. */
static json_t *declare(const char *spec, char **ret_names) {
    AUTO(text_freep) char *text = x_printf("{\"spec\":%s}", spec);
    json_t *object = json_loads(text, 0, NULL);
    CHECK(object != NULL);
    *ret_names = volume_beside_declare(object, "spec", folder);
    return object;
}

static void check_names(const char *spec, const char *wanted) {
    AUTO(text_freep) char *names = NULL;
    AUTO(tree_freep) json_t *object = declare(spec, &names);
    CHECK_STR(names ? names : "none", wanted);
    CHECK_INT(tree_get(object, "spec.volumes") != NULL,
              names != NULL || strstr(spec, "volumes") != NULL);
}

static void test_names(void) {
    check_names(
        "{\"input\":{\"files\":{\"path\":\"data/photos\"}},\"output\":{\"path\":\"data/out\"}}",
        "data");
    check_names("{\"input\":{\"files\":{\"path\":\"data\"}}}", "data");
    check_names(
        "{\"scorer\":{\"command\":{\"command\":[\"python3\",\"$(code)/a.py\",\"$(data)\"]}}}",
        "code, data");
    check_names("{\"input\":{\"files\":{\"path\":\"nowhere/x\",\"pattern\":\"data\"}}}", "none");
    check_names("{\"input\":{\"files\":{\"path\":\"nowhere/x\",\"pattern\":\"data/*\"}}}", "none");
    check_names("{\"command\":[\"cat\",\"data/x\"],\"environment\":{\"A\":\"data/x\"}}", "none");
    check_names("{\"postprocess\":{\"labels\":\"data/names.txt\"}}", "data");
    check_names("{\"a\":{\"path\":\"az://data/x\"},\"b\":{\"path\":\"/data/x\"}}", "none");
    check_names("{\"a\":{\"path\":\"../data/x\"},\"b\":{\"path\":\"file/x\"},\"c\":\"\"}", "none");
    check_names("{\"image\":\"data/x:1\",\"c\":\"$(\",\"d\":\"$()\",\"e\":\"data\"}", "none");
    check_names("{\"a\":{\"path\":\"data/x\"},\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}}]}",
                "none");
    check_names("{\"a\":{\"path\":\"data/x\"},\"volumes\":\"wrong\"}", "none");
}

static void test_tree(void) {
    AUTO(text_freep) char *names = NULL;
    AUTO(tree_freep)
    json_t *object = declare("{\"a\":{\"path\":\"data/x\"},\"b\":{\"path\":\"code/x\"},"
                             "\"volumes\":[{\"name\":\"code\",\"emptyDir\":{}}]}",
                             &names);
    AUTO(text_freep) char *text = tree_compact(tree_get(object, "spec.volumes"));
    CHECK_STR(text, "[{\"name\":\"code\",\"emptyDir\":{}},{\"name\":\"data\","
                    "\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]");
    AUTO(tree_freep) json_t *empty = json_object();
    CHECK(volume_beside_declare(empty, "spec.trial", folder) == NULL);
    CHECK_INT(json_object_size(empty), 0);
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *data = x_printf("%s/data", folder);
    AUTO(text_freep) char *code = x_printf("%s/code", folder);
    CHECK(mkdir(data, 0700) == 0 && mkdir(code, 0700) == 0);
    TEST(test_names);
    TEST(test_tree);
    rmdir(data);
    rmdir(code);
    rmdir(folder);
    return TEST_END();
}
