// SPDX-License-Identifier: Apache-2.0
/* The table of bad manifests (tests/data/bad-manifests): the head of each has the wrong field and
 * our message; `by: step`: a cluster accepts it and we refuse it until the agent supports it.
 * tests/e2e/cluster/test_crd.sh gives the same table to a real API server. */
#include "operator/resource.h"

#include "lib/file.h"
#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/kinds.h"
#include "tests/load_resource.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>

#define BAD "tests/data/bad-manifests"
#define GOOD "tests/data/good-manifests"

/* The rest of the line "# NAME: rest"; the caller frees. */
static char *head(const char *text, const char *name) {
    AUTO(text_freep) char *prefix = x_printf("# %s: ", name);
    const char *at = strstr(text, prefix);
    return at ? x_strndup(at + strlen(prefix), strcspn(at + strlen(prefix), "\n")) : x_strdup("");
}

static void check_bad(const char *path) {
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    size_t size;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    AUTO(text_freep) char *field = head(text, "field");
    AUTO(text_freep) char *says = head(text, "says");
    AUTO(tree_freep) json_t *object = NULL;
    CHECK(*field && *says);
    AUTO(text_freep) char *by = head(text, "by");
    if (strcmp(by, "step") == 0) { /* breaks no rule */
        CHECK_OK(load_resource(path, false, &object, &err), &err);
        tree_freep(&object);
        CHECK_INT(load_resource(path, true, &object, &err), -1);
    } else {
        CHECK_INT(load_resource(path, false, &object, &err), -1);
    }
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(text_starts(err.text, path));
    /* An error about FIELD alone is reported with its line: "FILE:LINE: FIELD: ...". */
    AUTO(text_freep) char *names = x_printf(": %s: ", field);
    bool told = strcmp(field, "-") == 0 || strcmp(says, "given twice") == 0 ||
                strstr(err.text, names) != NULL;
    if (!told || !strstr(err.text, says)) {
        printf("# %s\n#   said:   %s\n#   wanted: %s: %s\n", path, err.text, field, says);
        test_failures++;
    }
}

static size_t each_file(const char *folder, void (*check)(const char *path)) {
    size_t count = 0;
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".yaml")) {
            AUTO(text_freep) char *path = file_join(folder, file->d_name);
            check(path);
            count++;
        }
    }
    if (files) {
        closedir(files);
    }
    return count;
}

static void test_bad_manifests(void) {
    CHECK(each_file(BAD, check_bad) > 80);
}

static void check_good(const char *path) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(load_resource(path, true, &object, &err), &err);
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    CHECK_OK(batchscore_spec_read(object, NULL, &spec, &err), &err);
    bool has_rows = tree_get(object, "spec.input.table") || tree_get(object, "spec.input.npy");
    const char *given = tree_text(object, "spec.output.mode", has_rows ? "AppendRow" : "PerFile");
    CHECK_STR(tree_text(spec.work, "output.mode", ""), given);
}

static void test_good_manifests(void) {
    CHECK(each_file(GOOD, check_good) >= 18);
    CHECK_INT(each_file("examples/style-transfer", check_good), 1);
}

/* The rules of the bad manifests: {"FIELD SAYS": true}, those of one kind. */
static json_t *proven;
static const char *proven_kind;

static void note_rule(const char *path) {
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    size_t size;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    AUTO(text_freep) char *field = head(text, "field");
    AUTO(text_freep) char *says = head(text, "says");
    AUTO(text_freep) char *by = head(text, "by");
    for (char *at = field; (at = strchr(at, '[')); at++) {
        char *end = at + strcspn(at, "]");
        memmove(at + 1, end, strlen(end) + 1); /* the schema has no indices: volumes[] */
    }
    AUTO(text_freep) char *key = x_printf("%s %s", field, says);
    AUTO(text_freep) char *kind = x_printf("kind: %s", proven_kind);
    if (strcmp(by, "rule") == 0 && strstr(text, kind)) {
        json_object_set_new(proven, key, json_true());
    }
}

static bool is_proven(const char *field, const char *message) {
    const char *key;
    json_t *value;
    json_object_foreach(proven, key, value) {
        size_t length = strlen(field);
        if (text_starts(key, field) && key[length] == ' ' &&
            text_starts(message, key + length + 1)) {
            return true;
        }
    }
    return false;
}

