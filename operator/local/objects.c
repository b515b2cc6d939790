// SPDX-License-Identifier: Apache-2.0
#include "operator/local/objects.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "operator/object.h"
#include "operator/resource_key.h"

#include <stdlib.h>
#include <string.h>

struct local_objects {
    json_t *table;  /* "Kind namespace/name" -> object */
    json_t *events; /* array of {"event": n, "object": {}}, oldest first */
    size_t told;    /* events before this index were reported */
    int64_t version;
};

struct local_objects *local_objects_new(void) {
    struct local_objects *objects = x_calloc(1, sizeof *objects);
    objects->table = json_object();
    objects->events = json_array();
    return objects;
}

void local_objects_free(struct local_objects *objects) {
    if (!objects) {
        return;
    }
    json_decref(objects->table);
    json_decref(objects->events);
    free(objects);
}

json_t *local_objects_find(const struct local_objects *objects, const char *kind,
                           const char *namespace, const char *name) {
    AUTO(text_freep) char *key = resource_key_format(kind, namespace, name);
    return json_object_get(objects->table, key);
}

json_t *local_objects_find_like(const struct local_objects *objects, const json_t *like) {
    AUTO(text_freep) char *key = resource_key_of_object(like);
    return json_object_get(objects->table, key);
}

void local_objects_report(struct local_objects *objects, enum cluster_event event,
                          const json_t *object) {
    json_array_append_new(objects->events,
                          json_pack("{s:i, s:O}", "event", (int)event, "object", (json_t *)object));
}

bool local_objects_have_events(const struct local_objects *objects) {
    return objects->told < json_array_size(objects->events);
}

bool local_objects_next_event(struct local_objects *objects, enum cluster_event *ret_event,
                              json_t **ret_object) {
    if (!local_objects_have_events(objects)) {
        return false;
    }
    json_t *entry = json_array_get(objects->events, objects->told++);
    *ret_event = (enum cluster_event)json_integer_value(json_object_get(entry, "event"));
    *ret_object = json_incref(json_object_get(entry, "object"));
    if (!local_objects_have_events(objects)) {
        json_array_clear(objects->events);
        objects->told = 0;
    }
    return true;
}

/* Puts every field of `from` into `into`; objects field by field, other values as a whole. */
static void merge(json_t *into, const json_t *from) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)from, key, value) {
        json_t *old = json_object_get(into, key);
        if (json_is_object(old) && json_is_object(value)) {
            merge(old, value);
        } else if (json_is_null(value)) {
            json_object_del(into, key);
        } else {
            json_object_set_new(into, key, json_deep_copy(value));
        }
    }
}

/* Takes the object over. */
static json_t *store(struct local_objects *objects, json_t *object) {
    AUTO(text_freep) char *version = x_printf("%lld", (long long)++objects->version);
    json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                        json_string(version));
    AUTO(text_freep) char *key = resource_key_of_object(object);
    json_object_set_new(objects->table, key, object);
    local_objects_report(objects, CLUSTER_APPLIED, object);
    return object;
}

/* Compares everything but metadata and status, for generation. */
static bool specs_equal(const json_t *a, const json_t *b) {
    AUTO(tree_freep) json_t *one = json_copy((json_t *)a);
    AUTO(tree_freep) json_t *other = json_copy((json_t *)b);
    static const char *const rest[] = {"metadata", "status"};
    for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
        json_object_del(one, rest[i]);
        json_object_del(other, rest[i]);
    }
    return json_equal(one, other);
}

static int check(const json_t *object, struct error *err) {
    static const char *const needed[] = {"apiVersion", "kind", "metadata.name"};
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (!*tree_text(object, needed[i], "")) {
            return error_set(err, ERROR_INVALID, "object without %s", needed[i]);
        }
    }
    return 0;
}

static bool uid_exists(const struct local_objects *objects, const char *uid) {
    const char *key;
    json_t *object;
    json_object_foreach(objects->table, key, object) {
        if (strcmp(tree_text(object, "metadata.uid", ""), uid) == 0) {
            return true;
        }
    }
    return false;
}

static int check_owners(const struct local_objects *objects, const json_t *object,
                        struct error *err) {
    size_t i;
    json_t *owner;
    json_array_foreach(tree_get(object, "metadata.ownerReferences"), i, owner) {
        if (!uid_exists(objects, tree_text(owner, "uid", ""))) {
            return error_set(err, ERROR_CONFLICT, "%s %s: its owner %s %s is gone",
                             tree_text(object, "kind", ""), tree_text(object, "metadata.name", ""),
                             tree_text(owner, "kind", ""), tree_text(owner, "name", ""));
        }
    }
    return 0;
}

