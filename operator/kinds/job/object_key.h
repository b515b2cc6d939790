/* object_key.h: identifies an object of a job's namespace by kind and name. */
#pragma once

#include "lib/tree.h"

struct object_key {
    const char *kind, *name; /* borrowed; of object_key_copy owned */
};

struct object_key object_key_of(const json_t *object); /* borrowed from the object */
struct object_key object_key_copy(struct object_key key);
void object_key_release(struct object_key *key); /* of a copy */
bool object_key_equal(struct object_key a, struct object_key b);
/* The same, but that all Secrets are one: a job has one, and another name for it after each failure
 * to create it (reconcile/credentials.h). */
bool object_key_same_part(struct object_key a, struct object_key b);
/* "Pod digits-0"; the caller frees it. */
char *object_key_format(struct object_key key);

/* An object of a kind that is not watched, as asked for by a plan (reconcile/ensured.h). */
struct ensured_object {
    struct object_key object;
    bool is_there;
    int64_t since_ms; /* when it was last known to be there, monotonic */
};

struct ensured_objects {
    struct ensured_object *at;
    size_t count;
};
