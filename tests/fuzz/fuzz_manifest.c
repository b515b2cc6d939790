// SPDX-License-Identifier: Apache-2.0
/* Manifest text -> YAML -> schema -> rules -> plan. An accepted manifest must be plannable, and the
 * plan of a valid resource must not call it invalid. */
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/disttrain/plan.h"
#include "operator/resource.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Pods, or the objects that a scheduler needs before a gang's pods. */
static bool makes_something(const struct plan_result *result) {
    return json_array_size(result->create) > 0 || tree_find(result->apply, "kind", "PodGroup");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = NULL;
    if (resource_parse("fuzz.yaml", (const char *)data, size, &object, &err) < 0) {
        if (err.kind != ERROR_INVALID || !text_starts(err.text, "fuzz.yaml")) {
            abort();
        }
        return 0;
    }
    bool is_gang = strcmp(tree_text(object, "kind", ""), "DistTrain") == 0;
    struct credentials credentials = {.secret = "secret",
                                      .token = "token",
                                      .certificate = "certificate",
                                      .certificate_sha256 = "sha256",
                                      .key = "key"};
    AUTO(tree_freep)
    json_t *service = owned_service(object, is_gang ? &disttrain_words.hub : &batchscore_words.hub,
                                    &credentials, "{}");
    json_object_set_new(json_object_get(service, "spec"), "clusterIP", json_string("10.0.0.1"));
    json_object_set_new(
        object, "status",
        json_pack("{s:{s:s, s:b}}", "credentials", "secret", "secret", "created", true));
    struct job_observed seen = {.object = object, .service = service};
    struct batchscore_observed observed = {.job = seen};
    struct disttrain_observed gang = {.job = seen};
    AUTO(plan_result_release) struct plan_result result = {0};
    if ((is_gang ? disttrain_decide(&gang, 1000, &result, &err)
                 : batchscore_decide(&observed, 1000, &result, &err)) < 0 ||
        (!makes_something(&result) && !tree_bool(object, "spec.suspend", false))) {
        abort();
    }
    return 0;
}
