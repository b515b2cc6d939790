// SPDX-License-Identifier: Apache-2.0
#include "agent/comm/reducer.h"

#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct reducer {
    struct comm *comm;
    const struct buckets *buckets;
    char *memory;
    int64_t timeout_ms;
    struct reducer_ops ops; /* zeroed: gradients are there when due, comm_reduce adds them */
    pthread_t thread;

    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t changed;
    bool *due;                  /* [count]: whether the bucket is due in this step */
    struct reducer_span *spans; /* [count] */
    size_t next, taken;         /* next: summed next; taken: returned next by reducer_wait */
    reducer_function *function; /* the function of reducer_call, NULL: none */
    void *context;
    int function_result;
    struct error function_error;
    int64_t since_ms; /* when the current call began, -1: none */
    bool ends;
    struct error error; /* the comm's: the thread has ended, or is stuck */
    struct reducer_times times;
};

/* ---- the thread ----------------------------------------------------------------------------- */

static bool has_bucket(const struct reducer *reducer) {
    return reducer->next < reducer->buckets->count && reducer->due[reducer->next];
}

static void fail(struct reducer *reducer, size_t bucket, struct error *err) {
    error_context(err, "bucket %zu of %zu", bucket + 1, reducer->buckets->count);
    if (!reducer->error.kind) {
        reducer->error = *err;
    }
}

static int make_sum(struct reducer *reducer, size_t index, struct error *err) {
    const struct bucket *bucket = &reducer->buckets->all[index];
    float *values = (float *)(void *)(reducer->memory + bucket->start);
    return reducer->ops.sum
               ? reducer->ops.sum(reducer->comm, reducer->ops.context, index, err)
               : comm_reduce(reducer->comm, values, bucket->bytes / sizeof *values, err);
}

/* The caller holds the lock, which is released while the device or the comm works. */
static void sum(struct reducer *reducer) {
    size_t index = reducer->next;
    struct error err = {0};
    if (reducer->ops.await) {
        pthread_mutex_unlock(&reducer->lock);
        int result = reducer->ops.await(reducer->ops.context, index, &err);
        pthread_mutex_lock(&reducer->lock);
        if (result < 0) {
            fail(reducer, index, &err);
        }
        if (result < 0 || reducer->ends) {
            return;
        }
    }
    reducer->since_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&reducer->lock);
    int64_t start_ns = clock_monotonic_ns();
    int result = make_sum(reducer, index, &err);
    int64_t end_ns = clock_monotonic_ns();
    pthread_mutex_lock(&reducer->lock);
    reducer->since_ms = -1;
    reducer->times.summing_ns += end_ns - start_ns;
    reducer->spans[index] = (struct reducer_span){start_ns, end_ns};
    if (result < 0) {
        fail(reducer, index, &err);
        return;
    }
    reducer->next++;
}

/* Locking as in sum. */
static void run_function(struct reducer *reducer) {
    struct error err = {0};
    reducer->since_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&reducer->lock);
    int result = reducer->function(reducer->comm, reducer->context, &err);
    pthread_mutex_lock(&reducer->lock);
    reducer->since_ms = -1;
    reducer->function = NULL;
    reducer->function_result = result;
    reducer->function_error = err;
    if (result < 0 && atomic_load(&reducer->comm->is_lost) && !reducer->error.kind) {
        reducer->error = err;
    }
}

static void *reducer_main(void *context) {
    struct reducer *reducer = context;
    pthread_setname_np(pthread_self(), "reducer"); /* shown by ps and debuggers */
    pthread_mutex_lock(&reducer->lock);
    while (!reducer->ends && !reducer->error.kind) {
        if (!reducer->function && !has_bucket(reducer)) {
            pthread_cond_wait(&reducer->changed, &reducer->lock);
            continue;
        }
        if (reducer->function) {
            run_function(reducer);
        } else {
            sum(reducer);
        }
        pthread_cond_broadcast(&reducer->changed);
    }
    pthread_mutex_unlock(&reducer->lock);
    return NULL;
}

/* ---- the caller's thread -------------------------------------------------------------------- */

/* The caller holds the lock. Waits for a change, or fails when the timeout is over. Waiting for a
 * bucket that is not due yet depends only on this process and has no limit. */
static int wait_for_change(struct reducer *reducer, const char *what) {
    int64_t now_ms = clock_monotonic_ms();
    if (reducer->timeout_ms == 0) {
        pthread_cond_wait(&reducer->changed, &reducer->lock);
        return 0;
    }
    int64_t until_ms = (reducer->since_ms >= 0 ? reducer->since_ms : now_ms) + reducer->timeout_ms;
    if (reducer->since_ms >= 0 && now_ms >= until_ms) {
        atomic_store(&reducer->comm->is_lost, true);
        return error_set(&reducer->error, ERROR_TIMEOUT,
                         "%s: nothing from the other ranks for %.1f s: one of them is dead, "
                         "stopped or cut off",
                         what, (double)reducer->timeout_ms / 1000);
    }
    (void)timed_wait(&reducer->changed, &reducer->lock, until_ms);
    return 0;
}

