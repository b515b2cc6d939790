// SPDX-License-Identifier: Apache-2.0
#include "operator/object.h"

#include "lib/time/clock.h"

#include <string.h>

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

const json_t *object_succeeded(const json_t *status) {
    return object_condition(status, "Succeeded");
}

/* A person wants to know why a job that has run does not run; the column State of `kubectl get`,
 * which tools compare, stays. */
const char *object_state(const json_t *status) {
    const json_t *waiting = object_condition(status, "Waiting");
    const char *reason = tree_text(waiting, "reason", "Pending");
    if (strcmp(tree_text(waiting, "status", ""), "True") == 0 && strcmp(reason, "Pending") != 0) {
        return reason;
    }
    return tree_text(object_succeeded(status), "reason", "Pending");
}

int64_t object_age_ms(const json_t *object, int64_t now_ms) {
    int64_t created_ms = clock_parse(tree_text(object, "metadata.creationTimestamp", ""));
    return created_ms < 0 ? 0 : now_ms - created_ms;
}
