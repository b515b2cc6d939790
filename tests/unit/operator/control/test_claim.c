// SPDX-License-Identifier: Apache-2.0
/* Who owns an object, by what it says itself. */
#include "operator/control/claim.h"

#include "tests/parse_json.h"
#include "tests/test.h"

#include <string.h>

static const char owner_text[] = "{'apiVersion': 'windlass.dev/v1alpha1', 'kind': 'BatchScore', "
                                 "'metadata': {'name': 'a', 'namespace': 'ml', 'uid': 'u-1'}}";
static const char wanted_text[] =
    "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a-worker-0', 'labels': "
    "{'windlass.dev/job': 'a', 'windlass.dev/role': 'worker', 'windlass.dev/index': '0'}, "
    "'ownerReferences': [{'kind': 'BatchScore', 'name': 'a', 'uid': 'u-1', 'controller': true}]}}";

#define OURS "'kind': 'BatchScore', 'name': 'a', 'uid': 'u-1'"
#define LABELS                                                                                     \
    "'labels': {'windlass.dev/job': 'a', 'windlass.dev/role': 'worker', 'windlass.dev/index': "    \
    "'0', 'x': 'y'}"
#define RELABELLED "'labels': {'windlass.dev/job': 'b', 'windlass.dev/role': 'worker'}"
#define MADE "'annotations': {'windlass.dev/uid': 'u-1'}"
#define ALONE "'annotations': {'windlass.dev/alone': 'true'}"
#define OWNED(BY) "'ownerReferences': [{" BY ", 'controller': true}]"

static void test_table(void) {
    static const struct {
        const char *metadata, *phase;
        enum claim claim;
    } rows[] = {
        {OWNED(OURS) ", " LABELS, "Running", CLAIM_OURS},
        {OWNED(OURS) ", " LABELS ", 'deletionTimestamp': 't'", "Running", CLAIM_OURS},
        {OWNED(OURS) ", " RELABELLED, "Running", CLAIM_RELEASE},
        {OWNED(OURS), "Running", CLAIM_RELEASE},
        {OWNED(OURS) ", 'deletionTimestamp': 't'", "Running", CLAIM_FOREIGN},
        {OWNED(OURS) ", " ALONE, "Running", CLAIM_HELD},
        {OWNED(OURS) ", " ALONE, "Pending", CLAIM_HELD},
        {OWNED(OURS) ", " ALONE, "Failed", CLAIM_RELEASE},
        /* of an earlier job of this name, of another job, of another kind */
        {OWNED("'kind': 'BatchScore', 'name': 'a', 'uid': 'u-0'") ", " LABELS, "Running",
         CLAIM_LEAVING},
        {OWNED("'kind': 'BatchScore', 'name': 'b', 'uid': 'u-0'") ", " LABELS, "Running",
         CLAIM_FOREIGN},
        {OWNED("'kind': 'DistTrain', 'name': 'a', 'uid': 'u-0'") ", " LABELS ", " MADE, "Running",
         CLAIM_FOREIGN},
        /* a second owner that does not control it says nothing */
        {"'ownerReferences': [{" OURS "}, {'kind': 'ReplicaSet', 'name': 'r', 'uid': 'u-9', "
         "'controller': true}], " LABELS,
         "Running", CLAIM_FOREIGN},
        /* without a controller */
        {LABELS ", " MADE, "Running", CLAIM_ADOPT},
        {LABELS ", " MADE ", 'deletionTimestamp': 't'", "Running", CLAIM_FOREIGN},
        {RELABELLED ", " MADE, "Running", CLAIM_FOREIGN},
        {LABELS ", 'annotations': {'windlass.dev/uid': 'u-0'}", "Running", CLAIM_FOREIGN},
        {LABELS, "Running", CLAIM_FOREIGN},
        {"'labels': {}", "Running", CLAIM_FOREIGN},
        {LABELS ", " ALONE, "Running", CLAIM_HELD}, /* left by a deletion with --cascade=orphan */
        {LABELS ", " ALONE, "Succeeded", CLAIM_FOREIGN},
    };
    AUTO(tree_freep) json_t *owner = parse(owner_text);
    AUTO(tree_freep) json_t *wanted = parse(wanted_text);
    CHECK_INT(claim_judge(NULL, wanted, owner), CLAIM_NONE);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *text = x_printf("{'metadata': {%s}, 'status': {'phase': '%s'}}", rows[i].metadata,
                              rows[i].phase);
        AUTO(tree_freep) json_t *there = parse(text);
        enum claim claim = claim_judge(there, wanted, owner);
        if (claim != rows[i].claim) {
            printf("# row %zu: %d, wanted %d\n", i, claim, rows[i].claim);
        }
        CHECK_INT(claim, rows[i].claim);
    }
}

