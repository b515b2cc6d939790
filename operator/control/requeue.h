/* requeue.h: which resources are reconciled after an object has changed: itself, if it is one,
 * those that wait for it (awaited.h), and those that own it. */
#pragma once

#include "operator/control/awaited.h"
#include "operator/control/controller.h"
#include "operator/control/queue.h"

/* All borrowed. */
struct requeue {
    struct queue *queue;
    const struct awaited *awaited;
    const struct kind *const *kinds; /* of resources; ends with NULL */
};

/* but: a key that is reconciled anyway and need not be queued; NULL: none. */
void requeue_all(const struct requeue *requeue, const json_t *object, const char *but);
/* A resource of which somebody took an object away takes it back, or makes another one. before:
 * the object as it was; NULL: not known. */
void requeue_lost_owners(const struct requeue *requeue, const json_t *before, const json_t *object);
