// SPDX-License-Identifier: Apache-2.0
#include "operator/control/cache.h"

#include "tests/test.h"

#include <stdlib.h>

static json_t *object(const char *kind, const char *namespace, const char *name, const char *job,
                      const char *owner_uid) {
    return json_pack("{s:s, s:{s:s, s:s, s:{s:s}, s:[{s:s}]}}", "kind", kind, "metadata",
                     "namespace", namespace, "name", name, "labels", LABEL_JOB, job,
                     "ownerReferences", "uid", owner_uid);
}

static void count_gone(void *context, enum cluster_event event, const json_t *gone) {
    CHECK_INT(event, CLUSTER_DELETED);
    CHECK_STR(tree_text(gone, "metadata.name", ""), "lost");
    ++*(int *)context;
}

static bool has(const struct cache *cache, const char *namespace, const char *name) {
    AUTO(tree_freep) json_t *found = cache_find(cache, "Pod", namespace, name);
    return found != NULL;
}

static int tell(struct cache *cache, enum cluster_event event, json_t *object_new) {
    int gone = 0;
    cache_update(cache, event, object_new, count_gone, &gone);
    json_decref(object_new);
    return gone;
}

static void finds_by_name_and_by_owner(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    cache_watch(cache, "v1", "Service", (struct cache_rules){0});
    AUTO(tree_freep) json_t *owner = object("BatchScore", "default", "job", "job", "");
    json_object_set_new(json_object_get(owner, "metadata"), "uid", json_string("u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "b", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "a", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "c", "job", "another"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "elsewhere", "d", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Service", "default", "e", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "f", "other-job", "u1"));
    AUTO(tree_freep) json_t *pods = cache_owned(cache, "Pod", owner);
    CHECK_INT(json_array_size(pods), 2);
    CHECK_STR(tree_text(json_array_get(pods, 0), "metadata.name", ""), "a");
    CHECK_STR(tree_text(json_array_get(pods, 1), "metadata.name", ""), "b");
    CHECK(has(cache, "elsewhere", "d"));
    CHECK(!has(cache, "default", "d"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "a", "other-job", "u1")); /* relabelled */
    tell(cache, CLUSTER_DELETED, object("Pod", "default", "b", "job", "u1"));
    AUTO(tree_freep) json_t *left = cache_owned(cache, "Pod", owner);
    CHECK_INT(json_array_size(left), 0);
    CHECK(!has(cache, "default", "b"));
    cache_free(cache);
}

