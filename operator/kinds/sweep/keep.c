// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/keep.h"

#include <string.h>

json_t *sweep_keep(const json_t *object) {
    static const char *const annotations[] = {NULL};
    bool is_pod = strcmp(tree_text(object, "kind", ""), "Pod") == 0;
    return is_pod ? job_keep_owned(object) : job_keep(object, annotations);
}
