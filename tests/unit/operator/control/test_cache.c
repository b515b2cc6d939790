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

static int tell(struct cache *cache, enum cluster_event event, json_t *object_new) {
    int gone = 0;
    cache_update(cache, event, object_new, count_gone, &gone);
    json_decref(object_new);
    return gone;
}

static void finds_by_name_and_by_owner(void) {
    struct cache *cache = cache_new();
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
    CHECK(cache_find(cache, "Pod", "elsewhere", "d"));
    CHECK(!cache_find(cache, "Pod", "default", "d"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "a", "other-job", "u1")); /* relabelled */
    tell(cache, CLUSTER_DELETED, object("Pod", "default", "b", "job", "u1"));
    AUTO(tree_freep) json_t *left = cache_owned(cache, "Pod", owner);
    CHECK_INT(json_array_size(left), 0);
    CHECK(!cache_find(cache, "Pod", "default", "b"));
    cache_free(cache);
}

static void a_listing_sweeps_what_it_does_not_name(void) {
    struct cache *cache = cache_new();
    cache_expect(cache, "Pod");
    cache_expect(cache, "Service");
    CHECK(!cache_is_complete(cache));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "kept", "job", "u1"));
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "lost", "job", "u1"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Pod")), 0);
    CHECK(!cache_is_complete(cache));
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Service"));
    tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Service"));
    CHECK(cache_is_complete(cache));
    /* The stream broke; meanwhile one pod went away unseen. */
    tell(cache, CLUSTER_LISTING, json_pack("{s:s}", "kind", "Pod"));
    CHECK(cache_find(cache, "Pod", "default", "lost")); /* not before the listing's end */
    tell(cache, CLUSTER_APPLIED, object("Pod", "default", "kept", "job", "u1"));
    CHECK_INT(tell(cache, CLUSTER_LISTED, json_pack("{s:s}", "kind", "Pod")), 1);
    CHECK(cache_find(cache, "Pod", "default", "kept"));
    CHECK(!cache_find(cache, "Pod", "default", "lost"));
    cache_free(cache);
}

int main(void) {
    TEST(finds_by_name_and_by_owner);
    TEST(a_listing_sweeps_what_it_does_not_name);
    return TEST_END();
}
