// SPDX-License-Identifier: Apache-2.0
/* The kept fields of a Sweep that has ended: that it existed, and how it ended. */
#include "operator/kinds/sweep/cache_transform.h"

#include "operator/control/cache.h"
#include "operator/object.h"
#include "tests/test.h"

#include <stdlib.h>

static json_t *sweep(const char *succeeded, int observed) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:i, s:{s:s}}, s:{s:i, s:{}, s:{s:s, s:s}}, "
                     "s:{s:i, s:s, s:s, s:i, "
                     "s:{s:i}, s:[{s:s, s:s, s:s, s:s}, {s:s, s:s}]}}",
                     "apiVersion", "windlass.dev/v1alpha1", "kind", "Sweep", "metadata", "name",
                     "s", "uid", "u", "creationTimestamp", "T", "generation", 2, "annotations",
                     "other", "x", "spec", "maxTrials", 3, "trial", "objective", "metric", "m",
                     "goal", "Maximize", "status", "observedGeneration", observed, "startTime", "S",
                     "completionTime", "C", "next", 3, "trials", "completed", 3, "conditions",
                     "type", "Succeeded", "status", succeeded, "reason", "Completed", "message",
                     "the best of 3", "type", "Stalled", "status", "False");
}

static void check(const char *succeeded, int observed, bool is_kept_whole) {
    AUTO(tree_freep) json_t *object = sweep(succeeded, observed);
    AUTO(tree_freep) json_t *kept = sweep_transform(object);
    CHECK(json_equal(json_object_get(kept, "spec"), json_object_get(object, "spec")) ==
          is_kept_whole);
    CHECK(json_equal(json_object_get(kept, "status"), json_object_get(object, "status")) ==
          is_kept_whole);
    CHECK_STR(tree_text(kept, "metadata.uid", ""), "u");
    /* The version that its model is registered as begins with it. */
    CHECK_STR(tree_text(kept, "metadata.creationTimestamp", ""), is_kept_whole ? "T" : "");
}

static void what_stays(void) {
    AUTO(tree_freep) json_t *object = sweep("True", 2);
    AUTO(tree_freep) json_t *kept = sweep_transform(object);
    AUTO(text_freep) char *text = tree_canonical(kept);
    CHECK_STR(text, "{\"metadata\":{\"generation\":2,\"uid\":\"u\"},\"spec\":{\"objective\":{"
                    "\"goal\":\"Maximize\",\"metric\":\"m\"}},\"status\":{"
                    "\"completionTime\":\"C\",\"conditions\":[{\"reason\":\"Completed\","
                    "\"status\":\"True\",\"type\":\"Succeeded\"}],\"observedGeneration\":2}}");
    check("True", 2, false);
    check("False", 2, false);
    check("Unknown", 2, true);
    check("True", 1, true); /* its new spec is to be acknowledged first */
}

/* Sweeps that start from its trials find these by it. */
static void its_trials_are_found(void) {
    struct cache *cache = cache_new();
    cache_watch(cache, "windlass.dev/v1alpha1", "Sweep",
                (struct cache_rules){.transform = sweep_transform});
    cache_watch(cache, "windlass.dev/v1alpha1", "DistTrain", (struct cache_rules){0});
    AUTO(tree_freep) json_t *object = sweep("True", 2);
    AUTO(tree_freep)
    json_t *trial =
        json_pack("{s:s, s:s, s:{s:s, s:{s:s}, s:[{s:s, s:s}]}}", "apiVersion",
                  "windlass.dev/v1alpha1", "kind", "DistTrain", "metadata", "name", "s-0000",
                  "labels", LABEL_JOB, "s", "ownerReferences", "kind", "Sweep", "uid", "u");
    cache_put(cache, object);
    cache_put(cache, trial);
    AUTO(tree_freep) json_t *found = cache_find(cache, "Sweep", "default", "s");
    CHECK(found && !tree_get(found, "spec.trial"));
    CHECK_STR(tree_text(found, "spec.objective.metric", ""), "m");
    AUTO(tree_freep) json_t *owned = cache_owned(cache, "DistTrain", found);
    CHECK_INT(json_array_size(owned), 1);
    cache_free(cache);
}

int main(void) {
    TEST(what_stays);
    TEST(its_trials_are_found);
    return TEST_END();
}