/* Without a controller, and made for this very job. */
static void finds_what_lost_its_owner(void) {
    static const struct {
        const char *name, *job, *for_uid, *owner_uid;
    } rows[] = {
        {"lost", "job", "u1", NULL},        {"ours", "job", "u1", "u1"},
        {"earlier", "job", "u0", NULL},     {"unmarked", "job", NULL, NULL},
        {"other", "other-job", "u1", NULL},
    };
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    AUTO(tree_freep) json_t *owner = object("BatchScore", "default", "job", "job", "");
    json_object_set_new(json_object_get(owner, "metadata"), "uid", json_string("u1"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *pod = object("Pod", "default", rows[i].name, rows[i].job, rows[i].owner_uid ?: "");
        json_t *metadata = json_object_get(pod, "metadata");
        if (!rows[i].owner_uid) {
            json_object_del(metadata, "ownerReferences");
        }
        json_object_set_new(metadata, "annotations",
                            json_pack("{s:s*}", "windlass.dev/uid", rows[i].for_uid));
        tell(cache, CLUSTER_APPLIED, pod);
    }
    AUTO(tree_freep) json_t *lost = cache_lost(cache, "Pod", owner, 0);
    CHECK_INT(json_array_size(lost), 1);
    CHECK_STR(tree_text(json_array_get(lost, 0), "metadata.name", ""), "lost");
    AUTO(tree_freep) json_t *since = cache_lost(cache, "Pod", owner, cache_changes(cache));
    CHECK_INT(json_array_size(since), 0);
    cache_free(cache);
}

/* What changed since a mark, and a count that shows removals. */
static void finds_what_changed(void) {
    struct cache *cache = cache_new();
    uint64_t mark = 0;
    size_t count = 7;
    AUTO(tree_freep) json_t *owner = object("BatchScore", "default", "job", "job", "");
    json_object_set_new(json_object_get(owner, "metadata"), "uid", json_string("u1"));
    AUTO(tree_freep) json_t *unknown = cache_owned_since(cache, "Pod", owner, &mark, &count);
    CHECK(json_array_size(unknown) == 0 && count == 0);
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "a", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "b", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "c", "other-job", "u1"));
    AUTO(tree_freep) json_t *all = cache_owned_since(cache, "Pod", owner, &mark, &count);
    CHECK(json_array_size(all) == 2 && count == 2);
    AUTO(tree_freep) json_t *none = cache_owned_since(cache, "Pod", owner, &mark, &count);
    CHECK(json_array_size(none) == 0 && count == 2);
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "b", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "d", "job", "another"));
    AUTO(tree_freep) json_t *changed = cache_owned_since(cache, "Pod", owner, &mark, &count);
    CHECK(json_array_size(changed) == 1 && count == 3); /* an object of another owner counts */
    CHECK_STR(tree_text(json_array_get(changed, 0), "metadata.name", ""), "b");
    tell(cache, CLUSTER_DELETED, object("Pod", "default", "a", "job", "u1"));
    AUTO(tree_freep) json_t *fewer = cache_owned_since(cache, "Pod", owner, &mark, &count);
    CHECK(json_array_size(fewer) == 0 && count == 2);
    mark = 0;
    AUTO(tree_freep) json_t *again = cache_owned_since(cache, "Pod", owner, &mark, &count);
    CHECK(json_array_size(again) == 1 && count == 2);
    cache_free(cache);
}

static void a_listing_sweeps_what_it_does_not_name(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    cache_watch(cache, "v1", "Service", (struct cache_rules){0});
    CHECK(!cache_is_complete(cache));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "kept", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "lost", "job", "u1"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Pod")), 0);
    CHECK(!cache_is_complete(cache));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Service"));
    tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Service"));
    CHECK(cache_is_complete(cache));
    /* The stream broke; meanwhile one pod was deleted unseen. */
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK(has(cache, "default", "lost")); /* not before the listing's end */
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "kept", "job", "u1"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Pod")), 1);
    CHECK(has(cache, "default", "kept"));
    CHECK(!has(cache, "default", "lost"));
    cache_free(cache);
}

static json_t *version(int number, const char *uid) {
    json_t *pod = object("Pod", "default", "a", "job", "u1");
    json_object_set_new(json_object_get(pod, "metadata"), "uid", json_string(uid));
    json_object_set_new(json_object_get(pod, "metadata"), "resourceVersion",
                        json_sprintf("%d", number));
    return pod;
}

static const char *version_of(const struct cache *cache) {
    static char text[16];
    AUTO(tree_freep) json_t *found = cache_find(cache, "Pod", "default", "a");
    snprintf(text, sizeof text, "%s", tree_text(found, "metadata.resourceVersion", "none"));
    return text;
}

