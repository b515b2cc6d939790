/* cache.h: the last seen state of every watched object, by kind, namespace and name, and by the job
 * (LABEL_JOB) it belongs to. Fed by the cluster's events; read by the kinds. An object is kept as
 * one compact text of what is used of it, and parsed when somebody looks. Used by one thread. */
#pragma once

#include "operator/cluster.h"

struct cache;

/* What is kept of an object: a new tree with metadata.uid and ownerReferences, if it has them
 * (name, namespace, kind, apiVersion, resourceVersion and LABEL_JOB are kept anyway). */
typedef json_t *cache_transform(const json_t *object);

struct cache *cache_new(void);
void cache_free(struct cache *cache);

/* Objects of that kind are taken in from now on; those of others never. keep: NULL is everything.
 */
void cache_watch(struct cache *cache, const char *api_version, const char *kind,
                 cache_transform *transform);
/* True once every kind has been listed. */
bool cache_is_complete(const struct cache *cache);

/* Takes in what the cluster told. Objects that a new listing did not name are reported to `gone`
 * (CLUSTER_DELETED, context, object) when the listing ends. What is older than what is known (by
 * resourceVersion) is not taken. */
void cache_update(struct cache *cache, enum cluster_event event, const json_t *object,
                  cluster_listener *gone, void *context);
/* Whether that very version is known; a listing has named it then. */
bool cache_knows(struct cache *cache, const json_t *object);
/* Takes in the answer to our own write, ahead of its event. */
void cache_put(struct cache *cache, const json_t *object);

/* Keeps only that of an object that was read from here, until the next news of it. */
void cache_trim(struct cache *cache, const json_t *object, cache_transform *transform);

/* Owned by the caller; NULL when there is none. */
json_t *cache_find(const struct cache *cache, const char *kind, const char *namespace,
                   const char *name);
/* New array (owned by the caller, sorted by name) of the job's objects of that kind that name uid
 * among their owners. */
json_t *cache_owned(const struct cache *cache, const char *kind, const json_t *owner);

/* Of these, what came into the cache or changed behind *stamp, which becomes now's (0: everything);
 * and how many there are, with strangers that carry the job's label: not as many as the caller
 * knows of means that some went, or that they are no longer its own, and everything is to be read
 * again. A stamp is this cache's own. */
json_t *cache_owned_since(const struct cache *cache, const char *kind, const json_t *owner,
                          uint64_t *stamp, size_t *ret_count);

size_t cache_count(const struct cache *cache); /* objects */
size_t cache_bytes(const struct cache *cache); /* that they take, tables included */
