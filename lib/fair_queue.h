/* fair_queue.h: a fair queue with a bounded number of running tasks, shared between names. A name
 * may start a task while it has fewer than a third of the slots that are free: alone it gets a
 * quarter of all slots, and next to a dozen names that hold theirs a new one still finds room.
 * Waiting items are first in, first out within their name; names take turns (round robin). The
 * controller queues reconciles and the Kubernetes client queues writes, both by namespace.
 * One thread. */
#pragma once

#include "lib/base.h"

struct fair_queue;

struct fair_queue *fair_queue_new(int max);     /* running tasks of all names together */
void fair_queue_free(struct fair_queue *queue); /* waiting items stay the caller's */

/* A task of that name starts, or has ended. */
void fair_queue_begin(struct fair_queue *queue, const char *name);
void fair_queue_end(struct fair_queue *queue, const char *name);
int fair_queue_running(const struct fair_queue *queue, const char *name); /* its running tasks */
/* True when a task of that name may start now. */
bool fair_queue_has_room(const struct fair_queue *queue, const char *name);

/* Queues an item, borrowed until it is taken. */
void fair_queue_push(struct fair_queue *queue, const char *name, void *item);
/* Removes and returns the next item whose name has room; NULL: there is none. The caller calls
 * fair_queue_begin when it starts the task. */
void *fair_queue_take(struct fair_queue *queue);
/* True when fair_queue_take would return an item. */
bool fair_queue_is_ready(const struct fair_queue *queue);
size_t fair_queue_size(const struct fair_queue *queue); /* waiting items */