/* A Secret is owned by the job's Service, which does not control it. */
static void test_by_the_wanted_owner(void) {
    AUTO(tree_freep) json_t *owner = parse(owner_text);
    AUTO(tree_freep)
    json_t *wanted =
        parse("{'metadata': {'ownerReferences': [{'kind': 'Service', 'uid': 's-1'}]}}");
    AUTO(tree_freep)
    json_t *other = parse("{'metadata': {'ownerReferences': [{'kind': 'Service', 'uid': 's-2'}]}}");
    CHECK_INT(claim_judge(wanted, wanted, owner), CLAIM_OURS);
    CHECK_INT(claim_judge(other, wanted, owner), CLAIM_FOREIGN);
}

/* A PodGroup of the job's earlier Service goes with that; it is not taken back meanwhile. */
static void test_of_an_earlier_owner(void) {
    static const struct {
        const char *metadata;
        enum claim claim;
    } rows[] = {
        {"'ownerReferences': [{'kind': 'Service', 'name': 'a-hub', 'uid': 's-0'}], " LABELS,
         CLAIM_LEAVING},
        {"'ownerReferences': [{'kind': 'Service', 'name': 'a-hub', 'uid': 's-0'}], " LABELS
         ", " MADE,
         CLAIM_LEAVING},
        {"'ownerReferences': [{'kind': 'Service', 'name': 'a-hub', 'uid': 's-1'}], " LABELS,
         CLAIM_OURS},
        {"'ownerReferences': [{'kind': 'Service', 'name': 'other', 'uid': 's-0'}], " LABELS,
         CLAIM_FOREIGN},
        {"'ownerReferences': [{'kind': 'Service', 'name': 'a-hub', 'uid': 's-0'}]", CLAIM_FOREIGN},
        {LABELS ", " MADE, CLAIM_ADOPT},
        {LABELS, CLAIM_FOREIGN},
    };
    AUTO(tree_freep) json_t *owner = parse(owner_text);
    AUTO(tree_freep)
    json_t *wanted = parse("{'metadata': {" LABELS ", 'ownerReferences': "
                           "[{'kind': 'Service', 'name': 'a-hub', 'uid': 's-1'}]}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *text = x_printf("{'metadata': {%s}}", rows[i].metadata);
        AUTO(tree_freep) json_t *there = parse(text);
        CHECK_INT(claim_judge(there, wanted, owner), rows[i].claim);
    }
}

