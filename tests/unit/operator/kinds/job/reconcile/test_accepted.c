// SPDX-License-Identifier: Apache-2.0
/* The spec that a job began with: stored, found again, and what of a change counts. */
#include "operator/kinds/job/reconcile/accepted.h"

#include "operator/kinds/job/spec.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <string.h>

static const char *const mutable_fields[] = {"suspend", "workers.max", NULL};

static json_t *job(const char *spec, const char *hash, int generation) {
    AUTO(text_freep)
    char *text = x_printf("{'kind': 'BatchScore', 'apiVersion': 'windlass.dev/v1alpha1', "
                          "'metadata': {'name': 'a', 'uid': '0123456789', 'generation': %d}, "
                          "'spec': %s, 'status': {'observedGeneration': 1, 'specHash': '%s'}}",
                          generation, spec, hash);
    return parse(text);
}

static const char begun[] = "{'size': 2, 'workers': {'max': 4, 'gpus': 1}, 'image': 'i'}";

static void hash_of(const char *spec, char hash[static 65]) {
    AUTO(tree_freep) json_t *tree = parse(spec);
    job_hash(tree, mutable_fields, hash);
}

static void test_the_revision_is_found_again(void) {
    char hash[65];
    hash_of(begun, hash);
    AUTO(tree_freep) json_t *object = job(begun, hash, 1);
    AUTO(tree_freep) json_t *revision = accepted_revision(object, hash, 0);
    AUTO(text_freep) char *older = accepted_name("a", "0123456789", hash, 2);
    AUTO(text_freep) char *name = x_printf("a-01234567-%.8s", hash);
    CHECK_STR(older, name);
    CHECK_STR(tree_text(revision, "metadata.name", ""), "a-01234567-1");
    CHECK_STR(tree_text(revision, "metadata.ownerReferences[0].uid", ""), "0123456789");
    CHECK(
        json_equal(accepted_read(revision, mutable_fields, hash), json_object_get(object, "spec")));
    /* One that somebody changed is not taken. */
    json_object_set_new(tree_get(revision, "data.spec"), "size", json_integer(3));
    CHECK(!accepted_read(revision, mutable_fields, hash));
    CHECK(!accepted_read(NULL, mutable_fields, hash));
}

static void test_what_is_a_change(void) {
    static const struct {
        const char *spec;
        int generation;
        bool is_changed;
        const char *fields;
    } rows[] = {
        {"{'size': 2, 'workers': {'max': 4, 'gpus': 1}, 'image': 'i'}", 2, false, ""},
        {"{'size': 2, 'workers': {'max': 9, 'gpus': 1}, 'image': 'i', 'suspend': true}", 2, false,
         ""},
        {"{'size': 3, 'workers': {'max': 9, 'gpus': 1}, 'image': 'i'}", 2, true, "size"},
        {"{'size': 3, 'workers': {'max': 4, 'gpus': 1}, 'image': 'i'}", 1, false, "size"},
        {"{'size': 2, 'workers': {'max': 4, 'gpus': 2, 'spot': true}}", 2, true,
         "workers.gpus, workers.spot, image"},
        {"{'size': 2, 'workers': {'max': 4, 'gpus': 1}, 'image': 'i', 'new': 1}", 2, true, "new"},
    };
    char hash[65], fields[ACCEPTED_FIELDS_MAX];
    hash_of(begun, hash);
    AUTO(tree_freep) json_t *spec = parse(begun);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *object = job(rows[i].spec, hash, rows[i].generation);
        CHECK_INT(accepted_is_changed(object, mutable_fields), rows[i].is_changed);
        accepted_name_changes(object, spec, mutable_fields, fields);
        CHECK_STR(fields, rows[i].fields);
        AUTO(tree_freep) json_t *applied = accepted_apply(object, spec, mutable_fields);
        char theirs[65];
        job_hash(json_object_get(applied, "spec"), mutable_fields, theirs);
        CHECK_STR(theirs, hash);
        CHECK_INT(tree_integer(applied, "spec.workers.max", 0),
                  tree_integer(object, "spec.workers.max", 0));
        CHECK_INT(tree_bool(applied, "spec.suspend", false),
                  tree_bool(object, "spec.suspend", false));
        CHECK_INT(tree_integer(applied, "spec.size", 0), 2);
    }
}

/* Every field may have changed, and each name may be long. */
static void test_many_fields_fit(void) {
    AUTO(tree_freep) json_t *spec = parse("{}");
    AUTO(tree_freep) json_t *object = job("{}", "h", 2);
    for (int i = 0; i < 100; i++) {
        AUTO(text_freep) char *name = x_printf("a-rather-long-name-of-a-field-%d", i);
        json_object_set_new(json_object_get(object, "spec"), name, json_integer(1));
    }
    char fields[ACCEPTED_FIELDS_MAX];
    accepted_name_changes(object, spec, mutable_fields, fields);
    CHECK(strlen(fields) < ACCEPTED_FIELDS_MAX && strlen(fields) > 200);
}

int main(void) {
    TEST(test_the_revision_is_found_again);
    TEST(test_what_is_a_change);
    TEST(test_many_fields_fit);
    return TEST_END();
}
