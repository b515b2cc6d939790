// SPDX-License-Identifier: Apache-2.0
#include "operator/control/cache.h"

#include <stdlib.h>
#include <string.h>

struct cache {
    json_t *kinds;   /* kind -> {"namespace/name": object} */
    json_t *jobs;    /* "kind namespace/job" -> {name: object} */
    json_t *stale;   /* kind -> {"namespace/name": object}: not yet seen in the listing under way */
    json_t *awaited; /* kind -> true: not listed yet */
};

struct cache *cache_new(void) {
    struct cache *cache = x_calloc(1, sizeof *cache);
    cache->kinds = json_object();
    cache->jobs = json_object();
    cache->stale = json_object();
    cache->awaited = json_object();
    return cache;
}

void cache_free(struct cache *cache) {
    if (!cache) {
        return;
    }
    json_decref(cache->kinds);
    json_decref(cache->jobs);
    json_decref(cache->stale);
    json_decref(cache->awaited);
    free(cache);
}

static const char *kind_of(const json_t *object) {
    return tree_text(object, "kind", "");
}

static const char *namespace_of(const json_t *object) {
    return tree_text(object, "metadata.namespace", "default");
}

static const char *name_of(const json_t *object) {
    return tree_text(object, "metadata.name", "");
}

/* The label's key has dots, so tree_text cannot reach it. */
static const char *job_of(const json_t *object) {
    return json_string_value(json_object_get(tree_get(object, "metadata.labels"), LABEL_JOB));
}

static json_t *child(json_t *tree, const char *key) {
    json_t *value = json_object_get(tree, key);
    if (!value) {
        value = json_object();
        json_object_set_new(tree, key, value);
    }
    return value;
}

static void drop_from_job(struct cache *cache, const json_t *object) {
    const char *job = job_of(object);
    if (!job) {
        return;
    }
    AUTO(text_freep)
    char *index = x_printf("%s %s/%s", kind_of(object), namespace_of(object), job);
    json_t *members = json_object_get(cache->jobs, index);
    json_object_del(members, name_of(object));
    if (members && json_object_size(members) == 0) {
        json_object_del(cache->jobs, index);
    }
}

static void drop(struct cache *cache, const json_t *object) {
    AUTO(text_freep) char *key = x_printf("%s/%s", namespace_of(object), name_of(object));
    json_t *table = child(cache->kinds, kind_of(object));
    AUTO(tree_freep) json_t *old = json_incref(json_object_get(table, key));
    if (old) {
        drop_from_job(cache, old);
        json_object_del(table, key);
    }
}

/* The answer to a write and the event of an earlier change may come in any order. */
static bool is_older(const json_t *object, const json_t *known) {
    const char *uid = tree_text(known, "metadata.uid", "");
    return known && strcmp(tree_text(object, "metadata.uid", ""), uid) == 0 &&
           strtoull(tree_text(object, "metadata.resourceVersion", ""), NULL, 10) <
               strtoull(tree_text(known, "metadata.resourceVersion", ""), NULL, 10);
}

void cache_put(struct cache *cache, const json_t *object) {
    AUTO(text_freep) char *key = x_printf("%s/%s", namespace_of(object), name_of(object));
    json_t *table = child(cache->kinds, kind_of(object));
    json_object_del(json_object_get(cache->stale, kind_of(object)), key);
    if (is_older(object, json_object_get(table, key))) {
        return;
    }
    drop(cache, object); /* its job may have changed */
    json_object_set(table, key, (json_t *)object);
    const char *job = job_of(object);
    if (job) {
        AUTO(text_freep)
        char *index = x_printf("%s %s/%s", kind_of(object), namespace_of(object), job);
        json_object_set(child(cache->jobs, index), name_of(object), (json_t *)object);
    }
}

/* What the listing did not name went away while nobody told us. */
static void end_listing(struct cache *cache, const char *kind, cluster_listener *gone,
                        void *context) {
    AUTO(tree_freep) json_t *stale = json_incref(json_object_get(cache->stale, kind));
    json_object_del(cache->stale, kind);
    json_object_del(cache->awaited, kind);
    const char *key;
    json_t *object;
    json_object_foreach(stale, key, object) {
        drop(cache, object);
        gone(context, CLUSTER_DELETED, object);
    }
}

void cache_update(struct cache *cache, enum cluster_event event, const json_t *object,
                  cluster_listener *gone, void *context) {
    switch (event) {
    case CLUSTER_APPLIED:
        cache_put(cache, object);
        break;
    case CLUSTER_DELETED:
        drop(cache, object);
        break;
    case CLUSTER_LISTING:
        json_object_set_new(cache->stale, kind_of(object),
                            json_copy(child(cache->kinds, kind_of(object))));
        break;
    case CLUSTER_LISTED:
        end_listing(cache, kind_of(object), gone, context);
        break;
    }
}

void cache_expect(struct cache *cache, const char *kind) {
    json_object_set_new(cache->awaited, kind, json_true());
}

bool cache_is_complete(const struct cache *cache) {
    return json_object_size(cache->awaited) == 0;
}

const json_t *cache_find(const struct cache *cache, const char *kind, const char *namespace,
                         const char *name) {
    AUTO(text_freep) char *key = x_printf("%s/%s", namespace, name);
    return json_object_get(json_object_get(cache->kinds, kind), key);
}

static bool has_owner(const json_t *object, const char *uid) {
    size_t i;
    json_t *reference;
    json_array_foreach(tree_get(object, "metadata.ownerReferences"), i, reference) {
        if (strcmp(tree_text(reference, "uid", ""), uid) == 0) {
            return true;
        }
    }
    return false;
}

static int by_name(const void *a, const void *b) {
    return strcmp(name_of(*(json_t *const *)a), name_of(*(json_t *const *)b));
}

json_t *cache_owned(const struct cache *cache, const char *kind, const json_t *owner) {
    AUTO(text_freep)
    char *index = x_printf("%s %s/%s", kind, namespace_of(owner), name_of(owner));
    json_t *members = json_object_get(cache->jobs, index);
    size_t count = 0;
    json_t **sorted = x_calloc(json_object_size(members) + 1, sizeof(json_t *));
    const char *name;
    json_t *object;
    json_object_foreach(members, name, object) {
        if (has_owner(object, tree_text(owner, "metadata.uid", ""))) {
            sorted[count++] = object;
        }
    }
    qsort(sorted, count, sizeof *sorted, by_name);
    json_t *owned = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append(owned, sorted[i]);
    }
    free(sorted);
    return owned;
}
