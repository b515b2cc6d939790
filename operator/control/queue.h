/* queue.h: what the controller has to look at next: keys, each at most once, each with the time it
 * is due, and a growing delay for keys that failed. The time is an argument (milliseconds of any
 * clock that only goes forward). Used by one thread. */
#pragma once

#include "lib/base.h"

struct queue;

struct queue *queue_new(void);
void queue_free(struct queue *queue);

/* Due at due_ms, or earlier when it was already due earlier. */
void queue_add(struct queue *queue, const char *key, int64_t due_ms);
/* Due again after a delay that doubles with every failure since queue_forget: 50 ms to 60 s.
 * jitter, a random number of 0 to 1000, makes it up to a half shorter or longer, so that what
 * failed together does not come back together. Returns the delay. */
int64_t queue_add_failed(struct queue *queue, const char *key, int64_t now_ms, int jitter);
enum { QUEUE_JITTER_EVEN = 500 }; /* the jitter that changes nothing */
/* The key succeeded (its failures count from zero again) or is gone for good. */
void queue_forget(struct queue *queue, const char *key);
/* Failures in a row. */
int queue_failures(const struct queue *queue, const char *key);

/* Takes out the key that has been due longest; NULL when none is due. The caller frees. */
char *queue_take(struct queue *queue, int64_t now_ms);
/* When the next key is due; INT64_MAX when the queue is empty. */
int64_t queue_next_ms(struct queue *queue);
/* How many keys are due, for a gauge: a key that was moved to an earlier time may count twice. */
size_t queue_due(const struct queue *queue, int64_t now_ms);
