// SPDX-License-Identifier: Apache-2.0
/* Who has a name that was taken: what is done with the answer. */
#include "operator/kinds/job/reconcile/holders.h"

#include "operator/control/queries.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/owned.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static int asked;

static void count_list(struct cluster *cluster UNUSED, const json_t *like UNUSED,
                       const char *fields UNUSED, cluster_done *done UNUSED, void *context UNUSED) {
    asked++;
}

static void ignore(void *context UNUSED, const struct query *query UNUSED,
                   const json_t *list UNUSED, const json_t *object UNUSED,
                   const struct error *err UNUSED) {
}

static json_t *lost_pod(const char *version) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:{s:s}, s:{s:s}}}", "apiVersion", "v1",
                     "kind", "Pod", "metadata", "name", "a-worker-0", "namespace", "default", "uid",
                     "p-1", "resourceVersion", version, "labels", LABEL_JOB, "a", "annotations",
                     ANNOTATION_UID, "u-1");
}

/* The creation of a pod met one that lost its owner, which was read in version 5. Then the watch
 * shows a version: the number of writes and of questions of the next pass. */
static void settle_after(const char *version, int ret_counts[2]) {
    static const struct cluster_ops ops = {.list = count_list};
    struct cluster cluster = {.ops = &ops};
    struct error taken = {0};
    struct refusals record = {0};
    AUTO(tree_freep) json_t *writes = json_array();
    AUTO(tree_freep) json_t *found = lost_pod("5");
    AUTO(tree_freep) json_t *wanted = lost_pod("");
    AUTO(tree_freep) json_t *seen = lost_pod(version);
    AUTO(tree_freep)
    json_t *job = parse("{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'BatchScore', 'metadata': "
                        "{'name': 'a', 'uid': 'u-1'}}");
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "a",
                                .object = job,
                                .cache = cache_new(),
                                .writes = writes,
                                .queries = queries_new(&cluster, ignore, NULL),
                                .pace = retry_pace_new()};
    cache_watch(request.cache, "v1", "Pod", (struct cache_rules){0});
    asked = 0;
    error_set(&taken, ERROR_CONFLICT, "it exists");
    struct written refused = {"default", "a", CLUSTER_CREATE, wanted, NULL, &taken};
    refusals_note(&record, &refused);
    holders_settle(&request, &record, /* made= */ NULL);
    CHECK_INT(asked, 1);
    struct found answer = {"default", "a", wanted, found, NULL};
    holders_found(&record, &answer);
    queries_free(request.queries);
    request.queries = queries_new(&cluster, ignore, NULL);
    cache_put(request.cache, seen);
    holders_settle(&request, &record, /* made= */ NULL);
    ret_counts[0] = (int)json_array_size(writes);
    ret_counts[1] = asked - 1;
    refusals_release(&record);
    queries_free(request.queries);
    retry_pace_free(request.pace);
    cache_free(request.cache);
}

static void test_a_later_version_is_read_first(void) {
    int counts[2];
    settle_after("5", counts);
    CHECK_INT(counts[0], 1);
    CHECK_INT(counts[1], 0);
    settle_after("4", counts); /* the watch is late */
    CHECK_INT(counts[0], 1);
    CHECK_INT(counts[1], 0);
    settle_after("6", counts); /* the change would be refused */
    CHECK_INT(counts[0], 0);
    CHECK_INT(counts[1], 1);
}

int main(void) {
    TEST(test_a_later_version_is_read_first);
    return TEST_END();
}
