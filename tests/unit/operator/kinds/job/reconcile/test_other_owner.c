// SPDX-License-Identifier: Apache-2.0
/* Pods with another owner beside the job: reported once, and deleted when the job is gone. */
#include "operator/kinds/job/reconcile/other_owner.h"

#include "operator/control/claim.h"
#include "operator/kinds/job/cache_transform.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static struct {
    struct cache *cache;
    struct other_owner other;
    json_t *events, *writes; /* of the last pass */
} world;

static void open_world(void) {
    memset(&world, 0, sizeof world);
    world.cache = cache_new();
    world.events = json_array();
    world.writes = json_array();
    cache_watch(world.cache, "v1", "Pod", (struct cache_rules){.transform = cache_transform_owned});
}

static void close_world(void) {
    cache_free(world.cache);
    json_decref(world.events);
    json_decref(world.writes);
}

/* owners, more: parts of the pod's metadata. */
static void put_pod(const char *name, const char *owners, const char *more) {
    AUTO(text_freep)
    char *text = x_printf("{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': '%s', "
                          "'namespace': 'ml', 'uid': 'p-%s', 'labels': {'windlass.dev/job': 'a'}, "
                          "'annotations': {'windlass.dev/uid': 'u-1'}, 'ownerReferences': [%s]%s}, "
                          "'status': {'phase': 'Running'}}",
                          name, name, owners, more);
    AUTO(tree_freep) json_t *pod = parse(text);
    cache_put(world.cache, pod);
}

static struct reconcile pass_of(const json_t *object) {
    json_array_clear(world.events);
    json_array_clear(world.writes);
    return (struct reconcile){.kind = "BatchScore",
                              .namespace = "ml",
                              .name = "a",
                              .object = object,
                              .cache = world.cache,
                              .writes = world.writes,
                              .events = world.events};
}

static const char ours[] = "{'kind': 'BatchScore', 'name': 'a', 'uid': 'u-1', 'controller': true}";
static const char theirs[] = "{'kind': 'Backup', 'name': 'nightly', 'uid': 'b-1'}";

static size_t note(void) {
    AUTO(tree_freep)
    json_t *job = parse("{'metadata': {'name': 'a', 'namespace': 'ml', 'uid': 'u-1'}}");
    AUTO(tree_freep) json_t *pods = cache_owned(world.cache, "Pod", job);
    struct reconcile request = pass_of(job);
    other_owner_note(&request, &world.other, pods);
    return json_array_size(world.events);
}

/* What is deleted when the job is gone: "NAME,NAME,"; owned. */
static char *deleted(void) {
    struct reconcile request = pass_of(NULL);
    bool has_any = other_owner_delete(&request, &world.other, "u-1");
    char *names = x_strdup("");
    for (size_t i = 0; i < json_array_size(world.writes); i++) {
        const json_t *write = json_array_get(world.writes, i);
        AUTO(text_freep) char *before = names;
        names = x_printf("%s%s,", before, tree_text(write, "object.metadata.name", ""));
        CHECK_INT(tree_integer(write, "verb", -1), CLUSTER_DELETE);
        CHECK(*tree_text(write, "object.metadata.uid", ""));
    }
    CHECK_INT(has_any, json_array_size(world.writes) > 0);
    return names;
}

static void test_an_event_once(void) {
    AUTO(text_freep) char *both = x_printf("%s, %s", theirs, ours);
    open_world();
    put_pod("a-0", ours, "");
    CHECK_INT(note(), 0);
    put_pod("a-1", both, "");
    CHECK_INT(note(), 1);
    CHECK(strstr(tree_text(world.events, "[0].event.note", ""),
                 "pod a-1 has another owner, too, Backup nightly"));
    CHECK_INT(note(), 0);
    put_pod("a-1", ours, "");
    CHECK_INT(note(), 0);
    put_pod("a-1", both, "");
    CHECK_INT(note(), 1);
    close_world();
}

static void test_what_is_deleted(void) {
    AUTO(text_freep) char *both = x_printf("%s, %s", ours, theirs);
    open_world();
    put_pod("a-0", ours, "");   /* the cluster deletes it */
    put_pod("a-1", both, "");   /* not yet known to the garbage collector */
    put_pod("a-2", theirs, ""); /* it has taken us off */
    put_pod("a-3", both, ", 'deletionTimestamp': '2026-01-01T00:00:00Z'");
    put_pod("a-4", "{'kind': 'Other', 'name': 'o', 'uid': 'o-1', 'controller': true}", "");
    AUTO(text_freep) char *names = deleted();
    CHECK_STR(names, "a-1,a-2,");
    world.other.leaves_orphans = true;
    AUTO(text_freep) char *none = deleted();
    CHECK_STR(none, "");
    close_world();
}

int main(void) {
    TEST(test_an_event_once);
    TEST(test_what_is_deleted);
    return TEST_END();
}
