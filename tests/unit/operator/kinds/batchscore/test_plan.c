// SPDX-License-Identifier: Apache-2.0
/* Every decision of the plan is a file tests/data/plan/NAME.json:
 *   what      one sentence
 *   object    merged into base.json's object (null deletes); service: the same, null is none
 *   pods, progress, now   what is observed
 *   want      apply: names, or whole objects where the whole object matters; delete: names;
 *             needs, again_ms; status: the whole status */
#include "operator/kinds/batchscore/plan.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>

#define FOLDER "tests/data/plan"

static json_t *load(const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(FOLDER, name);
    AUTO(text_freep) char *text = NULL;
    size_t size;
    json_t *tree = NULL;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    CHECK_OK(tree_parse(text, size, 1 << 20, &tree, &err), &err);
    return tree;
}

/* RFC 7386. */
static void merge(json_t *target, const json_t *patch) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)patch, key, value) {
        if (json_is_null(value)) {
            json_object_del(target, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(target, key))) {
                json_object_set_new(target, key, json_object());
            }
            merge(json_object_get(target, key), value);
        } else {
            json_object_set(target, key, value);
        }
    }
}

static bool has_name(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(tree_text(json_array_get(list, i), "name", ""), name) == 0) {
            return true;
        }
    }
    return false;
}

/* What a cluster would show after the plan was carried out. */
static json_t *carry_out(const json_t *pods, const json_t *result) {
    json_t *after = json_array();
    for (size_t i = 0; i < json_array_size(pods); i++) {
        json_t *pod = json_array_get(pods, i);
        if (!has_name(json_object_get(result, "delete"), tree_text(pod, "metadata.name", ""))) {
            json_array_append(after, pod);
        }
    }
    const json_t *apply = json_object_get(result, "apply");
    for (size_t i = 0; i < json_array_size(apply); i++) {
        json_t *pod = json_deep_copy(json_array_get(apply, i));
        json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Pending"));
        json_array_append_new(after, pod);
    }
    return after;
}

static json_t *names_of(const json_t *list, const json_t *wanted) {
    json_t *names = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        const char *name = tree_text(one, "metadata.name", tree_text(one, "name", ""));
        if (json_is_object(json_array_get(wanted, i))) {
            json_array_append(names, one);
        } else {
            json_array_append_new(names, json_string(name));
        }
    }
    return names;
}

static void check_same(const char *file, const char *what, const json_t *seen,
                       const json_t *wanted) {
    if (seen == wanted || json_equal(seen, wanted)) {
        return;
    }
    AUTO(text_freep) char *seen_text = json_dumps(seen, JSON_INDENT(1) | JSON_ENCODE_ANY);
    AUTO(text_freep) char *wanted_text = json_dumps(wanted, JSON_INDENT(1) | JSON_ENCODE_ANY);
    printf("# %s: %s is\n%s\n# wanted\n%s\n", file, what, seen_text ? seen_text : "absent",
           wanted_text ? wanted_text : "absent");
    test_failures++;
}

/* Asking again right after finds nothing to do, and the third answer is the second. */
static void check_settled(const char *file, const struct batchscore_observed *before,
                          const json_t *first, int64_t now_ms) {
    struct error err = {0};
    AUTO(tree_freep) json_t *pods = carry_out(before->pods, first);
    AUTO(tree_freep) json_t *object = json_deep_copy(before->object);
    struct batchscore_observed observed = *before;
    AUTO(tree_freep) json_t *none = json_array();
    AUTO(tree_freep) json_t *last = NULL;
    observed.pods = pods;
    observed.object = object;
    json_object_set(object, "status", json_object_get(first, "status"));
    for (int round = 0; round < 2; round++) {
        AUTO(tree_freep) json_t *result = NULL;
        CHECK_OK(batchscore_plan(&observed, now_ms + 10 * round, &result, &err), &err);
        check_same(file, "apply, asked again", json_object_get(result, "apply"), none);
        check_same(file, "delete, asked again", json_object_get(result, "delete"), none);
        if (last) {
            check_same(file, "status, asked again", json_object_get(result, "status"), last);
        }
        tree_freep(&last);
        last = json_incref(json_object_get(result, "status"));
        json_object_set(object, "status", last);
    }
}

