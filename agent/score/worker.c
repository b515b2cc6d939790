// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker.h"

#include "agent/score/message.h"
#include "agent/score/scorer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/socket.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    QUEUE_MAX = 4, /* a coordinator leases two */
    SERVICE_MS = 200,
    KEPT_BLOCK_MAX = 32 << 20, /* bytes; the largest threshold that glibc takes */
    KEPT_FREE_MAX = 128 << 20,
};

struct worker {
    const struct job *job;
    const struct media *media;
    struct scorer *scorer;
    struct socket_client *socket;
    pthread_t thread;
    /* the connection's thread only */
    int exit_code; /* -1: go on */
    int64_t unreachable_since_ms;
    char complaint[512]; /* the last reason that was logged: attempts repeat, the log need not */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct message queue[QUEUE_MAX]; /* leases that are not begun, next first */
    int queue_count;
    int64_t running; /* the lease that is scored, or -1 */
    bool has_result;
    struct message result; /* of the lease that ended last, until it is sent */
    int64_t dropped_at_ms; /* when the running lease was taken away, or -1 */
    bool ends;
    atomic_bool dropped; /* the running lease is no longer wanted */
};

/* Scores one lease outside the lock; fills in what there is to say about it. */
static void score(struct worker *worker, const struct message *lease, struct message *result) {
    struct error err = {0};
    AUTO(text_freep)
    char *unique = x_printf("%s-%lld", worker->job->worker, (long long)lease->lease);
    AUTO(text_freep)
    char *run = x_printf("%s/%lld", worker->job->run, (long long)lease->parts);
    struct scorer_task task = {.media = worker->media,
                               .work = lease->work,
                               .run = run,
                               .unique = unique,
                               .dropped = &worker->dropped};
    int64_t started_ms = clock_monotonic_ms();
    *result = (struct message){.type = MESSAGE_RESULT, .lease = lease->lease};
    if (scorer_run(worker->scorer, &task, &result->items, &err) < 0) {
        result->is_error = true;
        snprintf(result->text, sizeof result->text, "%s", err.text);
        log_event(LOG_WARNING, "mini-batch %lld, try %d: %s", (long long)lease->batch, lease->try,
                  err.text);
        return;
    }
    result->seconds = (double)(clock_monotonic_ms() - started_ms) / 1000;
    log_event(LOG_DEBUG, "mini-batch %lld: %lld items in %.2f s", (long long)lease->batch,
              (long long)result->items, result->seconds);
}

static void *run_scorer(void *context) {
    struct worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    for (;;) {
        /* A result that was not sent yet keeps the next lease waiting: it is soon gone. */
        while (!worker->ends && (!worker->queue_count || worker->has_result)) {
            pthread_cond_wait(&worker->changed, &worker->lock);
        }
        if (worker->ends) {
            break;
        }
        struct message lease = worker->queue[0], result;
        memmove(worker->queue, worker->queue + 1,
                (size_t)--worker->queue_count * sizeof *worker->queue);
        worker->running = lease.lease;
        worker->dropped_at_ms = -1;
        atomic_store(&worker->dropped, false);
        pthread_mutex_unlock(&worker->lock);
        score(worker, &lease, &result);
        message_release(&lease);
        pthread_mutex_lock(&worker->lock);
        worker->running = -1;
        worker->result = result;
        worker->has_result = true;
        socket_wake(worker->socket);
    }
    worker->running = -1;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

static void send_message(struct worker *worker, const struct message *message) {
    AUTO(text_freep) char *text = message_format(message);
    socket_send(worker->socket, text);
}

/* Leases that are not begun are given back with the connection; the running one goes on: its
 * result is welcome if nobody was quicker. */
static void drop_queue(struct worker *worker) {
    for (int i = 0; i < worker->queue_count; i++) {
        message_release(&worker->queue[i]);
    }
    worker->queue_count = 0;
}

static void on_opened(void *context) {
    struct worker *worker = context;
    struct message hello = {.type = MESSAGE_HELLO};
    worker->unreachable_since_ms = -1;
    worker->complaint[0] = 0;
    snprintf(hello.name, sizeof hello.name, "%s", worker->job->worker);
    send_message(worker, &hello);
    log_event(LOG_INFO, "connected to the coordinator at %s", worker->job->coordinator);
}

static void on_closed(void *context, const struct error *why) {
    struct worker *worker = context;
    if (worker->unreachable_since_ms < 0) {
        worker->unreachable_since_ms = clock_monotonic_ms();
    }
    if (strcmp(worker->complaint, why->text) != 0) {
        log_event(LOG_WARNING, "coordinator: %s", why->text);
        snprintf(worker->complaint, sizeof worker->complaint, "%s", why->text);
    }
    pthread_mutex_lock(&worker->lock);
    drop_queue(worker);
    pthread_mutex_unlock(&worker->lock);
    if (why->kind == ERROR_DENIED && strstr(why->text, "token")) {
        worker->exit_code = 1;
    }
}

/* The coordinator waits for a word about the lease: at once, or when the scorer has dropped it. */
static void cancel(struct worker *worker, int64_t lease) {
    if (worker->running == lease) {
        log_event(LOG_WARNING, "lease %lld was taken away", (long long)lease);
        worker->dropped_at_ms = clock_monotonic_ms();
        atomic_store(&worker->dropped, true);
        return;
    }
    send_message(
        worker, &(struct message){
                    .type = MESSAGE_RESULT, .lease = lease, .is_error = true, .text = "cancelled"});
    for (int i = 0; i < worker->queue_count; i++) {
        if (worker->queue[i].lease == lease) {
            message_release(&worker->queue[i]);
            memmove(worker->queue + i, worker->queue + i + 1,
                    (size_t)(--worker->queue_count - i) * sizeof *worker->queue);
            return;
        }
    }
}

static void on_message(struct worker *worker, struct message *message) {
    switch (message->type) {
    case MESSAGE_LEASE:
        if (worker->queue_count < QUEUE_MAX) {
            worker->queue[worker->queue_count++] = *message;
            message->work = NULL;
        }
        break;
    case MESSAGE_CANCEL:
        cancel(worker, message->lease);
        break;
    case MESSAGE_DONE:
        log_event(LOG_INFO, "no work is left");
        worker->exit_code = 0;
        break;
    case MESSAGE_REFUSED:
        log_event(LOG_ERROR, "the coordinator refuses this worker: %s", message->text);
        worker->exit_code = 1;
        break;
    default:
        break; /* a worker's message, sent by a coordinator: ignored */
    }
}

static void on_received(void *context, const char *text, size_t size) {
    struct worker *worker = context;
    struct error err = {0};
    struct message message = {0};
    if (message_parse(text, size, &message, &err) < 0) {
        log_event(LOG_WARNING, "the coordinator said what cannot be understood: %s", err.text);
        return;
    }
    pthread_mutex_lock(&worker->lock);
    on_message(worker, &message);
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    message_release(&message);
}

static const struct socket_events events = {on_opened, on_received, on_closed};

/* What the connection's thread does between events. */
static void look_around(struct worker *worker) {
    int64_t now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&worker->lock);
    if (worker->has_result && socket_is_open(worker->socket)) {
        send_message(worker, &worker->result);
        worker->has_result = false;
        pthread_cond_broadcast(&worker->changed);
    }
    bool hangs = worker->running >= 0 && worker->dropped_at_ms >= 0 &&
                 now_ms - worker->dropped_at_ms > WORKER_HANG_MS;
    pthread_mutex_unlock(&worker->lock);
    if (hangs) {
        log_event(LOG_ERROR, "a mini-batch that was taken away does not end: giving up");
        worker->exit_code = 3;
    } else if (job_is_interrupted()) {
        log_event(LOG_WARNING, "interrupted: leases are given back");
        worker->exit_code = 130;
    } else if (worker->unreachable_since_ms >= 0 &&
               now_ms - worker->unreachable_since_ms > WORKER_UNREACHABLE_MS) {
        log_event(LOG_ERROR, "the coordinator at %s was not reached for %d s",
                  worker->job->coordinator, WORKER_UNREACHABLE_MS / 1000);
        worker->exit_code = 3;
    }
}

