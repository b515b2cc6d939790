// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/threads.h"

#include "lib/cgroup.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256, PIECES_PER_THREAD = 4, SPINS = 4000 };

struct threads {
    int count;   /* with the caller */
    int started; /* threads of the pool that exist */
    pthread_t handles[THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint_fast64_t job; /* number of the present job: a thread works on each once */
    atomic_int busy;          /* threads that have not finished the present job */
    bool stop;
    bool spins; /* every thread has a processor: waiting awake costs nobody anything */
    /* The job; written under the lock before `job` changes. */
    threads_body *body;
    void *context;
    int64_t items, piece;
    atomic_int_fast64_t next;
};

static void work(struct threads *threads) {
    for (;;) {
        int64_t first = atomic_fetch_add(&threads->next, threads->piece);
        if (first >= threads->items) {
            return;
        }
        threads->body(threads->context, first, MIN(first + threads->piece, threads->items));
    }
}

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* A network is hundreds of jobs, microseconds apart; being woken costs more than that. So threads
 * stay awake for some 50 microseconds before they sleep. */
static void await_job(struct threads *threads, uint64_t seen) {
    for (int i = 0; threads->spins && i < SPINS && atomic_load(&threads->job) == seen; i++) {
        pause_briefly();
    }
}

static void await_end(struct threads *threads) {
    for (int i = 0; threads->spins && i < SPINS && atomic_load(&threads->busy) > 0; i++) {
        pause_briefly();
    }
}

static void *thread_main(void *context) {
    struct threads *threads = context;
    uint64_t seen = 0;
    for (;;) {
        await_job(threads, seen);
        pthread_mutex_lock(&threads->lock);
        while (!threads->stop && threads->job == seen) {
            pthread_cond_wait(&threads->wake, &threads->lock);
        }
        if (threads->stop) {
            break;
        }
        seen = threads->job;
        pthread_mutex_unlock(&threads->lock);
        work(threads);
        pthread_mutex_lock(&threads->lock);
        if (--threads->busy == 0) {
            pthread_cond_signal(&threads->done);
        }
        pthread_mutex_unlock(&threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
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
        return error_set(err, ERROR_INVALID, "%d threads; 0 to %d can be asked for", count,
                         THREADS_MAX);
    }
    *ret_count = count ? count : MIN(cgroup_usable_processors(NULL), THREADS_MAX);
    return 0;
}

int threads_new(int count, struct threads **ret_threads, struct error *err) {
    if (choose_count(count, &count, err) < 0) {
        return -1;
    }
    struct threads *threads = x_calloc(1, sizeof *threads);
    threads->count = count;
    threads->spins = count <= cgroup_usable_processors(NULL);
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->wake, NULL);
    pthread_cond_init(&threads->done, NULL);
    for (int i = 1; i < count; i++) {
        int code = pthread_create(&threads->handles[threads->started], NULL, thread_main, threads);
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
    threads->stop = true;
    pthread_cond_broadcast(&threads->wake);
    pthread_mutex_unlock(&threads->lock);
    for (int i = 0; i < threads->started; i++) {
        pthread_join(threads->handles[i], NULL);
    }
    pthread_mutex_destroy(&threads->lock);
    pthread_cond_destroy(&threads->wake);
    pthread_cond_destroy(&threads->done);
    free(threads);
}

int threads_count(const struct threads *threads) {
    return threads ? threads->count : 1;
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
    pthread_mutex_lock(&threads->lock);
    threads->body = body;
    threads->context = context;
    threads->items = count;
    threads->piece = MAX(grain, (count + pieces - 1) / pieces);
    atomic_store(&threads->next, 0);
    threads->busy = threads->started;
    threads->job++;
    pthread_cond_broadcast(&threads->wake);
    pthread_mutex_unlock(&threads->lock);
    work(threads);
    await_end(threads);
    pthread_mutex_lock(&threads->lock);
    while (threads->busy > 0) {
        pthread_cond_wait(&threads->done, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
}
