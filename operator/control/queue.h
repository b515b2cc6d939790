/* queue.h: a work queue with delays, like client-go's workqueue. It holds keys of resources to
 * reconcile (resource_key.h), each at most once and with the time when it is due. Keys that failed
 * are retried with a growing delay. The caller passes the time, in milliseconds of any monotonic
 * clock. Used by one thread. */
#pragma once

#include "lib/base.h"

struct queue;

struct queue *queue_new(void);
void queue_free(struct queue *queue); /* NULL is allowed */

/* Adds the key, due at due_ms. A key that is already in the queue is due at the earlier time. */
void queue_add(struct queue *queue, const char *key, int64_t due_ms);
/* Counts a failure of the key and adds it with a delay, which is returned. The delay is 50 ms after
 * the first failure and doubles with each further one, up to 60 s. jitter, a random number from 0
 * to 1000, makes it up to 50 % shorter or longer, so that keys that failed together are not retried
 * together. */
int64_t queue_add_failed(struct queue *queue, const char *key, int64_t now_ms, int jitter);
enum { QUEUE_JITTER_EVEN = 500 }; /* leaves the delay as it is */
/* Sets the key's failures to zero; a key in the queue stays there. Call it when the key succeeded
 * or its object was deleted. */
void queue_forget(struct queue *queue, const char *key);
/* Failures since the last queue_forget. */
int queue_failures(const struct queue *queue, const char *key);

/* Removes and returns the key that has been due longest; NULL when no key is due. The caller frees
 * it. */
char *queue_take(struct queue *queue, int64_t now_ms);
/* When the next key is due; INT64_MAX when the queue is empty. */
int64_t queue_next_ms(struct queue *queue);
/* About how many keys are due, for a metric: a key that was moved to an earlier time may count
 * twice. */
size_t queue_due(const struct queue *queue, int64_t now_ms);
