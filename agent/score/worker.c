// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker.h"

#include "agent/score/message.h"
#include "agent/score/notice.h"
#include "agent/score/publisher.h"
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
    SERVICE_MS = 200,
    QUEUE_MAX = 4096,          /* leases; a coordinator gives a thousand */
    KEPT_BLOCK_MAX = 32 << 20, /* bytes; the largest threshold that glibc takes */
    KEPT_FREE_MAX = 128 << 20,
};

/* A lease that is not begun. */
struct task {
    int64_t epoch, lease, first;
    int try;
    json_t *work; /* owned */
};

/* A result that is not sent. */
struct told {
    int64_t epoch;
    struct message_result result;
    char *text;       /* owned; what result.text points to */
    json_t *failures; /* owned; result.failures */
};

struct worker {
    const struct job *job;
    const struct media *media;
    struct scorer *scorer;
    struct store *output;
    struct publisher *publisher; /* NULL where results are joined, not published */
    struct socket_client *socket;
    pthread_t thread;
    /* the connection's thread only */
    int exit_code; /* -1: go on */
    int64_t unreachable_since_ms;
    char complaint[512]; /* the last reason that was logged: attempts repeat, the log need not */
    int64_t leaving_since_ms; /* told to stop; -1: not */
    struct notice *notice;    /* NULL: nobody tells that this machine goes */
    atomic_bool is_preempted; /* by the notice's thread */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct task *queue; /* next first */
    size_t queue_count, queue_room;
    struct told *told; /* oldest first */
    size_t told_count, told_room;
    int64_t running;       /* the lease that is scored, or -1 */
    int64_t dropped_at_ms; /* when the running lease was taken away, or -1 */
    int64_t started_ms;    /* of the running lease */
    int64_t usual_ms;      /* that the last lease took; -1: none did yet */
    bool ends, is_output_dead, is_leaving;
    atomic_bool dropped; /* the running lease is no longer wanted */
};

/* ---- scoring -------------------------------------------------------------------------------- */

/* Is it the mini-batch's fault, or the machine's? */
static enum message_fault fault_of(const struct outcome *outcome, const struct error *err) {
    if (err->kind == ERROR_CANCELLED) {
        return MESSAGE_BACK;
    }
    bool is_mount = err->kind == ERROR_UNAVAILABLE || err->kind == ERROR_TIMEOUT;
    return is_mount || (outcome_has_failed(outcome) && error_is_machine(err)) ? MESSAGE_MACHINE
                                                                              : MESSAGE_SCORER;
}

static void tell_fault(struct told *told, const struct outcome *outcome, const struct error *err) {
    told->result.is_fault = true;
    told->result.fault = fault_of(outcome, err);
    told->text = x_strdup(err->text);
    told->result.text = told->text;
    told->result.text_size = strlen(told->text);
}

static void tell_place(struct told *told, const struct outcome *outcome) {
    struct part part = outcome_part(outcome);
    struct message_result *result = &told->result;
    result->place = outcome_place(outcome) == OUTCOME_TEXT ? MESSAGE_TEXT : MESSAGE_OBJECT;
    result->size_bytes = part.size_bytes;
    result->crc = part.crc;
    if (result->place == MESSAGE_TEXT) {
        told->text = x_strndup(part.bytes, (size_t)part.size_bytes);
        result->text = told->text;
        result->text_size = (size_t)part.size_bytes;
    }
}

/* Scores one lease outside the lock. */
static struct told score(struct worker *worker, const struct task *task) {
    struct error err = {0};
    char name[PART_NAME_MAX];
    part_name(worker->job->run, task->epoch, task->lease, name);
    AUTO(outcome_freep)
    struct outcome *outcome = outcome_new(worker->output, name, worker->media->is_packed);
    struct scorer_task scored = {.media = worker->media,
                                 .work = task->work,
                                 .outcome = outcome,
                                 .dropped = &worker->dropped};
    struct told told = {.epoch = task->epoch, .result = {.lease = task->lease}};
    int64_t started_ns = clock_monotonic_ns();
    struct scorer_count count = {0};
    int result = scorer_run(worker->scorer, &scored, &count, &err);
    if (result == 0 && outcome_close(outcome, &err) < 0) {
        result = error_context(&err, "spec.output.path");
    }
    if (result < 0) {
        log_event(LOG_WARNING, "mini-batch %lld, try %d: %s", (long long)task->first, task->try,
                  err.text);
        tell_fault(&told, outcome, &err);
        json_decref(count.failures);
        return told;
    }
    told.result.items = count.items;
    told.result.failed = count.failed;
    told.result.failures = told.failures = count.failures;
    told.result.took_us = (clock_monotonic_ns() - started_ns) / 1000;
    log_event(LOG_DEBUG, "mini-batch %lld: %lld items in %lld us", (long long)task->first,
              (long long)told.result.items, (long long)told.result.took_us);
    tell_place(&told, outcome);
    if (worker->publisher) {
        publisher_keep(worker->publisher, task->epoch, task->lease, TAKE(outcome));
    }
    return told;
}

