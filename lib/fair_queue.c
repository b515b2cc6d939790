// SPDX-License-Identifier: Apache-2.0
#include "lib/fair_queue.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_PER_HELD = 3 }; /* permits that must be free for each that a name holds */

struct item {
    struct item *next;
    void *what;
};

struct share {
    char *name;
    int running;
    struct item *first, **last;
    struct share *next, *previous; /* in the ring of names with items */
};

struct fair_queue {
    int max, running;
    void *by_name;      /* tsearch tree */
    struct share *turn; /* the ring's next; NULL: nothing waits */
    size_t waiting;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct share *)a)->name, ((const struct share *)b)->name);
}

static struct share *find(const struct fair_queue *queue, const char *name) {
    const struct share like = {.name = (char *)name};
    void *found = tfind(&like, &queue->by_name, by_name);
    return found ? *(struct share **)found : NULL;
}

static struct share *find_or_make(struct fair_queue *queue, const char *name) {
    struct share *share = find(queue, name);
    if (!share) {
        share = x_calloc(1, sizeof *share);
        share->name = x_strdup(name);
        share->last = &share->first;
        tsearch(share, &queue->by_name, by_name);
    }
    return share;
}

static void share_free(void *opaque) {
    struct share *share = opaque;
    for (struct item *next, *item = share->first; item; item = next) {
        next = item->next;
        free(item);
    }
    free(share->name);
    free(share);
}

static void drop_if_idle(struct fair_queue *queue, struct share *share) {
    if (!share->first && share->running == 0) {
        tdelete(share, &queue->by_name, by_name);
        share_free(share);
    }
}

struct fair_queue *fair_queue_new(int max) {
    struct fair_queue *queue = x_calloc(1, sizeof *queue);
    queue->max = max;
    return queue;
}

void fair_queue_free(struct fair_queue *queue) {
    if (queue) {
        tdestroy(queue->by_name, share_free);
        free(queue);
    }
}

void fair_queue_begin(struct fair_queue *queue, const char *name) {
    find_or_make(queue, name)->running++;
    queue->running++;
}

void fair_queue_end(struct fair_queue *queue, const char *name) {
    struct share *share = find(queue, name);
    assert(share && share->running > 0);
    share->running--;
    queue->running--;
    drop_if_idle(queue, share);
}

static bool has_room(const struct fair_queue *queue, const struct share *share) {
    int running = share ? share->running : 0;
    return FREE_PER_HELD * running < queue->max - queue->running;
}

int fair_queue_running(const struct fair_queue *queue, const char *name) {
    const struct share *share = find(queue, name);
    return share ? share->running : 0;
}

bool fair_queue_has_room(const struct fair_queue *queue, const char *name) {
    return has_room(queue, find(queue, name));
}

void fair_queue_push(struct fair_queue *queue, const char *name, void *what) {
    struct share *share = find_or_make(queue, name);
    struct item *item = x_calloc(1, sizeof *item);
    item->what = what;
    if (!share->first) { /* the last in the ring is the one before the next */
        struct share *turn = queue->turn ? queue->turn : share;
        share->next = turn;
        share->previous = queue->turn ? turn->previous : share;
        share->previous->next = share;
        turn->previous = share;
        queue->turn = turn;
    }
    *share->last = item;
    share->last = &item->next;
    queue->waiting++;
}

static struct share *find_ready(const struct fair_queue *queue) {
    struct share *share = queue->turn;
    if (!share || queue->running >= queue->max) {
        return NULL;
    }
    do {
        if (has_room(queue, share)) {
            return share;
        }
        share = share->next;
    } while (share != queue->turn);
    return NULL;
}

void *fair_queue_take(struct fair_queue *queue) {
    struct share *share = find_ready(queue);
    if (!share) {
        return NULL;
    }
    struct item *item = share->first;
    void *what = item->what;
    queue->turn = share->next;
    queue->waiting--;
    share->first = item->next;
    free(item);
    if (!share->first) {
        share->last = &share->first;
        queue->turn = share->next == share ? NULL : share->next;
        share->previous->next = share->next;
        share->next->previous = share->previous;
        drop_if_idle(queue, share);
    }
    return what;
}

bool fair_queue_is_ready(const struct fair_queue *queue) {
    return find_ready(queue) != NULL;
}

size_t fair_queue_size(const struct fair_queue *queue) {
    return queue->waiting;
}