/* The answer to a write may overtake the event of an earlier change. */
static void what_is_older_is_not_taken(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    tell(cache, CLUSTER_APPLIED, version(9, "one"));
    tell(cache, CLUSTER_APPLIED, version(10, "one"));
    CHECK_STR(version_of(cache), "10");
    tell(cache, CLUSTER_APPLIED, version(9, "one"));
    CHECK_STR(version_of(cache), "10");
    tell(cache, CLUSTER_APPLIED, version(3, "another")); /* another object of that name */
    CHECK_STR(version_of(cache), "3");
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    tell(cache, CLUSTER_APPLIED, version(2, "another")); /* old, but present */
    CHECK_INT(tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Pod")), 0);
    CHECK_STR(version_of(cache), "3");
    cache_free(cache);
}

static json_t *list_of(const char *version) {
    return json_pack("{s:s, s:{s:s*}}", "kind", "Pod", "metadata", "resourceVersion", version);
}

/* The server made the list before it carried out a write, whose answer came first. */
static void what_is_newer_than_a_list_stays(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    AUTO(tree_freep) json_t *made = version(60, "one");
    json_object_set_new(json_object_get(made, "metadata"), "name", json_string("lost"));
    cache_put(cache, made);
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of("40")), 0);
    CHECK(has(cache, "default", "lost"));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of("59")), 0);
    CHECK(has(cache, "default", "lost"));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of("60")), 1);
    CHECK(!has(cache, "default", "lost"));
    cache_put(cache, made);
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of(NULL)), 1); /* whose version is not known */
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of("60")), 0);
    json_object_set_new(json_object_get(made, "metadata"), "resourceVersion", json_string("70"));
    cache_put(cache, made);
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of("50")), 1); /* etcd was restored */
    cache_free(cache);
}

/* Its objects are gone, and it counts as listed; but until it is listed again there may be some. */
static void a_kind_that_is_absent(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    CHECK(!cache_is_absent(cache, "Pod") && !cache_is_absent(cache, "Service"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "lost", "job", "u1"));
    CHECK_INT(tell(cache, CLUSTER_ABSENT, json_pack("{s:s}", "kind", "Pod")), 1);
    CHECK(cache_is_absent(cache, "Pod") && cache_is_complete(cache));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "kept", "job", "u1"));
    CHECK(cache_is_absent(cache, "Pod"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, list_of("70")), 0);
    CHECK(!cache_is_absent(cache, "Pod") && has(cache, "default", "kept"));
    cache_free(cache);
}

/* The end of an earlier object of that name, which a slow watch reports late. */
static void another_ones_end_is_not_its_own(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    tell(cache, CLUSTER_APPLIED, version(9, "one"));
    tell(cache, CLUSTER_DELETED, version(8, "earlier"));
    CHECK_STR(version_of(cache), "9");
    tell(cache, CLUSTER_DELETED, version(9, "one"));
    CHECK_STR(version_of(cache), "none");
    cache_free(cache);
}

/* It is not reported twice, and a listing that has it counts. */
static void the_same_version_is_no_news(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    AUTO(tree_freep) json_t *ninth = version(9, "one");
    AUTO(tree_freep) json_t *tenth = version(10, "one");
    AUTO(tree_freep) json_t *other = version(9, "another");
    CHECK(!cache_has_version(cache, ninth));
    cache_put(cache, ninth);
    CHECK(cache_has_version(cache, ninth));
    CHECK(!cache_has_version(cache, tenth));
    CHECK(!cache_has_version(cache, other));
    json_object_del(json_object_get(other, "metadata"), "resourceVersion");
    cache_put(cache, other);
    CHECK(!cache_has_version(cache, other)); /* without a version */
    cache_put(cache, ninth);
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK(cache_has_version(cache, ninth));
    CHECK_INT(tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Pod")), 0);
    CHECK(cache_has_version(cache, ninth));
    cache_free(cache);
}

static json_t *keep_little(const json_t *whole) {
    return json_pack("{s:{s:O?}}", "metadata", "uid", tree_get(whole, "metadata.uid"));
}

static void only_what_is_used_is_kept(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){.transform = keep_little});
    json_t *pod = version(1, "one");
    json_object_set_new(pod, "spec", json_pack("{s:s}", "secret", "not kept"));
    tell(cache, CLUSTER_APPLIED, pod);
    tell(cache, CLUSTER_APPLIED,
         json_pack("{s:s, s:{s:s}}", "kind", "Secret", "metadata", "name", "s"));
    CHECK_INT(cache_count(cache), 1);
    AUTO(tree_freep) json_t *found = cache_find(cache, "Pod", "default", "a");
    AUTO(tree_freep)
    json_t *wanted = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:{s:s}}}", "apiVersion", "v1",
                               "kind", "Pod", "metadata", "uid", "one", "name", "a", "namespace",
                               "default", "resourceVersion", "1", "labels", LABEL_JOB, "job");
    CHECK(json_equal(found, wanted));
    cache_free(cache);
}

