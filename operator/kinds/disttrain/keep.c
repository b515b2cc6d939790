// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/keep.h"

#include <string.h>

json_t *disttrain_keep(const json_t *object) {
    static const char *const annotations[] = {NULL};
    const char *kind = tree_text(object, "kind", "");
    bool is_owned = strcmp(kind, "Pod") == 0 || strcmp(kind, "Service") == 0;
    return is_owned ? job_keep_owned(object) : job_keep(object, annotations);
}
