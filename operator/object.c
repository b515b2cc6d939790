// SPDX-License-Identifier: Apache-2.0
#include "operator/object.h"

const json_t *object_condition(const json_t *status, const char *type) {
    return tree_find(json_object_get(status, "conditions"), "type", type);
}

const json_t *object_agent(const json_t *list) {
    const json_t *agent = tree_find(list, "name", "agent");
    return agent ? agent : json_array_get(list, 0);
}

bool object_is_owned_by(const json_t *object, const char *uid) {
    return tree_find(tree_get(object, "metadata.ownerReferences"), "uid", uid) != NULL;
}
