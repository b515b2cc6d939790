// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/threads.h"

#include "lib/cgroup.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_PER_THREAD = 4, SPINS = 4000, CACHE_LINE = 64 };

/* The present job in one number: its sequence number, whether threads may still join it, and how
 * many of the pool's threads work on it. */
enum { JOINED = 0xffff, CLOSED = 1 << 16, JOB_SHIFT = 17 };

/* Fields that change while other threads read their neighbours have separate cache lines. The lock
 * is only for threads that sleep or are about to. */
struct threads {
    int count;   /* including the caller */
    int started; /* threads of the pool that exist */
    bool spins;  /* every thread has a processor, so spinning takes none from other threads */
    /* The job; written while it is closed and no thread works on it. */
    threads_each_body *body;
    void *context;
    _Alignas(CACHE_LINE) atomic_uint_fast64_t state;
    _Alignas(CACHE_LINE) pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int sleepers;       /* threads that wait for `wake`, or are about to */
    atomic_bool caller_sleeps; /* for `done` */
    atomic_bool stop;
    struct member {
        struct threads *threads;
        int index;
        pthread_t handle;
    } members[THREADS_MAX];
};

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* A network is hundreds of jobs, microseconds apart, and waking a thread takes longer than that. So
 * threads spin for about 50 microseconds before they sleep. A thread announces that it sleeps
 * before its last check, and a thread that changes something looks for sleepers afterwards, so one
 * of the two always sees the other. */
static void await_job(struct threads *threads, uint64_t seen) {
    for (int i = 0; threads->spins && i < SPINS; i++) {
        if (atomic_load(&threads->state) >> JOB_SHIFT != seen) {
            return;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&threads->lock);
    atomic_fetch_add(&threads->sleepers, 1);
    while (atomic_load(&threads->state) >> JOB_SHIFT == seen && !atomic_load(&threads->stop)) {
        pthread_cond_wait(&threads->wake, &threads->lock);
    }
    atomic_fetch_sub(&threads->sleepers, 1);
    pthread_mutex_unlock(&threads->lock);
}

static void await_end(struct threads *threads) {
    for (int i = 0; threads->spins && i < SPINS; i++) {
        if ((atomic_load(&threads->state) & JOINED) == 0) {
            return;
        }
        pause_briefly();
    }
    pthread_mutex_lock(&threads->lock);
    atomic_store(&threads->caller_sleeps, true);
    while ((atomic_load(&threads->state) & JOINED) > 0) {
        pthread_cond_wait(&threads->done, &threads->lock);
    }
    atomic_store(&threads->caller_sleeps, false);
    pthread_mutex_unlock(&threads->lock);
}

// Joins the present job; false if it is closed.
static bool join_job(struct threads *threads, uint64_t *ret_job) {
    uint_fast64_t state = atomic_load(&threads->state);
    while (!(state & CLOSED)) {
        if (atomic_compare_exchange_weak(&threads->state, &state, state + 1)) {
            break;
        }
    }
    *ret_job = state >> JOB_SHIFT;
    return !(state & CLOSED);
}

static void leave_job(struct threads *threads) {
    uint_fast64_t before = atomic_fetch_sub(&threads->state, 1);
    if ((before & JOINED) == 1 && atomic_load(&threads->caller_sleeps)) {
        pthread_mutex_lock(&threads->lock);
        pthread_cond_signal(&threads->done);
        pthread_mutex_unlock(&threads->lock);
    }
}

static void *thread_main(void *context) {
    const struct member *member = context;
    struct threads *threads = member->threads;
    uint64_t seen = 0;
    while (!atomic_load(&threads->stop)) {
        await_job(threads, seen);
        if (join_job(threads, &seen)) {
            threads->body(threads->context, member->index);
            leave_job(threads);
        }
    }
    return NULL;
}

static int choose_count(int count, int *ret_count, struct error *err) {
    const char *text = getenv("WINDLASS_THREADS");
    if (count == 0 && text && *text) {
        char *end;
        long value = strtol(text, &end, 10);
        if (*end || value < 1 || value > THREADS_MAX) {
            return error_set(err, ERROR_INVALID,
                             "WINDLASS_THREADS is \"%s\", a number from 1 to %d is expected", text,
                             THREADS_MAX);
        }
        count = (int)value;
    }
    if (count < 0 || count > THREADS_MAX) {
        return error_set(err, ERROR_INVALID, "%d threads: expected 0 to %d", count, THREADS_MAX);
    }
    *ret_count = count ? count : MIN(cgroup_usable_processors(NULL), THREADS_MAX);
    return 0;
}

int threads_new(int count, struct threads **ret_threads, struct error *err) {
    if (choose_count(count, &count, err) < 0) {
        return -1;
    }
    struct threads *threads = aligned_alloc(CACHE_LINE, sizeof *threads);
    if (!threads) {
        abort();
    }
    memset(threads, 0, sizeof *threads);
    atomic_store(&threads->state, CLOSED);
    threads->count = count;
    threads->spins = count <= cgroup_usable_processors(NULL);
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->wake, NULL);
    pthread_cond_init(&threads->done, NULL);
    for (int i = 1; i < count; i++) {
        struct member *member = &threads->members[i];
        *member = (struct member){.threads = threads, .index = i};
        int code = pthread_create(&member->handle, NULL, thread_main, member);
        if (code != 0) {
            threads_free(threads);
            return error_from_errno(err, code, "cannot start a thread");
        }
        threads->started++;
    }
    *ret_threads = threads;
    return 0;
}

