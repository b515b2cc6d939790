// SPDX-License-Identifier: Apache-2.0
#include "operator/control/queue.h"

#include <jansson.h>
#include <stdlib.h>

enum { DELAY_FIRST_MS = 50, DELAY_MAX_MS = 60000 };

struct entry {
    char *key;
    int64_t due_ms;
    uint64_t order; /* equal times are taken in insertion order */
};

/* A binary heap by (due_ms, order). A key that was moved to an earlier time leaves its old entry in
 * the heap. `due` has the valid entry of each key; other entries are dropped when they reach the
 * top. */
struct queue {
    struct entry *heap;
    size_t count, capacity;
    uint64_t next_order;
    json_t *due;      /* key -> order of its valid entry */
    json_t *times;    /* key -> due_ms of that entry */
    json_t *failures; /* key -> failures in a row */
};

struct queue *queue_new(void) {
    struct queue *queue = x_calloc(1, sizeof *queue);
    queue->due = json_object();
    queue->times = json_object();
    queue->failures = json_object();
    return queue;
}

void queue_free(struct queue *queue) {
    if (!queue) {
        return;
    }
    for (size_t i = 0; i < queue->count; i++) {
        free(queue->heap[i].key);
    }
    free(queue->heap);
    json_decref(queue->due);
    json_decref(queue->times);
    json_decref(queue->failures);
    free(queue);
}

static bool comes_before(const struct entry *a, const struct entry *b) {
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void swap(struct entry *a, struct entry *b) {
    struct entry held = *a;
    *a = *b;
    *b = held;
}

static void heap_push(struct queue *queue, struct entry entry) {
    if (queue->count == queue->capacity) {
        queue->capacity = MAX(16, queue->capacity * 2);
        queue->heap = x_realloc_array(queue->heap, queue->capacity, sizeof *queue->heap);
    }
    size_t at = queue->count++;
    queue->heap[at] = entry;
    while (at > 0 && comes_before(&queue->heap[at], &queue->heap[(at - 1) / 2])) {
        swap(&queue->heap[at], &queue->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static struct entry heap_pop(struct queue *queue) {
    struct entry top = queue->heap[0];
    queue->heap[0] = queue->heap[--queue->count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < queue->count; child++) {
            least = comes_before(&queue->heap[child], &queue->heap[least]) ? child : least;
        }
        if (least == at) {
            return top;
        }
        swap(&queue->heap[at], &queue->heap[least]);
        at = least;
    }
}

void queue_add(struct queue *queue, const char *key, int64_t due_ms) {
    const json_t *old = json_object_get(queue->times, key);
    if (old && json_integer_value(old) <= due_ms) {
        return;
    }
    struct entry entry = {.key = x_strdup(key), .due_ms = due_ms, .order = queue->next_order++};
    heap_push(queue, entry);
    json_object_set_new(queue->due, key, json_integer((json_int_t)entry.order));
    json_object_set_new(queue->times, key, json_integer(due_ms));
}

int queue_failures(const struct queue *queue, const char *key) {
    return (int)json_integer_value(json_object_get(queue->failures, key));
}

int64_t queue_add_failed(struct queue *queue, const char *key, int64_t now_ms, int jitter) {
    int failures = queue_failures(queue, key);
    int64_t delay_ms = MIN((int64_t)DELAY_FIRST_MS << MIN(failures, 20), (int64_t)DELAY_MAX_MS);
    delay_ms = delay_ms * (QUEUE_JITTER_EVEN + jitter) / (2 * QUEUE_JITTER_EVEN);
    json_object_set_new(queue->failures, key, json_integer(failures + 1));
    queue_add(queue, key, now_ms + delay_ms);
    return delay_ms;
}

void queue_forget(struct queue *queue, const char *key) {
    json_object_del(queue->failures, key);
}

/* Drops invalid entries until the top of the heap is valid. */
static void drop_invalid(struct queue *queue) {
    while (queue->count) {
        const json_t *order = json_object_get(queue->due, queue->heap[0].key);
        if (order && (uint64_t)json_integer_value(order) == queue->heap[0].order) {
            return;
        }
        free(heap_pop(queue).key);
    }
}

int64_t queue_next_ms(struct queue *queue) {
    drop_invalid(queue);
    return queue->count ? queue->heap[0].due_ms : INT64_MAX;
}

char *queue_take(struct queue *queue, int64_t now_ms) {
    if (queue_next_ms(queue) > now_ms) {
        return NULL;
    }
    char *key = heap_pop(queue).key;
    json_object_del(queue->due, key);
    json_object_del(queue->times, key);
    return key;
}

/* In a heap, the entries below an entry are never due earlier. */
static size_t count_due(const struct queue *queue, size_t at, int64_t now_ms) {
    if (at >= queue->count || queue->heap[at].due_ms > now_ms) {
        return 0;
    }
    return 1 + count_due(queue, 2 * at + 1, now_ms) + count_due(queue, 2 * at + 2, now_ms);
}

size_t queue_due(const struct queue *queue, int64_t now_ms) {
    return count_due(queue, 0, now_ms);
}
