// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger.h"

#include "agent/score/stretch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATE_MAX = 1024 /* leases taken away whose results are still welcome */ };

enum batch_state { BATCH_WAITING, BATCH_LEASED, BATCH_DONE, BATCH_FAILED };

struct batch {
    int32_t holder; /* the worker that leases it, or -1 */
    uint16_t tries; /* that ended in an error or a time-out */
    uint8_t losses;
    uint8_t state;
};
static_assert(sizeof(struct batch) == 8, "a million mini-batches take 8 MB");

struct held {
    int64_t lease, batch;
};

/* Lists of workers, by index, so that no event has to look at all of them. */
enum list { LIST_IDLE, LIST_HALF, LIST_RUNNING, LIST_COUNT };
enum { LINK_ROOM, LINK_RUNNING, LINK_COUNT }; /* idle and half exclude each other */

struct worker {
    struct ledger_worker public;
    char *name;
    struct held held[LEDGER_LEASES];
    int held_count;
    int64_t started_ms;   /* when held[0] became the head */
    int64_t stuck_lease;  /* expired; no more work until it is mentioned; -1: none */
    int list[LINK_COUNT]; /* the list the link belongs to, or -1 */
    int previous[LINK_COUNT], next[LINK_COUNT];
};

struct late {
    int64_t lease, batch;
    int worker; /* -1: empty */
};

struct ledger {
    struct ledger_options options;
    struct ledger_counts counts;
    struct batch *batches;
    struct stretches *fresh; /* those that were never leased */
    int64_t *returned;       /* min-heap: given back; may hold some that ended meanwhile */
    size_t returned_count, returned_capacity;
    struct worker *workers;
    size_t worker_count, worker_capacity;
    int first[LIST_COUNT], last[LIST_COUNT];
    int64_t next_lease;
    struct late late[LATE_MAX];
    size_t late_next;
    struct ledger_lease *taken; /* to be told */
    size_t taken_count, taken_capacity;
    struct ledger_failure *failures;
    size_t failure_count;
};

int ledger_new(const struct ledger_options *options, struct ledger **ret_ledger,
               struct error *err) {
    assert(options->items >= 1 && options->batch_items >= 1 && options->max_tries >= 1 &&
           options->max_tries <= UINT16_MAX);
    int64_t total = (options->items - 1) / options->batch_items + 1;
    if (total > LEDGER_BATCHES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec.miniBatchSize: %lld items make %lld mini-batches, at most %d are "
                         "possible",
                         (long long)options->items, (long long)total, LEDGER_BATCHES_MAX);
    }
    struct ledger *ledger = x_calloc(1, sizeof *ledger);
    ledger->options = *options;
    ledger->counts.batches.total = total;
    ledger->counts.items.total = options->items;
    ledger->batches = x_calloc((size_t)total, sizeof *ledger->batches);
    ledger->fresh = stretches_new(total);
    ledger->next_lease = options->first_lease;
    for (size_t i = 0; i < LATE_MAX; i++) {
        ledger->late[i].worker = -1;
    }
    for (int list = 0; list < LIST_COUNT; list++) {
        ledger->first[list] = ledger->last[list] = -1;
    }
    *ret_ledger = ledger;
    return 0;
}

void ledger_free(struct ledger *ledger) {
    if (!ledger) {
        return;
    }
    for (size_t i = 0; i < ledger->worker_count; i++) {
        free(ledger->workers[i].name);
    }
    free(ledger->workers);
    free(ledger->batches);
    stretches_free(ledger->fresh);
    free(ledger->returned);
    free(ledger->taken);
    free(ledger->failures);
    free(ledger);
}

/* Makes room for one more in an array that doubles. */
static void *grow(void *array, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) {
        return array;
    }
    *capacity = MAX(2 * *capacity, 64);
    return x_realloc_array(array, *capacity, size);
}

