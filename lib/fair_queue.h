/* fair_queue.h: a fair queue of items, each of which belongs to a name, with a limit on the tasks
 * that run at the same time. The controller has one for reconciles, and operator/kube/ has one for
 * writes; their names are namespaces.
 *
 * An item waits in the queue; the task is the caller's work on an item that it has taken. There are
 * `max` permits, and each running task holds one. A name may start a task while the permits that it
 * holds are fewer than a third of the free permits. So one name alone gets at most a quarter of all
 * permits, rounded up, and each further name about a quarter of the rest: if max is large, a name
 * that comes later still finds free permits. Items of one name are first in, first out;
 * names take turns (round robin). Not thread-safe. */
#pragma once

#include "lib/base.h"

struct fair_queue;

struct fair_queue *fair_queue_new(int max);     /* permits */
void fair_queue_free(struct fair_queue *queue); /* waiting items stay the caller's; accepts NULL */

/* A task of that name starts and takes a permit, or has ended and frees it. */
void fair_queue_begin(struct fair_queue *queue, const char *name);
void fair_queue_end(struct fair_queue *queue, const char *name);
int fair_queue_running(const struct fair_queue *queue, const char *name); /* its running tasks */
/* True if a task of that name may start now. */
bool fair_queue_has_room(const struct fair_queue *queue, const char *name);

/* Queues an item (a pointer, the caller's) under a name, which is copied. */
void fair_queue_push(struct fair_queue *queue, const char *name, void *item);
/* Removes and returns the next item whose name may start a task; NULL: there is none. The caller
 * calls fair_queue_begin when it starts the task. */
void *fair_queue_take(struct fair_queue *queue);
/* True when fair_queue_take would return an item. */
bool fair_queue_is_ready(const struct fair_queue *queue);
size_t fair_queue_size(const struct fair_queue *queue); /* waiting items */