static void test_correction(void) {
    static const struct {
        const char *there, *wanted, *change; /* NULL: none */
    } rows[] = {
        {"{'min': 3}", "{'min': 3}", NULL},
        {"{'min': 3, 'added': [1]}", "{'min': 3}", NULL},
        {"{'min': 1, 'queue': 'q'}", "{'min': 3, 'queue': 'q'}", "{'min': 3}"},
        {"{'min': 3}", "{'min': 3, 'priority': null}", NULL},
        {"{'min': 3, 'priority': 'high'}", "{'min': 3, 'priority': null}", "{'priority': null}"},
        {"{}", "{'min': 3}", "{'min': 3}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep)
        json_t *there = parse("{'kind': 'PodGroup', 'metadata': {'name': 'g', "
                              "'uid': 'g-1', 'resourceVersion': '7'}}");
        json_object_set_new(there, "spec", parse(rows[i].there));
        AUTO(tree_freep) json_t *wanted = json_object();
        json_object_set_new(wanted, "spec", parse(rows[i].wanted));
        AUTO(tree_freep) json_t *change = claim_correction(there, wanted);
        CHECK_INT(change != NULL, rows[i].change != NULL);
        if (change) {
            AUTO(tree_freep) json_t *spec = parse(rows[i].change);
            CHECK(json_equal(json_object_get(change, "spec"), spec));
            CHECK_STR(tree_text(change, "metadata.uid", ""), "g-1");
            CHECK_STR(tree_text(change, "metadata.resourceVersion", ""), "7");
            CHECK(tree_get(change, "metadata.ownerReferences") == NULL);
        }
    }
}

/* What a webhook may make of an object that was just created. */
static void test_what_is_lacking(void) {
    static const struct {
        const char *metadata, *lacks; /* NULL: nothing */
    } rows[] = {
        {OWNED(OURS) ", " LABELS ", " MADE, NULL},
        {OWNED(OURS) ", " LABELS ", 'annotations': {'windlass.dev/uid': 'u-1', 'x': 'y'}", NULL},
        {"'ownerReferences': [{'uid': 'u-9'}, {" OURS ", 'controller': true}], " LABELS ", " MADE,
         NULL},
        {OWNED(OURS) ", " MADE, "windlass.dev/job"},
        {OWNED(OURS) ", 'labels': {'windlass.dev/job': 'a', 'windlass.dev/role': 'worker'}, " MADE,
         "windlass.dev/index"},
        {OWNED(OURS) ", " LABELS, "windlass.dev/uid"},
        {OWNED(OURS) ", " LABELS ", 'annotations': {'windlass.dev/uid': 'u-2'}",
         "windlass.dev/uid"},
        {LABELS ", " MADE, NULL}, /* it will be adopted */
        {"'ownerReferences': [{" OURS "}], " LABELS ", " MADE, NULL},
        {OWNED("'kind': 'ReplicaSet', 'name': 'r', 'uid': 'u-9'") ", " LABELS ", " MADE,
         "ownerReferences"},
    };
    AUTO(tree_freep)
    json_t *wanted = parse("{'metadata': {" OWNED(OURS) ", " LABELS ", " MADE "}}");
    AUTO(tree_freep) json_t *unowned = parse("{'metadata': {" LABELS "}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *text = x_printf("{'metadata': {%s}}", rows[i].metadata);
        AUTO(tree_freep) json_t *stored = parse(text);
        const char *lacks = claim_lacks(stored, wanted);
        CHECK_STR(lacks ? lacks : "", rows[i].lacks ? rows[i].lacks : "");
    }
    CHECK(!claim_lacks(unowned, unowned));
    CHECK(!claim_lacks(wanted, unowned));
}

/* Found by its label alone. */
static void test_lost(void) {
    AUTO(tree_freep) json_t *owner = parse(owner_text);
    AUTO(tree_freep) json_t *lost = parse("{'metadata': {" LABELS ", " MADE "}}");
    AUTO(tree_freep) json_t *stranger = parse("{'metadata': {" LABELS "}}");
    CHECK_INT(claim_judge(lost, NULL, owner), CLAIM_ADOPT);
    CHECK_INT(claim_judge(stranger, NULL, owner), CLAIM_FOREIGN);
}

static void test_changes(void) {
    AUTO(tree_freep) json_t *owner = parse(owner_text);
    AUTO(tree_freep)
    json_t *there = parse("{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a-worker-0', "
                          "'namespace': 'ml', 'uid': 'p-1', 'resourceVersion': '7', "
                          "'ownerReferences': [{'kind': 'Thing', 'name': 't', 'uid': 'u-7'}]}}");
    AUTO(tree_freep) json_t *adopted = claim_adoption(there, owner);
    CHECK_STR(tree_text(adopted, "metadata.uid", ""), "p-1");
    CHECK_STR(tree_text(adopted, "metadata.resourceVersion", ""), "7");
    CHECK_STR(tree_text(adopted, "metadata.ownerReferences[0].uid", ""), "u-7");
    CHECK_STR(tree_text(adopted, "metadata.ownerReferences[1].uid", ""), "u-1");
    CHECK(tree_bool(adopted, "metadata.ownerReferences[1].controller", false));
    CHECK_INT(json_array_size(tree_get(adopted, "metadata.ownerReferences")), 2);
    json_object_set(json_object_get(there, "metadata"), "ownerReferences",
                    tree_get(adopted, "metadata.ownerReferences"));
    AUTO(tree_freep) json_t *released = claim_release(there, owner);
    CHECK_INT(json_array_size(tree_get(released, "metadata.ownerReferences")), 1);
    CHECK_STR(tree_text(released, "metadata.ownerReferences[0].uid", ""), "u-7");
    CHECK(
        json_is_null(json_object_get(tree_get(released, "metadata.annotations"), ANNOTATION_UID)));
    CHECK(tree_get(released, "metadata.labels") == NULL);
}

int main(void) {
    TEST(test_table);
    TEST(test_by_the_wanted_owner);
    TEST(test_of_an_earlier_owner);
    TEST(test_correction);
    TEST(test_what_is_lacking);
    TEST(test_lost);
    TEST(test_changes);
    return TEST_END();
}