static void heap_push(struct ledger *ledger, int64_t batch) {
    ledger->returned = grow(ledger->returned, ledger->returned_count, &ledger->returned_capacity,
                            sizeof *ledger->returned);
    size_t at = ledger->returned_count++;
    while (at > 0 && ledger->returned[(at - 1) / 2] > batch) {
        ledger->returned[at] = ledger->returned[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    ledger->returned[at] = batch;
}

static int64_t heap_pop(struct ledger *ledger) {
    int64_t *heap = ledger->returned, smallest = heap[0];
    int64_t moved = heap[--ledger->returned_count];
    size_t at = 0, count = ledger->returned_count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= moved) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return smallest;
}

static void list_remove(struct ledger *ledger, int index, int link) {
    struct worker *worker = &ledger->workers[index];
    int list = worker->list[link];
    if (list < 0) {
        return;
    }
    int previous = worker->previous[link], next = worker->next[link];
    *(previous < 0 ? &ledger->first[list] : &ledger->workers[previous].next[link]) = next;
    *(next < 0 ? &ledger->last[list] : &ledger->workers[next].previous[link]) = previous;
    worker->list[link] = -1;
}

static void list_append(struct ledger *ledger, int index, int link, int list) {
    struct worker *worker = &ledger->workers[index];
    worker->list[link] = list;
    worker->previous[link] = ledger->last[list];
    worker->next[link] = -1;
    *(ledger->last[list] < 0 ? &ledger->first[list]
                             : &ledger->workers[ledger->last[list]].next[link]) = index;
    ledger->last[list] = index;
}

/* Puts a worker into the list of those that have room for a lease, or into none. */
static void place(struct ledger *ledger, int index) {
    const struct worker *worker = &ledger->workers[index];
    int list = !worker->public.present || worker->stuck_lease >= 0 ? -1
               : worker->held_count == 0                           ? LIST_IDLE
               : worker->held_count < LEDGER_LEASES                ? LIST_HALF
                                                                   : -1;
    if (worker->list[LINK_ROOM] != list) {
        list_remove(ledger, index, LINK_ROOM);
        if (list >= 0) {
            list_append(ledger, index, LINK_ROOM, list);
        }
    }
}

/* The head has changed: its clock starts, and running workers stay sorted by start. */
static void start_clock(struct ledger *ledger, int index, int64_t now_ms) {
    list_remove(ledger, index, LINK_RUNNING);
    if (ledger->workers[index].held_count) {
        ledger->workers[index].started_ms = now_ms;
        list_append(ledger, index, LINK_RUNNING, LIST_RUNNING);
    }
}

/* Takes held[at] out of a worker's leases. The batch's state is the caller's business. */
static struct held drop_held(struct ledger *ledger, int index, int at, int64_t now_ms) {
    struct worker *worker = &ledger->workers[index];
    struct held held = worker->held[at];
    if (at == 0) {
        worker->held[0] = worker->held[1];
    }
    worker->held_count--;
    if (at == 0) {
        start_clock(ledger, index, now_ms);
    }
    place(ledger, index);
    ledger->batches[held.batch].holder = -1;
    ledger->counts.leased--;
    return held;
}

static void remember_late(struct ledger *ledger, struct held held, int worker) {
    ledger->late[ledger->late_next] = (struct late){held.lease, held.batch, worker};
    ledger->late_next = (ledger->late_next + 1) % LATE_MAX;
}

static void tell_taken(struct ledger *ledger, struct held held, int worker) {
    ledger->taken =
        grow(ledger->taken, ledger->taken_count, &ledger->taken_capacity, sizeof *ledger->taken);
    ledger->taken[ledger->taken_count++] =
        (struct ledger_lease){.worker = worker, .lease = held.lease, .batch = held.batch};
}

static void put_back(struct ledger *ledger, int64_t batch) {
    ledger->batches[batch].state = BATCH_WAITING;
    heap_push(ledger, batch);
}

/* A try ended badly (`often` says: once too often). */
static enum ledger_verdict end_try(struct ledger *ledger, int64_t batch, int worker, bool often,
                                   const char *cause) {
    int64_t items = ledger_batch_items(ledger, batch);
    if (!often) {
        ledger->counts.batches.retried++;
        ledger->counts.items.retried += items;
        put_back(ledger, batch);
        return LEDGER_RETRY;
    }
    ledger->batches[batch].state = BATCH_FAILED;
    ledger->counts.batches.failed++;
    ledger->counts.items.failed += items;
    if (ledger->failure_count < LEDGER_FAILURES_MAX) {
        if (!ledger->failures) {
            ledger->failures = x_calloc(LEDGER_FAILURES_MAX, sizeof *ledger->failures);
        }
        struct ledger_failure *failure = &ledger->failures[ledger->failure_count++];
        *failure = (struct ledger_failure){
            .batch = batch, .tries = ledger->batches[batch].tries, .worker = worker};
        snprintf(failure->cause, sizeof failure->cause, "%s", cause);
    }
    return LEDGER_FAILED;
}

static enum ledger_verdict count_try(struct ledger *ledger, int64_t batch, int worker,
                                     const char *cause) {
    int tries = ++ledger->batches[batch].tries;
    return end_try(ledger, batch, worker, tries >= ledger->options.max_tries, cause);
}

int ledger_join(struct ledger *ledger, const char *name, int *ret_worker, struct error *err) {
    for (size_t i = 0; i < ledger->worker_count; i++) {
        if (strcmp(ledger->workers[i].name, name) == 0) {
            if (ledger->workers[i].public.present) {
                return error_set(err, ERROR_CONFLICT, "a worker named %s is here already", name);
            }
            ledger->workers[i].public.present = true;
            ledger->counts.workers++;
            place(ledger, (int)i);
            *ret_worker = (int)i;
            return 0;
        }
    }
    if (ledger->worker_count == LEDGER_WORKERS_MAX) {
        return error_set(err, ERROR_EXHAUSTED, "more than %d workers", LEDGER_WORKERS_MAX);
    }
    ledger->workers = grow(ledger->workers, ledger->worker_count, &ledger->worker_capacity,
                           sizeof *ledger->workers);
    int index = (int)ledger->worker_count++;
    ledger->workers[index] = (struct worker){
        .public = {.present = true}, .name = x_strdup(name), .stuck_lease = -1, .list = {-1, -1}};
    ledger->counts.workers++;
    place(ledger, index);
    *ret_worker = index;
    return 0;
}

void ledger_leave(struct ledger *ledger, int index) {
    struct worker *worker = &ledger->workers[index];
    assert(worker->public.present);
    worker->public.present = false;
    worker->stuck_lease = -1;
    ledger->counts.workers--;
    for (bool head = true; worker->held_count; head = false) {
        struct held held = drop_held(ledger, index, 0, worker->started_ms);
        if (head) {
            struct batch *batch = &ledger->batches[held.batch];
            worker->public.losses++;
            batch->losses++;
            remember_late(ledger, held, index);
            end_try(ledger, held.batch, index, batch->losses >= LEDGER_LOSSES_MAX,
                    "its worker was lost again and again");
        } else {
            put_back(ledger, held.batch);
        }
    }
    place(ledger, index);
}

static int64_t waiting(const struct ledger *ledger) {
    const struct ledger_count *count = &ledger->counts.batches;
    return count->total - count->done - count->failed - ledger->counts.leased;
}

static int64_t next_waiting(struct ledger *ledger, int worker) {
    while (ledger->returned_count) {
        int64_t batch = heap_pop(ledger);
        if (ledger->batches[batch].state == BATCH_WAITING) {
            return batch;
        }
    }
    int64_t batch = stretches_next(ledger->fresh, worker, ledger->counts.workers);
    assert(batch >= 0);
    return batch;
}

bool ledger_grant(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease) {
    int64_t left = waiting(ledger);
    int index = left <= 0                        ? -1
                : ledger->first[LIST_IDLE] >= 0  ? ledger->first[LIST_IDLE]
                : left >= ledger->counts.workers ? ledger->first[LIST_HALF]
                                                 : -1;
    if (index < 0) {
        return false;
    }
    struct worker *worker = &ledger->workers[index];
    int64_t batch = next_waiting(ledger, index);
    *ret_lease = (struct ledger_lease){.worker = index,
                                       .lease = ledger->next_lease++,
                                       .batch = batch,
                                       .try = ledger->batches[batch].tries + 1};
    ledger->batches[batch].state = BATCH_LEASED;
    ledger->batches[batch].holder = index;
    ledger->counts.leased++;
    worker->held[worker->held_count++] = (struct held){ret_lease->lease, batch};
    if (worker->held_count == 1) {
        start_clock(ledger, index, now_ms);
    }
    place(ledger, index);
    return true;
}

bool ledger_take(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease,
                 enum ledger_verdict *ret_verdict) {
    if (ledger->taken_count) {
        *ret_lease = ledger->taken[--ledger->taken_count];
        *ret_verdict = LEDGER_IGNORED;
        return true;
    }
    int64_t deadline_ms = ledger_deadline_ms(ledger);
    if (deadline_ms < 0 || now_ms < deadline_ms) {
        return false;
    }
    int index = ledger->first[LIST_RUNNING];
    struct worker *worker = &ledger->workers[index];
    struct held held = drop_held(ledger, index, 0, now_ms);
    worker->stuck_lease = held.lease;
    worker->public.timeouts++;
    remember_late(ledger, held, index);
    if (worker->held_count) {
        struct held ahead = drop_held(ledger, index, 0, now_ms);
        tell_taken(ledger, ahead, index);
        put_back(ledger, ahead.batch);
    }
    place(ledger, index);
    *ret_lease = (struct ledger_lease){.worker = index,
                                       .lease = held.lease,
                                       .batch = held.batch,
                                       .try = ledger->batches[held.batch].tries + 1};
    char cause[64];
    snprintf(cause, sizeof cause, "no result within %g s",
             (double)ledger->options.timeout_ms / 1000);
    *ret_verdict = count_try(ledger, held.batch, index, cause);
    return true;
}

int64_t ledger_deadline_ms(const struct ledger *ledger) {
    int index = ledger->first[LIST_RUNNING];
    return index < 0 ? -1 : ledger->workers[index].started_ms + ledger->options.timeout_ms;
}

static int find_held(const struct worker *worker, int64_t lease) {
    for (int i = 0; i < worker->held_count; i++) {
        if (worker->held[i].lease == lease) {
            return i;
        }
    }
    return -1;
}

/* The batch of a lease that was taken away, if it has not ended; forgets the lease. Else -1. */
static int64_t take_late(struct ledger *ledger, const struct ledger_lease *lease) {
    for (size_t i = 0; i < LATE_MAX; i++) {
        struct late *late = &ledger->late[i];
        if (late->worker == lease->worker && late->lease == lease->lease) {
            late->worker = -1;
            int state = ledger->batches[late->batch].state;
            return state == BATCH_WAITING || state == BATCH_LEASED ? late->batch : -1;
        }
    }
    return -1;
}

static void no_longer_stuck(struct ledger *ledger, const struct ledger_lease *lease) {
    struct worker *worker = &ledger->workers[lease->worker];
    if (worker->stuck_lease == lease->lease) {
        worker->stuck_lease = -1;
        place(ledger, lease->worker);
    }
}

static void complete(struct ledger *ledger, int64_t batch, int worker) {
    int64_t items = ledger_batch_items(ledger, batch);
    ledger->batches[batch].state = BATCH_DONE;
    ledger->counts.batches.done++;
    ledger->counts.items.done += items;
    ledger->workers[worker].public.batches++;
    ledger->workers[worker].public.items += items;
}

/* Somebody else finished the batch: its present holder need not. */
static void supersede(struct ledger *ledger, int64_t batch, int64_t now_ms) {
    int holder = ledger->batches[batch].holder;
    if (holder < 0) {
        return;
    }
    const struct worker *worker = &ledger->workers[holder];
    int at = worker->held[0].batch == batch ? 0 : 1;
    tell_taken(ledger, drop_held(ledger, holder, at, now_ms), holder);
}

enum ledger_verdict ledger_finish(struct ledger *ledger, const struct ledger_lease *lease,
                                  int64_t items, int64_t now_ms, int64_t *ret_batch) {
    no_longer_stuck(ledger, lease);
    int at = find_held(&ledger->workers[lease->worker], lease->lease);
    int64_t batch =
        at >= 0 ? ledger->workers[lease->worker].held[at].batch : take_late(ledger, lease);
    if (batch < 0) {
        return LEDGER_IGNORED;
    }
    if (items != ledger_batch_items(ledger, batch)) {
        char cause[128];
        snprintf(cause, sizeof cause, "its worker made %lld results of %lld items",
                 (long long)items, (long long)ledger_batch_items(ledger, batch));
        return ledger_fail(ledger, lease, cause, now_ms, ret_batch);
    }
    if (at >= 0) {
        drop_held(ledger, lease->worker, at, now_ms);
    } else {
        supersede(ledger, batch, now_ms);
    }
    complete(ledger, batch, lease->worker);
    if (ret_batch) {
        *ret_batch = batch;
    }
    return at >= 0 ? LEDGER_DONE : LEDGER_LATE;
}

enum ledger_verdict ledger_fail(struct ledger *ledger, const struct ledger_lease *lease,
                                const char *cause, int64_t now_ms, int64_t *ret_batch) {
    no_longer_stuck(ledger, lease);
    int at = find_held(&ledger->workers[lease->worker], lease->lease);
    if (at < 0) {
        return LEDGER_IGNORED; /* it counted when it was taken away */
    }
    int64_t batch = drop_held(ledger, lease->worker, at, now_ms).batch;
    ledger->workers[lease->worker].public.errors++;
    if (ret_batch) {
        *ret_batch = batch;
    }
    return count_try(ledger, batch, lease->worker, cause);
}

bool ledger_is_done(const struct ledger *ledger) {
    const struct ledger_count *count = &ledger->counts.batches;
    return count->done + count->failed == count->total;
}

int64_t ledger_batch_items(const struct ledger *ledger, int64_t batch) {
    int64_t first = batch * ledger->options.batch_items;
    return MIN(ledger->options.batch_items, ledger->options.items - first);
}

const struct ledger_counts *ledger_counts(const struct ledger *ledger) {
    return &ledger->counts;
}

size_t ledger_worker_count(const struct ledger *ledger) {
    return ledger->worker_count;
}

struct ledger_worker ledger_worker(const struct ledger *ledger, int index) {
    struct ledger_worker worker = ledger->workers[index].public;
    worker.name = ledger->workers[index].name;
    return worker;
}

const struct ledger_failure *ledger_failures(const struct ledger *ledger, size_t *ret_count) {
    *ret_count = ledger->failure_count;
    return ledger->failures;
}
