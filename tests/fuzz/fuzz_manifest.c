// SPDX-License-Identifier: Apache-2.0
/* Manifest text -> YAML -> schema -> rules -> plan. What is accepted must be plannable, and the
 * plan of a valid resource must not call it invalid. */
#include "operator/kinds/batchscore/plan.h"
#include "operator/resource.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = NULL;
    if (resource_parse("fuzz.yaml", (const char *)data, size, &object, &err) < 0) {
        if (err.kind != ERROR_INVALID || !text_starts(err.text, "fuzz.yaml")) {
            abort();
        }
        return 0;
    }
    struct credentials credentials = {"token", "certificate", "sha256", "key"};
    AUTO(tree_freep) json_t *made = batchscore_credentials(object, &credentials);
    json_t *service = json_array_get(made, 1);
    json_object_set_new(json_object_get(service, "spec"), "clusterIP", json_string("10.0.0.1"));
    struct batchscore_observed observed = {.object = object, .service = service};
    AUTO(tree_freep) json_t *result = NULL;
    if (batchscore_plan(&observed, 1000, &result, &err) < 0 ||
        json_array_size(json_object_get(result, "apply")) == 0) {
        abort();
    }
    return 0;
}
