/* cache.h: the last known state of all objects that the controller watches, in memory. The
 * controller stores what the cluster reports; the kinds read it instead of asking the API server.
 * Objects are found by kind, namespace and name, or by the job that owns them. Each object is kept
 * as compact JSON text of the fields that are used, and parsed when it is read; the trees of those
 * that were read lately stay for a while. Used by one thread. */
#pragma once

#include "operator/cluster.h"
#include "operator/schema.h"

struct cache;

/* Returns the part of an object that the cache is to keep, as a new tree. It must contain
 * metadata.uid and metadata.ownerReferences if the object has them. The cache itself keeps
 * apiVersion, kind, name, namespace, resourceVersion and the label LABEL_JOB. Not NULL; its first
 * level must not be the object's own, since the cache changes it. */
typedef json_t *cache_transform(const json_t *object);

struct cache *cache_new(void);
void cache_free(struct cache *cache);

/* ---- for the controller: what the cluster reports ---- */

/* What the cache does with the objects of a kind. */
struct cache_rules {
    cache_transform *transform; /* NULL keeps whole objects, but for metadata.managedFields */
    /* Its definition, borrowed; NULL: of a kind that is not ours. An object of a server with an
     * older definition gets the defaults that it lacks, before the transform; what the cache keeps
     * of it then has the member SCHEMA_FILLED (operator/schema.h). */
    const struct schema *schema;
};

/* Call once for each watched kind, of at most 16, before its first event; events of other kinds are
 * ignored. Kinds differ by `kind` alone, not by their API. The texts are copied. */
void cache_watch(struct cache *cache, const char *api_version, const char *kind,
                 struct cache_rules rules);
/* True when every watched kind has been listed once: the event CLUSTER_LISTED (cluster.h) ends a
 * list; CLUSTER_ABSENT counts as one without objects. */
bool cache_is_complete(const struct cache *cache);

/* Applies an event of the cluster (cluster.h). An object whose resourceVersion is older than the
 * stored one is ignored; versions of an object with the same uid are compared as numbers, which
 * grow on Kubernetes' API servers. So is the end of an object with another uid. At CLUSTER_LISTED
 * and CLUSTER_ABSENT the objects that the new list did not contain are removed, but for those that
 * are newer than the list (they, too, if its version is lower than that of the list before: etcd
 * was restored from a backup). Then deleted(context, CLUSTER_DELETED, object) is called for each of
 * these; not at CLUSTER_DELETED, which the caller has seen. */
void cache_update(struct cache *cache, enum cluster_event event, const json_t *object,
                  cluster_listener *deleted, void *context);
/* object: from an event. True when the stored object has its uid and its resourceVersion: the event
 * changes nothing. The object then counts as part of the current list, so there is no need to call
 * cache_update. */
bool cache_has_version(struct cache *cache, const json_t *object);
/* Stores an object as the API server returned it in the answer to a write, so that readers need not
 * wait for its event. Ignored: an older one than the stored, one of a kind that is not watched. */
void cache_put(struct cache *cache, const json_t *object);

/* ---- for the kinds ---- */

/* The cluster does not know the kind at the moment, or has not listed it since: objects that are
 * not in the cache may exist. */
bool cache_is_absent(const struct cache *cache, const char *kind);
/* The object as the cache keeps it (reduced by the transform); NULL when there is none. The caller
 * owns a reference. What is read from a cache is shared with other readers and never changes: to
 * change it, copy it first, with every object on the path to the changed member. */
json_t *cache_find(const struct cache *cache, const char *kind, const char *namespace,
                   const char *name);
/* The objects of that kind that the resource `owner` owns: they have its name as LABEL_JOB and its
 * uid in ownerReferences. An array sorted by name, owned by the caller. */
json_t *cache_owned(const struct cache *cache, const char *kind, const json_t *owner);

/* Like cache_owned, but only the objects that were stored since the last call with the same *mark
 * (0: all of them); *mark is then advanced. *mark is the number of changes that the cache had made
 * at that call.
 *
 * Deletions are not reported. Therefore *ret_labelled is the number of all objects of the kind with
 * the owner's name as LABEL_JOB, no matter who owns them. When it is not what the caller expects,
 * the caller sets *mark to 0 and reads everything again. */
json_t *cache_owned_since(const struct cache *cache, const char *kind, const json_t *owner,
                          uint64_t *mark, size_t *ret_labelled);

/* The objects of that kind that were made for the resource `owner` and have lost it: with its name
 * as LABEL_JOB, its uid as ANNOTATION_UID (claim.h; a transform keeps it of objects without a
 * controller) and no controller; of those that were stored after the cache's change number `since`
 * (0: all). An array, owned by the caller. */
json_t *cache_lost(const struct cache *cache, const char *kind, const json_t *owner,
                   uint64_t since);
uint64_t cache_changes(const struct cache *cache); /* the number of changes that it has made */

/* Keeps less of a stored object: the result of this transform instead of the kind's. For objects
 * of jobs that have ended. object: as read from this cache. It lasts until the object's next
 * event. */
void cache_reduce(struct cache *cache, const json_t *object, cache_transform *transform);

/* Frees what was kept so that the last objects need not be parsed again. Call it when nothing is
 * under way. */
void cache_forget_trees(struct cache *cache);

/* ---- for tests of the memory that is used ---- */

size_t cache_count(const struct cache *cache); /* stored objects */
size_t cache_bytes(const struct cache *cache); /* of all objects, and of the tables */