static json_t *create(struct local_objects *objects, const json_t *object) {
    json_t *made = json_deep_copy(object);
    json_object_del(made, "status");
    json_t *metadata = json_object_get(made, "metadata");
    AUTO(text_freep) char *random = digest_random(16);
    AUTO(text_freep)
    char *uid = x_printf("%.8s-%.4s-%.4s-%.4s-%.12s", random, random + 8, random + 12, random + 16,
                         random + 20);
    char now[21];
    clock_format(clock_wall_ms(), now);
    json_object_set_new(metadata, "uid", json_string(uid));
    json_object_set_new(metadata, "creationTimestamp", json_string(now));
    json_object_set_new(metadata, "generation", json_integer(1));
    if (!json_object_get(metadata, "namespace")) {
        json_object_set_new(metadata, "namespace", json_string("default"));
    }
    return store(objects, made);
}

static json_t *change(struct local_objects *objects, json_t *old, const json_t *object) {
    AUTO(tree_freep) json_t *wanted = json_deep_copy(object);
    json_object_del(wanted, "status");
    static const char *const ours[] = {"uid", "resourceVersion", "generation", "creationTimestamp"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        json_object_del(json_object_get(wanted, "metadata"), ours[i]);
    }
    AUTO(tree_freep) json_t *made = json_deep_copy(old);
    merge(made, wanted);
    if (json_equal(made, old)) {
        return old;
    }
    if (!specs_equal(made, old)) {
        json_object_set_new(json_object_get(made, "metadata"), "generation",
                            json_integer(tree_integer(old, "metadata.generation", 0) + 1));
    }
    return store(objects, TAKE(made));
}

int local_objects_apply(struct local_objects *objects, const json_t *object, json_t **ret_object,
                        struct error *err) {
    if (check(object, err) < 0 || check_owners(objects, object, err) < 0) {
        return -1;
    }
    json_t *old = local_objects_find_like(objects, object);
    const char *uid = tree_text(object, "metadata.uid", NULL);
    if (uid && (!old || strcmp(uid, tree_text(old, "metadata.uid", "")) != 0)) {
        return error_set(err, ERROR_CONFLICT, "%s %s: the object with uid %s is gone",
                         tree_text(object, "kind", ""), tree_text(object, "metadata.name", ""),
                         uid);
    }
    *ret_object = old ? change(objects, old, object) : create(objects, object);
    return 0;
}

json_t *local_objects_amend(struct local_objects *objects, const json_t *object,
                            const json_t *amendment) {
    json_t *made = json_deep_copy(local_objects_find_like(objects, object));
    merge(made, amendment);
    return store(objects, made);
}

/* The stored object, which has the uid and resourceVersion of `object` if they are given; NULL and
 * err otherwise. */
static json_t *find_guarded(struct local_objects *objects, const json_t *object,
                            struct error *err) {
    static const char *const guards[] = {"metadata.uid", "metadata.resourceVersion"};
    const char *kind = tree_text(object, "kind", ""),
               *name = tree_text(object, "metadata.name", "");
    json_t *old = local_objects_find_like(objects, object);
    if (!old) {
        error_set(err, ERROR_NOT_FOUND, "%s %s: not found", kind, name);
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
        const char *guard = tree_text(object, guards[i], NULL);
        if (guard && strcmp(guard, tree_text(old, guards[i], "")) != 0) {
            error_set(err, ERROR_CONFLICT, "%s %s: changed since it was read", kind, name);
            return NULL;
        }
    }
    return old;
}

int local_objects_merge(struct local_objects *objects, const json_t *wanted, json_t **ret_object,
                        struct error *err) {
    json_t *old = find_guarded(objects, wanted, err);
    if (!old) {
        return -1;
    }
    *ret_object = change(objects, old, wanted);
    return 0;
}

int local_objects_set_status(struct local_objects *objects, const json_t *object,
                             json_t **ret_object, struct error *err) {
    json_t *old = find_guarded(objects, object, err), *status = json_object_get(object, "status");
    if (!old) {
        return -1;
    }
    *ret_object = old;
    if (!json_equal(json_object_get(old, "status"), status)) {
        json_t *made = json_deep_copy(old);
        json_object_set_new(made, "status", json_deep_copy(status));
        *ret_object = store(objects, made);
    }
    return 0;
}

void local_objects_remove(struct local_objects *objects, const json_t *object) {
    AUTO(text_freep) char *key = resource_key_of_object(object);
    AUTO(tree_freep) json_t *old = json_incref(json_object_get(objects->table, key));
    if (old) {
        json_object_del(objects->table, key);
        local_objects_report(objects, CLUSTER_DELETED, old);
    }
}

json_t *local_objects_select(const struct local_objects *objects, const char *kind,
                             const char *owner_uid) {
    json_t *selected = json_array();
    const char *key;
    json_t *object;
    json_object_foreach(objects->table, key, object) {
        if ((!kind || strcmp(tree_text(object, "kind", ""), kind) == 0) &&
            (!owner_uid || object_is_owned_by(object, owner_uid))) {
            json_array_append(selected, object);
        }
    }
    return selected;
}
