/* queries.h: the lists that the kinds ask the cluster for, at most one of a resource at a time
 * (reconcile_list, reconcile_find). Used by controller.c. */
#pragma once

#include "operator/cluster.h"

struct queries;

struct query {
    char *key;    /* of the resource that asks */
    size_t kind;  /* index in the controller's table */
    json_t *like; /* the object that is looked for; NULL: a list was asked for */
};

/* list: the answer, NULL with err. object: the one that was looked for, with its apiVersion and
 * kind; NULL: none, or err. All borrowed. The query is over then: another may be started. */
typedef void queries_answer(void *context, const struct query *query, const json_t *list,
                            const json_t *object, const struct error *err);

/* cluster is borrowed. */
struct queries *queries_new(struct cluster *cluster, queries_answer *answer, void *context);
/* Questions that are under way are not cancelled: free the cluster next (controller_free). */
void queries_free(struct queries *queries); /* NULL is allowed */

/* False: one of that resource is under way. like and fields: cluster_ops.list's; fields NULL: looks
 * for the object with the kind, namespace and name of like. */
bool queries_ask(struct queries *queries, const char *key, size_t kind, const json_t *like,
                 const char *fields);
/* The watch said that the object is gone: an older answer does not bring it back. */
void queries_note_deleted(struct queries *queries, const json_t *object);
