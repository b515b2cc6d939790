/* asking_others.h: what somebody else does to the objects of an asking_world.h. */
#pragma once

#include "tests/unit/operator/asking_world.h"

/* Each object of a kind, changed by that function: a copy of it; false: it stays. */
static inline void change_all(const char *plural, int second,
                              bool (*change)(json_t *copy, int second)) {
    const char *name;
    json_t *object;
    void *next;
    json_object_foreach_safe(api_double_all(api, plural), next, name, object) {
        json_t *copy = json_deep_copy(object);
        if (change(copy, second)) {
            api_double_put(api, plural, copy);
        } else {
            json_decref(copy);
        }
    }
}

static inline void delete_every(const char *plural) {
    const char *name;
    json_t *object;
    void *next;
    json_object_foreach_safe(api_double_all(api, plural), next, name, object) {
        api_double_delete(api, plural, name);
    }
}

static inline void set_in_spec(json_t *job, const char *name, json_t *value_new) {
    json_object_set_new(json_object_get(job, "spec"), name, value_new);
    json_int_t generation = tree_integer(job, "metadata.generation", 0);
    json_object_set_new(json_object_get(job, "metadata"), "generation",
                        json_integer(generation + 1));
}
