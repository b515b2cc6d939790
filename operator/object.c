// SPDX-License-Identifier: Apache-2.0
#include "operator/object.h"

#include <string.h>

const json_t *object_condition(const json_t *status, const char *type) {
    size_t i;
    json_t *condition;
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        if (strcmp(tree_text(condition, "type", ""), type) == 0) {
            return condition;
        }
    }
    return NULL;
}

const json_t *object_agent(const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (strcmp(tree_text(one, "name", ""), "agent") == 0) {
            return one;
        }
    }
    return json_array_get(list, 0);
}

bool object_is_owned_by(const json_t *object, const char *uid) {
    size_t i;
    json_t *owner;
    json_array_foreach(tree_get(object, "metadata.ownerReferences"), i, owner) {
        if (strcmp(tree_text(owner, "uid", ""), uid) == 0) {
            return true;
        }
    }
    return false;
}
