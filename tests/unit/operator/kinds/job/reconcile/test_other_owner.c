// SPDX-License-Identifier: Apache-2.0
/* Pods with another owner beside the job are reported once. Jobs of another controller are left
 * alone. */
#include "operator/kinds/job/reconcile/other_owner.h"

#include "operator/control/claim.h"
#include "operator/kinds/job/cache_transform.h"
#include "operator/kinds/job/spec.h"
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

/* Not on this machine, and not where it has begun before the field was changed. */
static void test_jobs_of_another_controller(void) {
    static const char *const kinds[] = {"Pod", NULL};
    static const struct {
        const char *spec;
        bool is_local, has_pod, is_left;
    } rows[] = {
        {"{}", false, false, false},
        {"{'managedBy': 'windlass.dev/controller'}", false, false, false},
        {"{'managedBy': 'kueue.x-k8s.io/multikueue'}", false, false, true},
        {"{'managedBy': 'kueue.x-k8s.io/multikueue'}", true, false, false},
        {"{'managedBy': 'kueue.x-k8s.io/multikueue'}", false, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *text = x_printf("{'metadata': {'name': 'a', 'namespace': 'ml', 'uid': 'u-1'}, "
                              "'spec': %s}",
                              rows[i].spec);
        AUTO(tree_freep) json_t *job = parse(text);
        AUTO(tree_freep) json_t *folders = json_object();
        const struct job_options options = {.folders = rows[i].is_local ? folders : NULL};
        open_world();
        if (rows[i].has_pod) {
            put_pod("a-0", ours, "");
        }
        const struct reconcile request = pass_of(job);
        CHECK_INT(other_owner_manages(&request, &options, kinds), rows[i].is_left);
        close_world();
    }
}

int main(void) {
    TEST(test_jobs_of_another_controller);
    TEST(test_an_event_once);
    return TEST_END();
}
