// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/publisher.h"

#include "agent/data/parts/pack.h"
#include "lib/log.h"
#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* WAITING for its commit -> DUE -> DONE; removed when taken. */
enum state { WAITING, DUE, DONE };

struct pending_part {
    struct pending_part *next;
    enum state state;
    int64_t epoch, lease;
    struct staged_output *staged; /* NULL: only in the store */
    struct part part;             /* bytes: the staged output's, or NULL */
};

struct publisher {
    struct store *output;
    void (*wake)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t changed;
    struct pending_part *first, **last; /* in the order they came */
    struct pending_part *busy;          /* taken out of the list by the thread */
    int64_t kept_bytes;
    bool ends, forgets; /* forgets: the busy one is not reported */
};

static void release(struct publisher *publisher, struct pending_part *kept) {
    publisher->kept_bytes -= kept->staged ? kept->part.size_bytes : 0;
    staged_output_free(kept->staged);
    free(kept);
}

static void append(struct publisher *publisher, struct pending_part *kept) {
    kept->next = NULL;
    *publisher->last = kept;
    publisher->last = &kept->next;
}

/* Removes the first one in that state from the list; NULL: none. */
static struct pending_part *take(struct publisher *publisher, enum state state) {
    for (struct pending_part **at = &publisher->first; *at; at = &(*at)->next) {
        struct pending_part *kept = *at;
        if (kept->state == state) {
            *at = kept->next;
            if (!kept->next) {
                publisher->last = at;
            }
            return kept;
        }
    }
    return NULL;
}

static void *run(void *context) {
    struct publisher *publisher = context;
    pthread_mutex_lock(&publisher->lock);
    while (!publisher->ends) {
        struct pending_part *kept = take(publisher, DUE);
        if (!kept) {
            pthread_cond_wait(&publisher->changed, &publisher->lock);
            continue;
        }
        struct error err = {0};
        publisher->busy = kept;
        publisher->forgets = false;
        pthread_mutex_unlock(&publisher->lock);
        int result = pack_publish(&kept->part, publisher->output, &err);
        if (result < 0) {
            log_event(LOG_WARNING, "lease %lld: cannot publish its files: %s; the coordinator will",
                      (long long)kept->lease, err.text);
        }
        pthread_mutex_lock(&publisher->lock);
        publisher->busy = NULL;
        if (result < 0 || publisher->forgets) {
            release(publisher, kept); /* the coordinator publishes it */
        } else {
            kept->state = DONE;
            append(publisher, kept);
            publisher->wake(publisher->context);
        }
        pthread_cond_broadcast(&publisher->changed);
    }
    pthread_mutex_unlock(&publisher->lock);
    return NULL;
}

int publisher_new(struct store *output, void (*wake)(void *context), void *context,
                  struct publisher **ret_publisher, struct error *err) {
    struct publisher *publisher = x_calloc(1, sizeof *publisher);
    publisher->output = output;
    publisher->wake = wake;
    publisher->context = context;
    publisher->last = &publisher->first;
    pthread_mutex_init(&publisher->lock, NULL);
    pthread_cond_init(&publisher->changed, NULL);
    if (pthread_create(&publisher->thread, NULL, run, publisher) != 0) {
        free(publisher);
        return error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
    }
    *ret_publisher = publisher;
    return 0;
}

bool publisher_free(struct publisher *publisher, int64_t timeout_ms) {
    pthread_mutex_lock(&publisher->lock);
    publisher->ends = true;
    pthread_cond_broadcast(&publisher->changed);
    pthread_mutex_unlock(&publisher->lock);
    if (!timed_wait_join(publisher->thread, clock_monotonic_ms() + timeout_ms)) {
        return false;
    }
    publisher_forget(publisher);
    pthread_cond_destroy(&publisher->changed);
    pthread_mutex_destroy(&publisher->lock);
    free(publisher);
    return true;
}

void publisher_keep(struct publisher *publisher, int64_t epoch, int64_t lease,
                    struct staged_output *staged) {
    struct pending_part *kept = x_calloc(1, sizeof *kept);
    *kept =
        (struct pending_part){.epoch = epoch, .lease = lease, .part = staged_output_part(staged)};
    pthread_mutex_lock(&publisher->lock);
    int64_t size = kept->part.size_bytes;
    /* A worker can read a text only here. */
    if (staged_output_find_place(staged) == STAGED_TEXT ||
        (kept->part.bytes && publisher->kept_bytes + size <= PUBLISHER_KEPT_MAX)) {
        kept->staged = staged;
        publisher->kept_bytes += size;
    } else {
        kept->part.bytes = NULL;
        staged_output_free(staged);
    }
    append(publisher, kept);
    pthread_mutex_unlock(&publisher->lock);
}

void publisher_publish(struct publisher *publisher, int64_t epoch, int64_t lease) {
    pthread_mutex_lock(&publisher->lock);
    for (struct pending_part *kept = publisher->first; kept; kept = kept->next) {
        if (kept->lease == lease && kept->epoch == epoch && kept->state == WAITING) {
            kept->state = DUE;
            break;
        }
    }
    pthread_cond_broadcast(&publisher->changed);
    pthread_mutex_unlock(&publisher->lock);
}

void publisher_forget(struct publisher *publisher) {
    pthread_mutex_lock(&publisher->lock);
    publisher->forgets = true;
    while (publisher->first) {
        struct pending_part *next = publisher->first->next;
        release(publisher, publisher->first);
        publisher->first = next;
    }
    publisher->last = &publisher->first;
    pthread_mutex_unlock(&publisher->lock);
}

bool publisher_take(struct publisher *publisher, int64_t *ret_epoch, int64_t *ret_lease) {
    pthread_mutex_lock(&publisher->lock);
    struct pending_part *kept = take(publisher, DONE);
    if (kept) {
        *ret_epoch = kept->epoch;
        *ret_lease = kept->lease;
        release(publisher, kept);
    }
    pthread_mutex_unlock(&publisher->lock);
    return kept != NULL;
}