static void check_case(const char *file) {
    struct error err = {0};
    AUTO(tree_freep) json_t *base = load("base.json");
    AUTO(tree_freep) json_t *row = load(file);
    merge(base, row);
    const json_t *want = json_object_get(row, "want");
    struct batchscore_observed observed = {
        .object = json_object_get(base, "object"),
        .service = json_object_get(base, "service"),
        .pods = json_object_get(base, "pods"),
        .progress = json_object_get(base, "progress"),
    };
    int64_t now_ms = clock_parse(tree_text(base, "now", ""));
    AUTO(tree_freep) json_t *result = NULL;
    CHECK(now_ms > 0 && want);
    CHECK_OK(batchscore_plan(&observed, now_ms, &result, &err), &err);
    static const char *const lists[] = {"apply", "delete"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const json_t *wanted = json_object_get(want, lists[i]);
        AUTO(tree_freep) json_t *none = json_array();
        AUTO(tree_freep) json_t *seen = names_of(json_object_get(result, lists[i]), wanted);
        check_same(file, lists[i], seen, wanted ? wanted : none);
    }
    static const char *const values[] = {"status", "needs", "again_ms"};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        check_same(file, values[i], json_object_get(result, values[i]),
                   json_object_get(want, values[i]));
    }
    if (!json_object_get(want, "needs")) {
        check_settled(file, &observed, result, now_ms);
    }
}

static void test_goldens(void) {
    int count = 0;
    DIR *files = opendir(FOLDER);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".json") && strcmp(file->d_name, "base.json") != 0) {
            check_case(file->d_name);
            count++;
        }
    }
    if (files) {
        closedir(files);
    }
    CHECK(count >= 25);
}

static void test_credentials(void) {
    AUTO(tree_freep) json_t *base = load("base.json");
    struct credentials credentials = {"TOKEN", "CERTIFICATE", "ab12", "KEY"};
    AUTO(tree_freep)
    json_t *made = batchscore_credentials(json_object_get(base, "object"), &credentials);
    const json_t *secret = json_array_get(made, 0), *service = json_array_get(made, 1);
    CHECK_STR(tree_text(secret, "kind", ""), "Secret");
    CHECK_STR(tree_text(secret, "metadata.name", ""), "paint-credentials");
    CHECK_STR(tree_text(secret, "metadata.ownerReferences[0].uid", ""), "u-1");
    CHECK_STR(tree_text(secret, "stringData.token", ""), "TOKEN");
    CHECK_STR(tree_text(service, "metadata.name", ""), "paint-coordinator");
    CHECK_INT(tree_integer(service, "spec.ports[0].port", 0), BATCHSCORE_PORT);
    /* Nothing but the Secret holds what is secret. */
    AUTO(text_freep) char *text = tree_canonical(service);
    CHECK(!strstr(text, "TOKEN") && !strstr(text, "KEY"));
    CHECK(strstr(text, "ab12") != NULL);
}

static void test_finished(void) {
    AUTO(tree_freep) json_t *base = load("base.json");
    json_t *object = json_object_get(base, "object");
    CHECK(!batchscore_is_finished(object));
    static const struct {
        const char *status, *reason;
        int observed;
        bool finished;
    } rows[] = {
        {"Unknown", "Running", 1, false},  {"True", "Completed", 1, true},
        {"False", "Failed", 1, true},      {"False", "Failed", 0, true},
        {"False", "SpecInvalid", 1, true}, {"False", "SpecInvalid", 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_object_set_new(object, "status",
                            json_pack("{s:[{s:s, s:s, s:s, s:i}]}", "conditions", "type",
                                      "Succeeded", "status", rows[i].status, "reason",
                                      rows[i].reason, "observedGeneration", rows[i].observed));
        CHECK_INT(batchscore_is_finished(object), rows[i].finished);
    }
}

int main(void) {
    TEST(test_goldens);
    TEST(test_credentials);
    TEST(test_finished);
    return TEST_END();
}
