/* objects.h: Kubernetes objects in memory. Like an API server it sets uid, resourceVersion,
 * generation and creationTimestamp, checks that owners exist, and queues an event for every change.
 * It does not interpret the objects. A stored object is never modified in place: a change stores a
 * new one. */
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

/* Does CLUSTER_APPLY (cluster.h). *ret_object: as stored, borrowed. */
NODISCARD int local_objects_apply(struct local_objects *objects, const json_t *object,
                                  json_t **ret_object, struct error *err);
/* Merges `change` into a stored object, without any check, for fields that a cluster sets
 * (clusterIP, deletionTimestamp). Returns the stored object, borrowed. */
json_t *local_objects_amend(struct local_objects *objects, const json_t *object,
                            const json_t *change);
/* Does CLUSTER_MERGE (cluster.h). *ret_object: as stored, borrowed. */
NODISCARD int local_objects_merge(struct local_objects *objects, const json_t *change,
                                  json_t **ret_object, struct error *err);
/* Does CLUSTER_STATUS (cluster.h). *ret_object: as stored, borrowed. */
NODISCARD int local_objects_set_status(struct local_objects *objects, const json_t *object,
                                       json_t **ret_object, struct error *err);
/* Removes the object itself, but not the objects that it owns. */
void local_objects_remove(struct local_objects *objects, const json_t *object);

/* The stored objects of that kind whose ownerReferences have that uid; NULL matches all. An array,
 * owned by the caller. */
json_t *local_objects_select(const struct local_objects *objects, const char *kind,
                             const char *owner_uid);

/* Takes the next event from the queue; false when it is empty. *ret_object is the caller's. */
bool local_objects_next_event(struct local_objects *objects, enum cluster_event *ret_event,
                              json_t **ret_object);
bool local_objects_have_events(const struct local_objects *objects);
/* Adds an event to the queue. */
void local_objects_report(struct local_objects *objects, enum cluster_event event,
                          const json_t *object);