/* Against a plain table: names that share buckets come, change and go. */
static void many_come_and_go(void) {
    enum { NAMES = 3000, STEPS = 20000 };
    struct cache *cache = cache_new();
    bool there[NAMES] = {false};
    size_t count = 0;
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    srand(1);
    for (int i = 0; i < STEPS; i++) {
        int at = rand() % NAMES;
        bool adds = rand() % 3 != 0;
        char name[16], job[16];
        snprintf(name, sizeof name, "p%d", at);
        snprintf(job, sizeof job, "j%d", at % 100);
        tell(cache, adds ? CLUSTER_APPLIED : CLUSTER_DELETED,
             object("Pod", "default", name, job, "u1"));
        count += adds && !there[at];
        count -= !adds && there[at];
        there[at] = adds;
    }
    CHECK_INT(cache_count(cache), count);
    size_t owned = 0;
    for (int i = 0; i < 100; i++) {
        AUTO(tree_freep)
        json_t *owner =
            json_pack("{s:{s:o, s:s}}", "metadata", "name", json_sprintf("j%d", i), "uid", "u1");
        AUTO(tree_freep) json_t *pods = cache_owned(cache, "Pod", owner);
        owned += json_array_size(pods);
    }
    CHECK_INT(owned, count);
    cache_free(cache);
}

/* A server whose definition is older than this program: the readers miss no default. */
static void missing_defaults_are_filled_in(void) {
    static const char crd[] =
        "spec:\n  group: test.dev\n  names: {kind: Job}\n  versions:\n    - name: v1\n"
        "      schema:\n        openAPIV3Schema:\n          type: object\n          properties:\n"
        "            metadata: {type: object}\n            spec:\n              type: object\n"
        "              properties: {tries: {type: integer, default: 3}, items: {type: integer}}\n";
    struct error err = {0};
    AUTO(schema_freep) struct schema *schema = NULL;
    CHECK_OK(schema_parse(crd, strlen(crd), &schema, &err), &err);
    struct cache *cache = cache_new();
    cache_watch(cache, "test.dev/v1", "Job", (struct cache_rules){.schema = schema});
    AUTO(tree_freep) json_t *old = object("Job", "default", "old", "", "");
    AUTO(tree_freep) json_t *new = object("Job", "default", "new", "", "");
    json_object_set_new(old, "spec", json_pack("{s:i}", "items", 1));
    json_object_set_new(new, "spec", json_pack("{s:i, s:i}", "items", 1, "tries", 5));
    cache_put(cache, old);
    cache_put(cache, new);
    CHECK(!tree_get(old, "spec.tries")); /* the event's object is not changed */
    AUTO(tree_freep) json_t *first = cache_find(cache, "Job", "default", "old");
    AUTO(tree_freep) json_t *second = cache_find(cache, "Job", "default", "new");
    CHECK_INT(tree_integer(first, "spec.tries", 0), 3);
    CHECK_STR(tree_text(first, SCHEMA_FILLED "[0][1]", ""), "tries");
    CHECK_INT(tree_integer(second, "spec.tries", 0), 5);
    CHECK(!json_object_get(second, SCHEMA_FILLED));
    AUTO(tree_freep) json_t *own = json_deep_copy(first);
    schema_unfill(own);
    CHECK(!tree_get(own, "spec.tries") && tree_integer(own, "spec.items", 0) == 1);
    cache_free(cache);
}

/* What was read stays as it was when the object changes, the next reader sees the change, and a
 * server that has the kind under another version gives all of them that version. */
