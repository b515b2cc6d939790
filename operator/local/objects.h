/* objects.h: a table of Kubernetes objects in memory, maintained like an API server's: uid,
 * resourceVersion, generation, creationTimestamp, owners, and a queue of changes. It does not
 * interpret the objects. Stored objects never change: a change stores a new one. */
#pragma once

#include "operator/cluster.h"

struct objects;

struct objects *objects_new(void);
void objects_free(struct objects *objects);

/* Borrowed; NULL when there is none. */
json_t *objects_find(const struct objects *objects, const char *kind, const char *namespace,
                     const char *name);
/* The object with the kind, namespace and name of `like`. */
json_t *objects_find_like(const struct objects *objects, const json_t *like);

/* cluster.h's CLUSTER_APPLY. *ret_object is borrowed. */
NODISCARD int objects_apply(struct objects *objects, const json_t *object, json_t **ret_object,
                            struct error *err);
/* Merges `change` into a stored object without any check (clusterIP, deletionTimestamp). */
json_t *objects_amend(struct objects *objects, const json_t *object, const json_t *change);
/* cluster.h's CLUSTER_STATUS. *ret_object is borrowed. */
NODISCARD int objects_set_status(struct objects *objects, const json_t *object, json_t **ret_object,
                                 struct error *err);
/* Removes the object itself, but not the objects that it owns. */
void objects_remove(struct objects *objects, const json_t *object);

/* A new array (owned by the caller) of the stored objects of that kind and with that owner's uid;
 * NULL matches all. */
json_t *objects_select(const struct objects *objects, const char *kind, const char *owner_uid);

/* The next change in order; false when there is none. *ret_object is the caller's. */
bool objects_next_event(struct objects *objects, enum cluster_event *ret_event,
                        json_t **ret_object);
bool objects_have_events(const struct objects *objects);
/* Puts an event at the end of the queue. */
void objects_tell(struct objects *objects, enum cluster_event event, const json_t *object);
