// SPDX-License-Identifier: Apache-2.0
/* Every tests/data/batchai/NAME.json becomes NAME.yaml beside it, which a cluster accepts.
 * IMPORT_UPDATE=1 writes them anew. */
#include "operator/kinds/import/import_forms.h"

#include "lib/file.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>

#define FOLDER "tests/data/batchai"

static char *read_text(const char *path) {
    struct error err = {0};
    char *text = NULL;
    size_t size;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text ? text : x_strdup("");
}

static int make(const json_t *job, const char *name, char **ret_text, struct error *err) {
    AUTO(tree_freep) json_t *documents = json_pack("[O]", job);
    return import_documents(documents, name, "job", ret_text, err);
}

static void check_golden(const char *file) {
    struct error err = {0};
    AUTO(text_freep) char *name = x_strndup(file, strlen(file) - strlen(".json"));
    AUTO(text_freep) char *from = file_join(FOLDER, file);
    AUTO(text_freep) char *to = x_printf(FOLDER "/%s.yaml", name);
    AUTO(text_freep) char *text = read_text(from);
    AUTO(text_freep) char *made = NULL;
    AUTO(tree_freep) json_t *job = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(tree_parse(text, strlen(text), 1 << 20, &job, &err), &err);
    CHECK_OK(make(job, name, &made, &err), &err);
    CHECK_OK(resource_parse(file, made, strlen(made), &object, &err), &err);
    CHECK(!strstr(made, "KEEP-ME-OUT")); /* keys, passwords, values of secrets */
    if (getenv("IMPORT_UPDATE")) {
        CHECK_OK(file_write(to, made, strlen(made), &err), &err);
    }
    AUTO(text_freep) char *wanted = read_text(to);
    if (strcmp(made, wanted) != 0) {
        printf("# %s is not what comes out of %s:\n%s\n", to, from, made);
        test_failures++;
    }
}

static void test_goldens(void) {
    int count = 0;
    DIR *files = opendir(FOLDER);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".json")) {
            check_golden(file->d_name);
            count++;
        }
    }
    if (files) {
        closedir(files);
    }
    CHECK(count >= 12); /* two real ones, mounts, placeholders, and one of each toolkit */
}

static void check_refused(const char *text, const char *says) {
    struct error err = {0};
    char *made = NULL;
    AUTO(tree_freep) json_t *job = json_loads(text, 0, NULL);
    CHECK(job != NULL);
    CHECK_INT(make(job, "job", &made, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, says) != NULL);
    free(made);
}

static void test_refusals(void) {
    check_refused("{}", "not a job that import knows");
    check_refused("{\"properties\": []}", "not a job that import knows");
    check_refused("{\"properties\": {\"nodeCount\": 0}}", "nodeCount: 1 to 1000");
    check_refused("{\"properties\": {\"nodeCount\": 1001}}", "nodeCount: 1 to 1000");
    check_refused("{\"properties\": {\"nodeCount\": 1}}", "has no toolkit");
    check_refused("{\"properties\": {\"nodeCount\": 1, \"customToolkitSettings\": {}, "
                  "\"horovodSettings\": {}}}",
                  "has exactly one toolkit");
}

/* Texts of the file stay values: none becomes a field, or ends a comment. */
static void test_texts_stay_texts(void) {
    struct error err = {0};
    AUTO(text_freep) char *made = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    AUTO(tree_freep)
    json_t *job = json_loads(
        "{\"properties\": {\"nodeCount\": 1, \"customToolkitSettings\": {\"commandLine\": \"echo "
        "'a: b' # \\n\\\"${X}\\\"\\n  workers: 7\"}, \"stdOutErrPathPrefix\": \"/a\\n  workers: "
        "8\\n\", \"schedulingPriority\\n  workers: 9\": 1, \"environmentVariables\": [{\"name\": "
        "\"A\", \"value\": \"}\\n  workers: 9\"}], \"mountVolumes\": {\"azureFileShares\": "
        "[{\"accountName\": \"x\\n  workers: 6\", \"azureFileUrl\": "
        "\"https://x.file.core.windows.net/share\", \"relativeMountPath\": \"afs\"}]}}}",
        0, NULL);
    CHECK(job != NULL);
    CHECK_OK(make(job, "job", &made, &err), &err);
    /* Only the account's name is invalid. */
    CHECK_INT(resource_parse("x", made, strlen(made), &object, &err), -1);
    CHECK(strstr(err.text, "spec.volumes[0].azureFile.secretName") != NULL);
    json_object_del(tree_get(job, "properties"), "mountVolumes");
    text_freep(&made);
    error_clear(&err);
    CHECK_OK(make(job, "job", &made, &err), &err);
    CHECK_OK(resource_parse("x", made, strlen(made), &object, &err), &err);
    CHECK_INT(tree_integer(object, "spec.workers", 0), 1);
    CHECK_STR(tree_text(object, "spec.command[2]", ""), "echo 'a: b' # \n\"${X}\"\n  workers: 7");
    CHECK_STR(tree_text(object, "spec.environment.A", ""), "}\n  workers: 9");
}

/* Characters that JSON allows and YAML does not, in values and in what becomes a comment. */
static void test_characters_that_yaml_does_not_allow(void) {
    static const char strange[] = "a\x7f"
                                  "b\xc2\x80\xc2\x9f\xc3\xa4\xef\xbb\xbf\xef\xbf\xbe\xef\xbf\xbd";
    struct error err = {0};
    AUTO(text_freep) char *made = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    AUTO(tree_freep)
    json_t *job = json_pack("{s:{s:i,s:{s:s},s:[{s:s,s:s}],s:i}}", "properties", "nodeCount", 1,
                            "customToolkitSettings", "commandLine", strange, "environmentVariables",
                            "name", "A", "value", strange, strange, 1);
    CHECK_OK(make(job, "job", &made, &err), &err);
    CHECK_OK(resource_parse("x", made, strlen(made), &object, &err), &err);
    CHECK_STR(tree_text(object, "spec.environment.A", ""), strange);
    CHECK_STR(tree_text(object, "spec.command[2]", ""), strange);
}

int main(void) {
    TEST(test_goldens);
    TEST(test_refusals);
    TEST(test_texts_stay_texts);
    TEST(test_characters_that_yaml_does_not_allow);
    return TEST_END();
}