int reducer_wait(struct reducer *reducer, size_t *ret_bucket, struct error *err) {
    int64_t start_ns = clock_monotonic_ns();
    pthread_mutex_lock(&reducer->lock);
    size_t count = reducer->buckets->count, bucket = reducer->taken;
    assert(bucket < count);
    char what[64];
    snprintf(what, sizeof what, "bucket %zu of %zu", bucket + 1, count);
    while (reducer->next <= bucket && !reducer->error.kind && wait_for_change(reducer, what) == 0) {
    }
    reducer->times.waiting_ns += clock_monotonic_ns() - start_ns;
    int result = 0;
    if (reducer->next <= bucket) {
        *err = reducer->error;
        result = -1;
    } else if (++reducer->taken == count) {
        reducer->taken = reducer->next = 0;
        for (size_t i = 0; i < count; i++) {
            reducer->due[i] = false;
        }
    }
    pthread_mutex_unlock(&reducer->lock);
    if (result == 0) {
        *ret_bucket = bucket;
    }
    return result;
}

void reducer_due(struct reducer *reducer, size_t bucket) {
    pthread_mutex_lock(&reducer->lock);
    assert(bucket < reducer->buckets->count && !reducer->due[bucket]);
    reducer->due[bucket] = true;
    pthread_cond_broadcast(&reducer->changed);
    pthread_mutex_unlock(&reducer->lock);
}

int reducer_call(struct reducer *reducer, reducer_function *function, void *context,
                 struct error *err) {
    pthread_mutex_lock(&reducer->lock);
    assert(reducer->error.kind ||
           (!reducer->function && reducer->next == 0 && reducer->taken == 0));
    reducer->function = function;
    reducer->context = context;
    pthread_cond_broadcast(&reducer->changed);
    while (reducer->function && !reducer->error.kind &&
           wait_for_change(reducer, "between steps") == 0) {
    }
    int result = reducer->function ? -1 : reducer->function_result;
    if (result < 0) {
        *err = reducer->function ? reducer->error : reducer->function_error;
    }
    pthread_mutex_unlock(&reducer->lock);
    return result;
}

struct reducer_span reducer_bucket_span(struct reducer *reducer, size_t bucket) {
    pthread_mutex_lock(&reducer->lock);
    assert(bucket < reducer->buckets->count);
    struct reducer_span span = reducer->spans[bucket];
    pthread_mutex_unlock(&reducer->lock);
    return span;
}

void reducer_set_timeout(struct reducer *reducer, int64_t timeout_ms) {
    pthread_mutex_lock(&reducer->lock);
    reducer->timeout_ms = timeout_ms;
    pthread_mutex_unlock(&reducer->lock);
}

struct reducer_times reducer_read_times(struct reducer *reducer) {
    pthread_mutex_lock(&reducer->lock);
    struct reducer_times times = reducer->times;
    pthread_mutex_unlock(&reducer->lock);
    return times;
}

/* ---- life ----------------------------------------------------------------------------------- */

static void reducer_free(struct reducer *reducer) {
    pthread_cond_destroy(&reducer->changed);
    pthread_mutex_destroy(&reducer->lock);
    free(reducer->due);
    free(reducer->spans);
    free(reducer);
}

/* The main thread handles signals. */
static int start(struct reducer *reducer) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&reducer->thread, NULL, reducer_main, reducer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int reducer_open(struct comm *comm, const struct buckets *buckets, void *memory, int64_t timeout_ms,
                 struct reducer **ret_reducer, struct error *err) {
    struct reducer *reducer = x_calloc(1, sizeof *reducer);
    reducer->comm = comm;
    reducer->buckets = buckets;
    reducer->memory = memory;
    reducer->timeout_ms = timeout_ms;
    reducer->since_ms = -1;
    reducer->due = x_calloc(MAX(buckets->count, (size_t)1), sizeof *reducer->due);
    reducer->spans = x_calloc(MAX(buckets->count, (size_t)1), sizeof *reducer->spans);
    pthread_mutex_init(&reducer->lock, NULL);
    timed_wait_init(&reducer->changed);
    int code = start(reducer);
    if (code != 0) {
        reducer_free(reducer);
        return error_from_errno(err, code, "cannot start a thread for sums between ranks");
    }
    *ret_reducer = reducer;
    return 0;
}

void reducer_set_ops(struct reducer *reducer, const struct reducer_ops *ops) {
    pthread_mutex_lock(&reducer->lock);
    reducer->ops = *ops;
    pthread_mutex_unlock(&reducer->lock);
}

void reducer_close(struct reducer *reducer) {
    if (!reducer) {
        return;
    }
    pthread_mutex_lock(&reducer->lock);
    reducer->ends = true;
    bool is_stuck = reducer->since_ms >= 0;
    pthread_cond_broadcast(&reducer->changed);
    pthread_mutex_unlock(&reducer->lock);
    if (is_stuck) {
        atomic_store(&reducer->comm->is_lost, true);
        pthread_detach(reducer->thread);
        return;
    }
    pthread_join(reducer->thread, NULL);
    reducer_free(reducer);
}

void reducer_closep(struct reducer **reducer) {
    reducer_close(*reducer);
}