static void what_is_read_is_shared(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "test.dev/v2", "Job", (struct cache_rules){0});
    AUTO(tree_freep) json_t *job = object("Job", "default", "a", "", "");
    json_object_set_new(job, "spec", json_pack("{s:i}", "items", 1));
    cache_put(cache, job);
    AUTO(tree_freep) json_t *first = cache_find(cache, "Job", "default", "a");
    AUTO(tree_freep) json_t *again = cache_find(cache, "Job", "default", "a");
    CHECK(first == again);
    json_object_set_new(job, "spec", json_pack("{s:i}", "items", 2));
    cache_put(cache, job);
    AUTO(tree_freep) json_t *changed = cache_find(cache, "Job", "default", "a");
    CHECK_INT(tree_integer(first, "spec.items", 0), 1);
    CHECK_INT(tree_integer(changed, "spec.items", 0), 2);
    AUTO(tree_freep)
    json_t *older = json_pack("{s:s, s:s}", "apiVersion", "test.dev/v1", "kind", "Job");
    cache_update(cache, CLUSTER_LISTING, older, NULL, NULL);
    AUTO(tree_freep) json_t *renamed = cache_find(cache, "Job", "default", "a");
    CHECK_STR(tree_text(renamed, "apiVersion", ""), "test.dev/v1");
    cache_forget_trees(cache);
    AUTO(tree_freep) json_t *parsed = cache_find(cache, "Job", "default", "a");
    CHECK(parsed != renamed && json_equal(parsed, renamed));
    for (int i = 0; i < 3000; i++) { /* more than are kept */
        AUTO(text_freep) char *name = x_printf("job-%d", i);
        AUTO(tree_freep) json_t *other = object("Job", "default", name, "", "");
        cache_put(cache, other);
        AUTO(tree_freep) json_t *found = cache_find(cache, "Job", "default", name);
        CHECK_STR(tree_text(found, "metadata.name", ""), name);
    }
    AUTO(tree_freep) json_t *last = cache_find(cache, "Job", "default", "a");
    CHECK(json_equal(last, renamed));
    cache_free(cache);
}

/* A job of 300 pods: all are read, and a bounded number of trees stays in memory beside
 * those that the caller still reads. */
static void of_many_few_stay_parsed(void) {
    enum { PODS = 300, KEPT_MAX = 128 };
    struct cache *cache = cache_new();
    cache_watch(cache, "v1", "Pod", (struct cache_rules){0});
    AUTO(tree_freep) json_t *owner = object("BatchScore", "default", "job", "job", "");
    json_object_set_new(json_object_get(owner, "metadata"), "uid", json_string("u1"));
    for (int i = 0; i < PODS; i++) {
        AUTO(text_freep) char *name = x_printf("pod-%03d", i);
        tell(cache, CLUSTER_APPLIED, object("Pod", "default", name, "job", "u1"));
    }
    for (int pass = 0; pass < 3; pass++) {
        AUTO(tree_freep) json_t *pods = cache_owned(cache, "Pod", owner);
        size_t kept = 0;
        for (size_t i = 0; i < json_array_size(pods); i++) {
            AUTO(text_freep) char *name = x_printf("pod-%03zu", i);
            const json_t *pod = json_array_get(pods, i);
            CHECK_STR(tree_text(pod, "metadata.name", ""), name);
            kept += pod->refcount > 1; /* by the array alone otherwise */
        }
        CHECK_INT(json_array_size(pods), PODS);
        CHECK(kept > 0 && kept <= KEPT_MAX);
    }
    cache_free(cache);
}

int main(void) {
    TEST(finds_by_name_and_by_owner);
    TEST(finds_what_lost_its_owner);
    TEST(finds_what_changed);
    TEST(a_listing_sweeps_what_it_does_not_name);
    TEST(what_is_older_is_not_taken);
    TEST(what_is_newer_than_a_list_stays);
    TEST(a_kind_that_is_absent);
    TEST(another_ones_end_is_not_its_own);
    TEST(the_same_version_is_no_news);
    TEST(only_what_is_used_is_kept);
    TEST(many_come_and_go);
    TEST(missing_defaults_are_filled_in);
    TEST(what_is_read_is_shared);
    TEST(of_many_few_stay_parsed);
    return TEST_END();
}
