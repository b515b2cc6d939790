// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/cache_transform.h"

#include "operator/kinds/job/owned.h"

#include <string.h>

json_t *sweep_transform(const json_t *object) {
    static const char *const annotations[] = {ANNOTATION_RESTART, NULL};
    if (strcmp(tree_text(object, "kind", ""), "Pod") == 0) {
        return cache_transform_owned(object);
    }
    json_t *kept = cache_transform_job(object, annotations);
    json_t *objective = tree_get(object, "spec.objective");
    if (!cache_transform_is_final(
            object)) { /* the registered version's name depends on it (registrar.h) */
        json_object_set(tree_ensure_object(kept, "metadata"), "creationTimestamp",
                        tree_get(object, "metadata.creationTimestamp"));
    } else if (objective) { /* a Sweep with warmStart compares it */
        json_object_set(tree_ensure_object(kept, "spec"), "objective", objective);
    }
    return kept;
}