static void add_ms(struct timespec *time, int64_t ms) {
    time->tv_sec += ms / 1000;
    time->tv_nsec += ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
        time->tv_sec++;
        time->tv_nsec -= 1000000000;
    }
}

/* Lets the scorer stop and remove its temporary files. False: it does not stop in time. */
static bool stop_scorer(struct worker *worker) {
    struct timespec end;
    pthread_mutex_lock(&worker->lock);
    worker->ends = true;
    atomic_store(&worker->dropped, true);
    drop_queue(worker);
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    clock_gettime(CLOCK_REALTIME, &end);
    add_ms(&end, WORKER_FAREWELL_MS);
    return pthread_timedjoin_np(worker->thread, NULL, &end) == 0;
}

static int live(struct worker *worker, struct error *err) {
    struct socket_options options = {.address = worker->job->coordinator,
                                     .path = "/work",
                                     .token = worker->job->token,
                                     .sha256 = worker->job->sha256,
                                     .events = &events,
                                     .context = worker};
    if (socket_open(&options, &worker->socket, err) < 0) {
        return error_context(err, "coordinator");
    }
    if (pthread_create(&worker->thread, NULL, run_scorer, worker) != 0) {
        return error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
    }
    worker->unreachable_since_ms = clock_monotonic_ms();
    int result = 0;
    while (worker->exit_code < 0 && result == 0) {
        result = socket_service(worker->socket, SERVICE_MS, err);
        look_around(worker);
    }
    if (!stop_scorer(worker)) {
        log_event(LOG_ERROR, "the scorer does not stop: leaving it behind");
        _exit(worker->exit_code > 0 ? worker->exit_code : 3);
    }
    return result;
}

int worker_run(const struct job *job) {
    /* Pictures come and go by the megabyte: memory that was freed stays here for the next, instead
     * of going back to the system and coming again page by page. */
    mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_MAX);
    struct error err = {0};
    struct worker worker = {.job = job,
                            .exit_code = -1,
                            .unreachable_since_ms = -1,
                            .running = -1,
                            .dropped_at_ms = -1};
    pthread_mutex_init(&worker.lock, NULL);
    pthread_cond_init(&worker.changed, NULL);
    if (media_find(job->spec, &worker.media, &err) == 0 &&
        scorer_open(job->spec, &worker.scorer, &err) == 0 && live(&worker, &err) == 0) {
        err.kind = ERROR_NONE;
    }
    if (err.kind) {
        log_event(LOG_ERROR, "%s", err.text);
    }
    socket_free(worker.socket);
    scorer_free(worker.scorer);
    message_release(&worker.result);
    pthread_mutex_destroy(&worker.lock);
    pthread_cond_destroy(&worker.changed);
    return err.kind ? error_exit_code(&err) : worker.exit_code;
}
