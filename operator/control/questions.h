/* questions.h: the lists that the kinds ask the cluster for, at most one of a resource at a time
 * (reconcile_list, reconcile_find). Used by controller.c. */
#pragma once

#include "operator/cluster.h"

struct questions;

struct question {
    char *key;    /* of the resource that asks */
    size_t kind;  /* index in the controller's table */
    json_t *like; /* the object that is looked for; NULL: a list was asked for */
};

/* list: the answer, NULL with err. object: the one that was looked for, with its apiVersion and
 * kind; NULL: none, or err. All borrowed. The question is over then: another may be asked. */
typedef void questions_answer(void *context, const struct question *question, const json_t *list,
                              const json_t *object, const struct error *err);

/* cluster is borrowed. */
struct questions *questions_new(struct cluster *cluster, questions_answer *answer, void *context);
/* Questions that are under way are not cancelled: free the cluster next (controller_free). */
void questions_free(struct questions *questions);

/* False: one of that resource is under way. like and fields: cluster_ops.list's; fields NULL: looks
 * for the object with the kind, namespace and name of like. */
bool questions_ask(struct questions *questions, const char *key, size_t kind, const json_t *like,
                   const char *fields);
/* The watch said that the object is gone: an older answer does not bring it back. */
void questions_note_deleted(struct questions *questions, const json_t *object);
