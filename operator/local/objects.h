/* objects.h: a table of Kubernetes objects in memory, maintained like an API server's: uid,
 * resourceVersion, generation, creationTimestamp, owners, and a queue of changes. It does not
 * interpret the objects. Stored objects never change: a change stores a new one. */
#pragma once

#include "operator/cluster.h"

struct local_objects;

struct local_objects *local_objects_new(void);
void local_objects_free(struct local_objects *objects);

/* Borrowed; NULL when there is none. */
json_t *local_objects_find(const struct local_objects *objects, const char *kind,
                           const char *namespace, const char *name);
/* The object with the kind, namespace and name of `like`. */
json_t *local_objects_find_like(const struct local_objects *objects, const json_t *like);

/* cluster.h's CLUSTER_APPLY. *ret_object is borrowed. */
NODISCARD int local_objects_apply(struct local_objects *objects, const json_t *object,
                                  json_t **ret_object, struct error *err);
/* Merges `change` into a stored object without any check (clusterIP, deletionTimestamp). */
json_t *local_objects_amend(struct local_objects *objects, const json_t *object,
                            const json_t *change);
/* cluster.h's CLUSTER_STATUS. *ret_object is borrowed. */
NODISCARD int local_objects_set_status(struct local_objects *objects, const json_t *object,
                                       json_t **ret_object, struct error *err);
/* Removes the object itself, but not the objects that it owns. */
void local_objects_remove(struct local_objects *objects, const json_t *object);

/* A new array (owned by the caller) of the stored objects of that kind and with that owner's uid;
 * NULL matches all. */
json_t *local_objects_select(const struct local_objects *objects, const char *kind,
                             const char *owner_uid);

/* The next change in order; false when there is none. *ret_object is the caller's. */
bool local_objects_next_event(struct local_objects *objects, enum cluster_event *ret_event,
                              json_t **ret_object);
bool local_objects_have_events(const struct local_objects *objects);
/* Puts an event at the end of the queue. */
void local_objects_report(struct local_objects *objects, enum cluster_event event,
                          const json_t *object);
