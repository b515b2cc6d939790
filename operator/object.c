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

void object_copy(json_t *to, const json_t *from, const char *const *names) {
    for (; *names; names++) {
        json_object_set(to, *names, json_object_get(from, *names));
    }
}

int64_t object_age_ms(const json_t *object, int64_t now_ms) {
    int64_t created_ms = clock_parse(tree_text(object, "metadata.creationTimestamp", ""));
    return created_ms < 0 ? 0 : now_ms - created_ms;
}

/* Texts that say when it was written: a new one is made with each try. */
static bool is_time(const json_t *value) {
    const char *text = json_string_value(value);
    return text && clock_parse(text) >= 0;
}

bool object_holds(const json_t *stored, const json_t *asked, bool ignores_times) {
    if (ignores_times && is_time(asked)) {
        return true;
    }
    if (json_is_number(asked)) {
        return json_is_number(stored) && json_number_value(asked) == json_number_value(stored);
    }
    if (json_is_array(asked)) {
        size_t i = 0, count = json_array_size(asked);
        while (i < count &&
               object_holds(json_array_get(stored, i), json_array_get(asked, i), ignores_times)) {
            i++;
        }
        return i == count && json_array_size(stored) == count;
    }
    if (!json_is_object(asked)) {
        return json_equal(asked, stored);
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)asked, name, value) {
        if (!object_holds(json_object_get(stored, name), value, ignores_times)) {
            return false;
        }
    }
    return true;
}
