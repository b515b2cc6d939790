// SPDX-License-Identifier: Apache-2.0
/* The kept fields of a DistTrain that has ended: few, but of a trial those that its Sweep needs. */
#include "operator/kinds/disttrain/cache_transform.h"

#include "tests/parse_json.h"
#include "tests/test.h"

#include <stdlib.h>

static const char objective[] = "{\"reports\":7,\"best\":\"0.9\",\"at\":\"1:::\"}";

static json_t *job(bool is_trial, const char *succeeded) {
    json_t *object = json_pack(
        "{s:s, s:{s:s, s:i, s:{s:s}}, s:{s:i, s:s, s:i}, s:{s:i, s:s, s:s, s:o, "
        "s:[{s:s, s:s, s:s, s:s, s:i}]}}",
        "kind", "DistTrain", "metadata", "uid", "u", "generation", 2, "annotations", "other", "x",
        "spec", "workers", 3, "stop", "so", "ttlSecondsAfterFinished", 60, "status",
        "observedGeneration", 2, "startTime", "S", "completionTime", "C", "objective",
        json_loads(objective, 0, NULL), "conditions", "type", "Succeeded", "status", succeeded,
        "reason", "Stopped", "message", "so", "observedGeneration", 2);
    if (is_trial) {
        json_object_set_new(tree_get(object, "metadata.annotations"), ANNOTATION_TRIAL,
                            json_string("{\"index\": 7}"));
    }
    return object;
}

static void check(bool is_trial, const char *succeeded, const char *wanted) {
    AUTO(tree_freep) json_t *object = job(is_trial, succeeded);
    AUTO(tree_freep) json_t *kept = disttrain_transform(object);
    AUTO(text_freep) char *text = tree_canonical(kept);
    CHECK_STR(text, wanted);
}

static void what_stays(void) {
    check(
        false, "False",
        "{\"metadata\":{\"generation\":2,\"uid\":\"u\"},\"spec\":{\"ttlSecondsAfterFinished\":60},"
        "\"status\":{\"completionTime\":\"C\",\"conditions\":[{\"observedGeneration\":2,"
        "\"reason\":\"Stopped\",\"status\":\"False\",\"type\":\"Succeeded\"}],"
        "\"observedGeneration\":2}}");
    check(true, "False",
          "{\"metadata\":{\"annotations\":{\"windlass.dev/trial\":\"{\\\"index\\\": 7}\"},"
          "\"generation\":2,\"uid\":\"u\"},\"spec\":{\"ttlSecondsAfterFinished\":60},"
          "\"status\":{\"completionTime\":\"C\",\"conditions\":[{\"message\":\"so\","
          "\"observedGeneration\":2,\"reason\":\"Stopped\",\"status\":\"False\","
          "\"type\":\"Succeeded\"}],\"objective\":{\"at\":\"1:::\",\"best\":\"0.9\",\"reports\":7},"
          "\"observedGeneration\":2,\"startTime\":\"S\"}}");
}

/* Jobs that come after it may ask for its output. */
static void its_output_stays(void) {
    static const struct {
        const char *succeeded, *owner, *kept; /* owner: its apiVersion */
    } rows[] = {{"True", NULL, "data/out"},
                {"False", NULL, NULL},
                {"True", "windlass.dev/v1alpha1", NULL},
                {"True", "argoproj.io/v1alpha1", "data/out"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *object = job(false, rows[i].succeeded);
        json_object_set_new(json_object_get(object, "spec"), "trainer",
                            json_pack("{s:{s:s}, s:i}", "output", "path", "data/out", "epochs", 9));
        if (rows[i].owner) {
            json_object_set_new(json_object_get(object, "metadata"), "ownerReferences",
                                json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion",
                                          rows[i].owner, "kind", "Sweep", "name", "s", "uid", "v",
                                          "controller", true));
        }
        AUTO(tree_freep) json_t *kept = disttrain_transform(object);
        CHECK_STR(tree_text(kept, "spec.trainer.output.path", "none"),
                  rows[i].kept ? rows[i].kept : "none");
        CHECK(!tree_get(kept, "spec.trainer.epochs"));
    }
}

/* Each row: an owner, as the API server or the cache has it. */
static void whose_trial_it_is(void) {
    static const struct {
        const char *owner;
        bool is_trial;
    } rows[] = {
        {"{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'Sweep', 'controller': true}", true},
        {"{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'Sweep', 'controller': false}", false},
        {"{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'Sweep'}", false},
        {"{'apiVersion': 'example.com/v1', 'kind': 'Sweep', 'controller': true}", false},
        {"{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'BatchScore', 'controller': true}", false},
        {"{'kind': 'Sweep'}", true},
        {"{'kind': 'Other'}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *owner = parse(rows[i].owner);
        json_object_set_new(owner, "name", json_string("s"));
        AUTO(tree_freep)
        json_t *object = json_pack("{s:{s:[o]}}", "metadata", "ownerReferences", owner);
        CHECK_STR(disttrain_sweep(object) ?: "none", rows[i].is_trial ? "s" : "none");
    }
}

/* While it runs its whole status is needed. */
static void under_way(void) {
    AUTO(tree_freep) json_t *object = job(true, "Unknown");
    AUTO(tree_freep) json_t *kept = disttrain_transform(object);
    CHECK(json_equal(json_object_get(kept, "spec"), json_object_get(object, "spec")));
    CHECK(json_equal(json_object_get(kept, "status"), json_object_get(object, "status")));
    CHECK(json_object_size(tree_get(kept, "metadata.annotations")) == 1);
}

int main(void) {
    TEST(what_stays);
    TEST(its_output_stays);
    TEST(whose_trial_it_is);
    TEST(under_way);
    return TEST_END();
}
