/* cache.h: the last seen state of every watched object, by kind, namespace and name, and by the job
 * (LABEL_JOB) that it belongs to. The cluster's events update it; the kinds read it. An object is
 * kept as one compact text of the fields that are used, and parsed when it is read. Used by one
 * thread. */
#pragma once

#include "operator/cluster.h"

struct cache;

/* The part of an object that is kept: a new tree with metadata.uid and ownerReferences, if present
 * (name, namespace, kind, apiVersion, resourceVersion and LABEL_JOB are always kept). */
typedef json_t *cache_transform(const json_t *object);

struct cache *cache_new(void);
void cache_free(struct cache *cache);

/* From now on objects of that kind are stored; objects of other kinds are ignored. transform: NULL
 * keeps everything. */
void cache_watch(struct cache *cache, const char *api_version, const char *kind,
                 cache_transform *transform);
/* True once every kind has been listed. */
bool cache_is_complete(const struct cache *cache);

/* Stores the object of a cluster event. Objects that are missing from a new listing are reported to
 * `gone` (CLUSTER_DELETED, context, object) when the listing ends. An object that is older than the
 * stored one (by resourceVersion) is ignored. */
void cache_update(struct cache *cache, enum cluster_event event, const json_t *object,
                  cluster_listener *gone, void *context);
/* Whether the cache has exactly that version; a current listing then counts it as present. */
bool cache_knows(struct cache *cache, const json_t *object);
/* Stores the answer to our own write, before its event arrives. */
void cache_put(struct cache *cache, const json_t *object);

/* Reduces an object that was read from this cache to the transform's result, until its next event.
 */
void cache_trim(struct cache *cache, const json_t *object, cache_transform *transform);

/* Owned by the caller; NULL when there is no such object. */
json_t *cache_find(const struct cache *cache, const char *kind, const char *namespace,
                   const char *name);
/* A new array (owned by the caller, sorted by name) of the job's objects of that kind that have the
 * owner's uid in their ownerReferences. */
json_t *cache_owned(const struct cache *cache, const char *kind, const json_t *owner);

/* The objects of cache_owned that were added or changed since *stamp (0: all of them); *stamp
 * becomes the current one. *ret_count is their total number, with objects of other owners that
 * carry the job's label. When the total differs from the number that the caller knows, objects were
 * deleted or changed owners, and the caller must read everything again. A stamp is valid for this
 * cache only. */
json_t *cache_owned_since(const struct cache *cache, const char *kind, const json_t *owner,
                          uint64_t *stamp, size_t *ret_count);

size_t cache_count(const struct cache *cache); /* objects */
size_t cache_bytes(const struct cache *cache); /* of the objects, tables included */