static void tell(struct worker *worker, struct told told) {
    if (worker->told_count == worker->told_room) {
        worker->told_room = MAX(worker->told_room * 2, (size_t)16);
        worker->told = x_realloc_array(worker->told, worker->told_room, sizeof told);
    }
    worker->told[worker->told_count++] = told;
}

/* After trouble of the machine: without its output this worker is of no use. */
static bool is_output_dead(struct worker *worker) {
    struct error err = {0};
    bool is_dead = store_probe(worker->output, WORKER_PROBE_MS, &err) < 0;
    if (is_dead) {
        log_event(LOG_ERROR, "spec.output.path: %s", err.text);
    }
    return is_dead;
}

static struct task next_task(struct worker *worker) {
    struct task task = worker->queue[0];
    memmove(worker->queue, worker->queue + 1, --worker->queue_count * sizeof task);
    return task;
}

static void *run_scorer(void *context) {
    struct worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    for (;;) {
        while (!worker->ends && (!worker->queue_count || worker->is_leaving)) {
            pthread_cond_wait(&worker->changed, &worker->lock);
        }
        if (worker->ends) {
            break;
        }
        struct task task = next_task(worker);
        worker->running = task.lease;
        worker->dropped_at_ms = -1;
        worker->started_ms = clock_monotonic_ms();
        atomic_store(&worker->dropped, false);
        pthread_mutex_unlock(&worker->lock);
        struct told told = score(worker, &task);
        json_decref(task.work);
        bool is_dead =
            told.result.is_fault && told.result.fault == MESSAGE_MACHINE && is_output_dead(worker);
        pthread_mutex_lock(&worker->lock);
        worker->running = -1;
        worker->usual_ms = clock_monotonic_ms() - worker->started_ms;
        worker->is_output_dead = is_dead;
        tell(worker, told);
        socket_wake(worker->socket);
    }
    worker->running = -1;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* ---- the connection ------------------------------------------------------------------------- */

static void send_message(struct worker *worker, const struct message *message) {
    AUTO(text_freep) char *text = message_format(message);
    socket_send(worker->socket, text);
}

static void send_batch(struct worker *worker, struct message_batch *batch) {
    AUTO(text_freep) char *text = message_batch_take(batch);
    if (text) {
        socket_send(worker->socket, text);
    }
}

/* Results go in as few messages as hold them; a message is of one epoch. */
static void send_results(struct worker *worker) {
    struct message_batch batch;
    message_batch_init(&batch, MESSAGE_RESULTS, 0);
    for (size_t i = 0; i < worker->told_count; i++) {
        struct told *told = &worker->told[i];
        if (batch.epoch != told->epoch) {
            send_batch(worker, &batch);
            batch.epoch = told->epoch;
        }
        if (message_batch_result(&batch, &told->result) == 0) {
            send_batch(worker, &batch);
            (void)message_batch_result(&batch, &told->result);
        }
        free(told->text);
        json_decref(told->failures);
    }
    worker->told_count = 0;
    send_batch(worker, &batch);
    message_batch_release(&batch);
}

static void send_published(struct worker *worker) {
    struct message_batch batch;
    int64_t epoch = 0, lease = 0;
    message_batch_init(&batch, MESSAGE_PUBLISHED, 0);
    while (publisher_take(worker->publisher, &epoch, &lease)) {
        if (batch.epoch != epoch) {
            send_batch(worker, &batch);
            batch.epoch = epoch;
        }
        if (message_batch_number(&batch, lease) == 0) {
            send_batch(worker, &batch);
            (void)message_batch_number(&batch, lease);
        }
    }
    send_batch(worker, &batch);
    message_batch_release(&batch);
}

/* Leases that are not begun are given back with the connection; the running one goes on: its
 * result is welcome if nobody was quicker. */
static void drop_queue(struct worker *worker) {
    for (size_t i = 0; i < worker->queue_count; i++) {
        json_decref(worker->queue[i].work);
    }
    worker->queue_count = 0;
}

static void on_opened(void *context) {
    struct worker *worker = context;
    struct message hello = {.type = MESSAGE_HELLO, .slots = 1};
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
    if (worker->publisher) {
        publisher_forget(worker->publisher);
    }
    if (why->kind == ERROR_DENIED && strstr(why->text, "token")) {
        worker->exit_code = 1;
    }
}

static void hand_back(struct worker *worker, const struct task *task, const char *cause) {
    struct told told = {.epoch = task->epoch, .text = x_strdup(cause)};
    told.result = (struct message_result){.lease = task->lease,
                                          .is_fault = true,
                                          .fault = MESSAGE_BACK,
                                          .text = told.text,
                                          .text_size = strlen(cause)};
    tell(worker, told);
}

/* The coordinator waits for a word about the lease: at once, or when the scorer has dropped it. */
static void cancel(struct worker *worker, int64_t lease) {
    if (worker->running == lease) {
        log_event(LOG_WARNING, "lease %lld was taken away", (long long)lease);
        worker->dropped_at_ms = clock_monotonic_ms();
        atomic_store(&worker->dropped, true);
        return;
    }
    for (size_t i = 0; i < worker->queue_count; i++) {
        struct task *task = &worker->queue[i];
        if (task->lease == lease) {
            hand_back(worker, task, "cancelled");
            json_decref(task->work);
            memmove(task, task + 1, (--worker->queue_count - i) * sizeof *task);
            return;
        }
    }
}

static void take_leases(struct worker *worker, const struct message *message) {
    if (worker->queue_count + message->count > worker->queue_room) {
        worker->queue_room = worker->queue_count + message->count;
        worker->queue = x_realloc_array(worker->queue, worker->queue_room, sizeof *worker->queue);
    }
    for (size_t i = 0; i < message->count && worker->queue_count < QUEUE_MAX; i++) {
        const struct message_lease *lease = &message->leases[i];
        worker->queue[worker->queue_count++] =
            (struct task){.epoch = message->epoch,
                          .lease = lease->lease,
                          .first = lease->first,
                          .try = lease->try,
                          .work = json_incref((json_t *)(uintptr_t)lease->work)};
    }
}

static void on_message(struct worker *worker, const struct message *message) {
    switch (message->type) {
    case MESSAGE_LEASES:
        take_leases(worker, message);
        break;
    case MESSAGE_COMMITTED:
        for (size_t i = 0; worker->publisher && i < message->count; i++) {
            publisher_publish(worker->publisher, message->epoch, message->numbers[i]);
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
    AUTO(message_release) struct message message = {0};
    if (message_parse(text, size, &message, &err) < 0) {
        log_event(LOG_WARNING, "the coordinator said what cannot be understood: %s", err.text);
        return;
    }
    pthread_mutex_lock(&worker->lock);
    on_message(worker, &message);
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static const struct socket_events events = {on_opened, on_received, on_closed};

/* ---- life ----------------------------------------------------------------------------------- */

/* No more is begun. What runs goes on if it is likely to end in time. */
static void start_leaving(struct worker *worker) {
    int64_t now_ms = clock_monotonic_ms();
    log_event(LOG_WARNING, "%s: leases are given back",
              job_is_interrupted() ? "interrupted" : "this machine will be taken away");
    worker->leaving_since_ms = now_ms;
    pthread_mutex_lock(&worker->lock);
    worker->is_leaving = true;
    if (worker->usual_ms < 0 || worker->started_ms + worker->usual_ms - now_ms > WORKER_LAST_MS) {
        atomic_store(&worker->dropped, true);
    }
    pthread_mutex_unlock(&worker->lock);
}

/* Nothing runs any more, or its time is over, or nobody would hear of it. */
static bool is_ready_to_leave(struct worker *worker) {
    int64_t left_ms = worker->leaving_since_ms + WORKER_LAST_MS - clock_monotonic_ms();
    pthread_mutex_lock(&worker->lock);
    bool is_idle = worker->running < 0;
    if (left_ms <= 0) {
        atomic_store(&worker->dropped, true);
    }
    pthread_mutex_unlock(&worker->lock);
    return is_idle || left_ms + WORKER_FLUSH_MS <= 0 || !socket_is_open(worker->socket);
}

/* The last words: what was done, and all that was not. The coordinator closes then. */
static void hand_over(struct worker *worker) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + WORKER_FLUSH_MS;
    if (worker->leaving_since_ms < 0 || !socket_is_open(worker->socket)) {
        return;
    }
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < worker->queue_count; i++) {
        hand_back(worker, &worker->queue[i], "its worker is leaving");
    }
    bool is_silent = worker->told_count == 0;
    send_message(worker, &(struct message){.type = MESSAGE_LEAVING});
    if (is_silent) {
        send_message(worker, &(struct message){.type = MESSAGE_RESULTS});
    }
    send_results(worker);
    pthread_mutex_unlock(&worker->lock);
    while (socket_is_open(worker->socket) && clock_monotonic_ms() < end_ms &&
           socket_service(worker->socket, SERVICE_MS, &err) == 0) {
    }
}

/* What the connection's thread does between events. */
static void look_around(struct worker *worker) {
    int64_t now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&worker->lock);
    if (socket_is_open(worker->socket) && worker->leaving_since_ms < 0) {
        send_results(worker);
    }
    bool is_dead = worker->is_output_dead;
    bool hangs = worker->running >= 0 && worker->dropped_at_ms >= 0 &&
                 now_ms - worker->dropped_at_ms > WORKER_HANG_MS;
    pthread_mutex_unlock(&worker->lock);
    if (worker->publisher && socket_is_open(worker->socket)) {
        send_published(worker);
    }
    if (hangs) {
        log_event(LOG_ERROR, "a mini-batch that was taken away does not end: giving up");
        worker->exit_code = 3;
    } else if (is_dead) {
        log_event(LOG_ERROR, "the output cannot be reached from this machine: giving up");
        worker->exit_code = 3;
    } else if (worker->leaving_since_ms >= 0) {
        if (worker->exit_code < 0 && is_ready_to_leave(worker)) {
            worker->exit_code = 130;
        }
    } else if (job_is_interrupted() || atomic_load(&worker->is_preempted)) {
        start_leaving(worker);
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

/* Lets scorer and publisher stop and remove what is half written. False: they do not in time. */
static bool stop_threads(struct worker *worker) {
    struct timespec end;
    pthread_mutex_lock(&worker->lock);
    worker->ends = true;
    atomic_store(&worker->dropped, true);
    drop_queue(worker);
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    clock_gettime(CLOCK_REALTIME, &end);
    add_ms(&end, WORKER_FAREWELL_MS);
    if (pthread_timedjoin_np(worker->thread, NULL, &end) != 0) {
        return false;
    }
    return !worker->publisher || publisher_free(TAKE(worker->publisher), WORKER_FAREWELL_MS);
}

static void wake(void *context) {
    struct worker *worker = context;
    socket_wake(worker->socket);
}

static void on_notice(void *context, const struct notice_event *event) {
    struct worker *worker = context;
    log_event(LOG_WARNING, "event %s: %s in %lld s", event->id, event->type,
              (long long)event->left_ms / 1000);
    atomic_store(&worker->is_preempted, true);
    socket_wake(worker->socket);
}

static void on_notice_changed(void *context, const struct error *err) {
    (void)context;
    log_event(err->kind ? LOG_WARNING : LOG_INFO, "scheduled events: %s",
              err->kind ? err->text : "answered");
}

/* Without notices SIGTERM comes all the same. */
static void watch_events(struct worker *worker) {
    struct error err = {0};
    struct notice_options options = {.url = worker->job->events,
                                     .told = on_notice,
                                     .changed = on_notice_changed,
                                     .context = worker};
    if (worker->job->events && notice_start(&options, &worker->notice, &err) < 0) {
        log_event(LOG_WARNING, "%s", err.text);
    }
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
    if (worker->media->is_packed &&
        publisher_new(worker->output, wake, worker, &worker->publisher, err) < 0) {
        return -1;
    }
    if (pthread_create(&worker->thread, NULL, run_scorer, worker) != 0) {
        return error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
    }
    worker->unreachable_since_ms = clock_monotonic_ms();
    watch_events(worker);
    int result = 0;
    while (worker->exit_code < 0 && result == 0) {
        result = socket_service(worker->socket, SERVICE_MS, err);
        look_around(worker);
    }
    hand_over(worker);
    notice_stop(TAKE(worker->notice));
    if (!stop_threads(worker)) {
        log_event(LOG_ERROR, "the scorer does not stop: leaving it behind");
        _exit(worker->exit_code > 0 ? worker->exit_code : 3);
    }
    return result;
}

static void release(struct worker *worker) {
    socket_free(worker->socket);
    scorer_free(worker->scorer);
    for (size_t i = 0; i < worker->told_count; i++) {
        free(worker->told[i].text);
        json_decref(worker->told[i].failures);
    }
    free(worker->told);
    free(worker->queue);
    store_free(worker->output);
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->changed);
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
                            .dropped_at_ms = -1,
                            .leaving_since_ms = -1,
                            .usual_ms = -1};
    pthread_mutex_init(&worker.lock, NULL);
    pthread_cond_init(&worker.changed, NULL);
    if (media_find(job->spec, &worker.media, &err) == 0 &&
        scorer_open(job->spec, &worker.scorer, &err) == 0) {
        if (store_open(job->output, /* writes= */ true, &worker.output, &err) < 0) {
            error_context(&err, "spec.output.path");
        } else if (live(&worker, &err) == 0) {
            err.kind = ERROR_NONE;
        }
    }
    if (err.kind) {
        log_event(LOG_ERROR, "%s", err.text);
    }
    release(&worker);
    return err.kind ? error_exit_code(&err) : worker.exit_code;
}