static size_t check_rules(const json_t *schema, const char *field) {
    const json_t *rules = json_object_get(schema, "x-kubernetes-validations");
    size_t count = json_array_size(rules);
    for (size_t i = 0; i < count; i++) {
        const json_t *rule = json_array_get(rules, i);
        const char *message = tree_text(rule, "message", "");
        const char *path = tree_text(rule, "fieldPath", "");
        AUTO(text_freep) char *at = x_printf("%s%s", field, *field || !*path ? path : path + 1);
        /* Rules that compare with the old object are tested by tests/e2e/cluster/test_crd.sh and
         * test_spec.c. */
        if (!strstr(tree_text(rule, "rule", ""), "oldSelf") && !is_proven(at, message)) {
            printf("# no bad manifest breaks the rule of %s: %s\n", at, message);
            test_failures++;
        }
    }
    const char *key;
    json_t *child;
    json_object_foreach(json_object_get(schema, "properties"), key, child) {
        AUTO(text_freep) char *inner = x_printf("%s%s%s", field, *field ? "." : "", key);
        count += check_rules(child, inner);
    }
    const json_t *items = json_object_get(schema, "items");
    AUTO(text_freep) char *inner = x_printf("%s[]", field);
    return items ? count + check_rules(items, inner) : count;
}

static void test_every_rule_has_a_bad_manifest(void) {
    static const char *const kinds[] = {"BatchScore", "DistTrain", "Sweep"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct error err = {0};
        AUTO(schema_freep) struct schema *schema = NULL;
        CHECK_OK(kinds_schema(kinds_find(kinds[i]), &schema, &err), &err);
        proven = json_object();
        proven_kind = kinds[i];
        each_file(BAD, note_rule);
        CHECK(check_rules(schema_root(schema), "") > 8);
        json_decref(proven);
    }
}

static void test_definition(void) {
    struct error err = {0};
    AUTO(schema_freep) struct schema *schema = NULL;
    CHECK_OK(kinds_schema(kinds_find("BatchScore"), &schema, &err), &err);
    CHECK_STR(tree_text(schema_crd(schema), "metadata.name", ""), "batchscores.windlass.dev");
    CHECK_STR(tree_text(schema_crd(schema), "spec.names.shortNames[0]", ""), "bs");
    /* kubectl apply keeps the whole definition in an annotation of at most 262,144 bytes. */
    size_t kinds = 0;
    for (; kind_rows[kinds]; kinds++) {
        AUTO(schema_freep) struct schema *one = NULL;
        CHECK_OK(kinds_schema(kind_rows[kinds], &one, &err), &err);
        AUTO(text_freep) char *whole = json_dumps(schema_crd(one), JSON_COMPACT);
        CHECK(strlen(whole) < 262144); /* with both versions in full */
        CHECK(schema_serves(one, "windlass.dev/v1beta1"));
        CHECK(schema_serves(one, "windlass.dev/v1alpha1"));
        CHECK(!schema_serves(one, "windlass.dev/v1"));
        CHECK(!schema_serves(one, "windlass.dev/v1beta"));
        CHECK(!schema_serves(one, "windlass.dev"));
        CHECK(!schema_serves(one, "example.dev/v1beta1"));
    }
    CHECK_INT((int64_t)kinds, 3);
    static const char pod[] = "apiVersion: v1\nkind: Pod\n";
    json_t *none = NULL;
    CHECK_INT(resource_parse("pod.yaml", pod, strlen(pod), &none, &err), -1);
    CHECK(strstr(err.text, "windlass.dev/v1beta1 BatchScore") != NULL);
}

static void test_missing_file(void) {
    struct error err = {0};
    json_t *object = NULL;
    CHECK_INT(load_resource("no/such.yaml", false, &object, &err), -1);
    CHECK(strstr(err.text, "no/such.yaml") != NULL);
    CHECK(object == NULL);
}

int main(void) {
    TEST(test_bad_manifests);
    TEST(test_good_manifests);
    TEST(test_every_rule_has_a_bad_manifest);
    TEST(test_definition);
    TEST(test_missing_file);
    return TEST_END();
}