void threads_free(struct threads *threads) {
    if (!threads) {
        return;
    }
    pthread_mutex_lock(&threads->lock);
    atomic_store(&threads->stop, true);
    pthread_cond_broadcast(&threads->wake);
    pthread_mutex_unlock(&threads->lock);
    for (int i = 1; i <= threads->started; i++) {
        pthread_join(threads->members[i].handle, NULL);
    }
    pthread_mutex_destroy(&threads->lock);
    pthread_cond_destroy(&threads->wake);
    pthread_cond_destroy(&threads->done);
    free(threads);
}

int threads_count(const struct threads *threads) {
    return threads ? threads->count : 1;
}

void threads_each(struct threads *threads, threads_each_body *body, void *context) {
    if (!threads || threads->started == 0) {
        body(context, 0);
        return;
    }
    threads->body = body;
    threads->context = context;
    uint64_t job = (atomic_load(&threads->state) >> JOB_SHIFT) + 1;
    atomic_store(&threads->state, job << JOB_SHIFT);
    if (atomic_load(&threads->sleepers) > 0) {
        pthread_mutex_lock(&threads->lock);
        pthread_cond_broadcast(&threads->wake);
        pthread_mutex_unlock(&threads->lock);
    }
    body(context, 0);
    atomic_fetch_or(&threads->state, CLOSED);
    await_end(threads);
}

struct items {
    threads_body *body;
    void *context;
    int64_t count, piece;
    atomic_int_fast64_t next;
};

static void take_pieces(void *context, int thread UNUSED) {
    struct items *items = context;
    for (;;) {
        int64_t first = atomic_fetch_add(&items->next, items->piece);
        if (first >= items->count) {
            return;
        }
        items->body(items->context, first, MIN(first + items->piece, items->count));
    }
}

void threads_run(struct threads *threads, int64_t count, int64_t grain, threads_body *body,
                 void *context) {
    if (count <= 0) {
        return;
    }
    if (!threads || threads->started == 0 || count <= grain) {
        body(context, 0, count);
        return;
    }
    int64_t pieces = (int64_t)threads->count * PIECES_PER_THREAD;
    struct items items = {.body = body,
                          .context = context,
                          .count = count,
                          .piece = MAX(grain, (count + pieces - 1) / pieces)};
    threads_each(threads, take_pieces, &items);
}
