// SPDX-License-Identifier: Apache-2.0
/* An object that is not watched, and whose name exists: taken if it is ours, put right if it says
 * something else, never touched if it is not. */
#include "operator/kinds/job/reconcile/ensured.h"

#include "operator/kinds/job/reconcile/holders.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static const char owner_text[] = "{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'DistTrain', "
                                 "'metadata': {'name': 'a', 'uid': 'u-1'}}";
static const char wanted_text[] =
    "{'apiVersion': 'scheduling.x-k8s.io/v1alpha1', 'kind': 'PodGroup', 'metadata': {'name': "
    "'a-gang', 'labels': {'windlass.dev/job': 'a'}, 'ownerReferences': [{'kind': 'Service', "
    "'name': 'a-hub', 'uid': 's-1'}]}, 'spec': {'minMember': 3}}";

#define GROUP(OWNER, SPEC)                                                                         \
    "{'kind': 'PodGroup', 'metadata': {'name': 'a-gang', 'uid': 'g-1', 'labels': "                 \
    "{'windlass.dev/job': 'a'}" OWNER "}, 'spec': {'minMember': " SPEC "}}"
#define BY(UID) ", 'ownerReferences': [{'kind': 'Service', 'name': 'x-hub', 'uid': '" UID "'}]"

/* The name exists already, and its holder is asked for. */
static void find_holder(struct refusals *record, const json_t *wanted, const json_t *there) {
    struct error err = {0};
    error_set(&err, ERROR_CONFLICT, "exists already");
    struct written written = {.verb = CLUSTER_CREATE, .object = wanted, .err = &err};
    refusals_note(record, &written);
    CHECK_INT(record->count, 1);
    record->at[0].is_asked = true;
    struct found found = {.like = wanted, .object = there};
    holders_found(record, &found);
}

static void test_holders(void) {
    static const struct {
        const char *there; /* NULL: it is gone */
        bool is_there;
        const char *written; /* of the spec, as JSON; NULL: nothing */
    } rows[] = {
        {GROUP(BY("s-1"), "3"), true, NULL},  {GROUP(BY("s-1"), "1"), false, "{'minMember': 3}"},
        {GROUP(BY("s-9"), "3"), false, NULL}, {GROUP(BY("s-9"), "7"), false, NULL},
        {GROUP("", "7"), false, NULL},        {NULL, false, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *owner = parse(owner_text);
        AUTO(tree_freep) json_t *wanted = parse(wanted_text);
        AUTO(tree_freep) json_t *all = json_pack("[O]", wanted);
        AUTO(tree_freep) json_t *there = rows[i].there ? parse(rows[i].there) : NULL;
        AUTO(tree_freep) json_t *writes = json_array();
        struct reconcile request = {.object = owner, .writes = writes};
        struct ensured_objects list = {0};
        struct refusals record = {0};
        ensured_want_all(&list, all);
        find_holder(&record, wanted, there);
        ensured_settle(&request, &list, &record);
        CHECK_INT(list.count, 1);
        CHECK_INT(list.at[0].is_there, rows[i].is_there);
        CHECK_INT(record.count, rows[i].is_there ? 0 : 1);
        CHECK_INT(json_array_size(writes), rows[i].written ? 1 : 0);
        if (rows[i].written) {
            AUTO(tree_freep) json_t *spec = parse(rows[i].written);
            CHECK(json_equal(tree_get(json_array_get(writes, 0), "object.spec"), spec));
            CHECK_STR(tree_text(json_array_get(writes, 0), "object.metadata.uid", ""), "g-1");
        }
        ensured_release(&list);
        refusals_release(&record);
    }
}

/* Who only changes an object, which has its uid, knows of no other. */
static void test_what_is_wanted(void) {
    AUTO(tree_freep) json_t *wanted = parse(wanted_text);
    AUTO(tree_freep)
    json_t *change = parse("{'kind': 'Service', 'metadata': {'name': 'a-hub', "
                           "'uid': 's-1'}}");
    AUTO(tree_freep) json_t *all = json_pack("[O, O, O]", change, wanted, wanted);
    struct ensured_objects list = {0};
    ensured_note(&list, wanted);
    CHECK_INT(list.count, 0);
    ensured_want_all(&list, all);
    CHECK_INT(list.count, 1);
    CHECK(!list.at[0].is_there);
    ensured_note(&list, wanted);
    CHECK(list.at[0].is_there);
    ensured_forget(&list, list.at[0].since_ms + 59999);
    CHECK(list.at[0].is_there);
    ensured_forget(&list, list.at[0].since_ms + 60000);
    CHECK(!list.at[0].is_there);
    ensured_release(&list);
}

int main(void) {
    TEST(test_holders);
    TEST(test_what_is_wanted);
    return TEST_END();
}
