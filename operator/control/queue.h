/* queue.h: the controller's work queue: keys, each at most once, each with the time it is due, and
 * a growing delay for keys that failed. The time is an argument (milliseconds of any monotonic
 * clock). Used by one thread. */
#pragma once

#include "lib/base.h"

struct queue;

struct queue *queue_new(void);
void queue_free(struct queue *queue);

/* The key is due at due_ms, or earlier when it was already due earlier. */
void queue_add(struct queue *queue, const char *key, int64_t due_ms);
/* The key is due again after a delay that doubles with every failure since queue_forget: 50 ms to
 * 60 s. jitter, a random number of 0 to 1000, makes it up to a half shorter or longer, so that keys
 * that failed together are not retried together. Returns the delay. */
int64_t queue_add_failed(struct queue *queue, const char *key, int64_t now_ms, int jitter);
enum { QUEUE_JITTER_EVEN = 500 }; /* the jitter that does not change the delay */
/* Call when the key succeeded (its failures count from zero again) or its object was deleted. */
void queue_forget(struct queue *queue, const char *key);
/* Failures in a row. */
int queue_failures(const struct queue *queue, const char *key);

/* Removes and returns the key that has been due longest; NULL when no key is due. The caller frees
 * it. */
char *queue_take(struct queue *queue, int64_t now_ms);
/* When the next key is due; INT64_MAX when the queue is empty. */
int64_t queue_next_ms(struct queue *queue);
/* Number of keys that are due, for a gauge: a key that was moved to an earlier time may count
 * twice. */
size_t queue_due(const struct queue *queue, int64_t now_ms);
