// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/keep.h"

#include <string.h>

json_t *sweep_keep(const json_t *object) {
    static const char *const annotations[] = {NULL};
    if (strcmp(tree_text(object, "kind", ""), "Pod") == 0) {
        return job_keep_owned(object);
    }
    json_t *kept = job_keep(object, annotations);
    if (!job_is_settled(object)) { /* what is registered is named by it (registrar.h) */
        json_object_set(tree_part(kept, "metadata"), "creationTimestamp",
                        tree_get(object, "metadata.creationTimestamp"));
    }
    return kept;
}
