/* cache.h: the last seen state of every watched object, by kind, namespace and name, and by the job
 * (LABEL_JOB) it belongs to. Fed by the cluster's events; read by the kinds. Used by one thread. */
#pragma once

#include "operator/cluster.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *cache);

/* Takes in what the cluster told. Objects that a new listing did not name are reported to `gone`
 * (CLUSTER_DELETED, context, object) when the listing ends. */
void cache_update(struct cache *cache, enum cluster_event event, const json_t *object,
                  cluster_listener *gone, void *context);
/* Takes in the answer to our own write, ahead of its event. */
void cache_put(struct cache *cache, const json_t *object);

/* True once every kind of the watch has been listed since cache_expect named it. */
bool cache_is_complete(const struct cache *cache);
void cache_expect(struct cache *cache, const char *kind);

/* Borrowed until the next update; NULL when there is none. */
const json_t *cache_find(const struct cache *cache, const char *kind, const char *namespace,
                         const char *name);
/* New array (owned by the caller, sorted by name) of the job's objects of that kind that name uid
 * among their owners. */
json_t *cache_owned(const struct cache *cache, const char *kind, const json_t *owner);
