// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/worker.h"

#include "agent/launch/pod/notice.h"
#include "agent/score/log/scored_by.h"
#include "agent/score/scorer/scorer.h"
#include "agent/score/wire/volume_watch.h"
#include "agent/score/worker/ask_paths.h"
#include "agent/score/worker/runners.h"
#include "lib/log.h"
#include "lib/net/socket.h"
#include "lib/text/usage_error.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SERVICE_MS = 200,
    READY_STEP_MS = 20,
    KEPT_BLOCK_MAX = 32 << 20, /* bytes; the largest threshold that glibc takes */
    KEPT_FREE_MAX = 128 << 20,
    WATCH_MS_MIN = 500, /* interval of checks of the volumes: a quarter of a try's time, ... */
    WATCH_MS_MAX = 5000,
    HANGS_MS_MIN = 2000, /* ... and a response may take half of that time, so that a hanging mount
                            is detected before the try times out */
};

struct worker {
    const struct job *job;
    struct store *output;
    struct publisher *publisher; /* NULL where workers publish nothing */
    struct runners *runners;
    struct socket_client *socket;
    pthread_mutex_t wake_lock; /* guards the socket against being closed while other threads wake
                                  it */
    int exit_code;             /* -1: continue */
    bool is_useless;           /* the user's program ends alike in every worker */
    json_t *files;             /* of the scorers: scorer.h */
    int64_t epoch;             /* of the newest coordinator that granted leases; -1: none */
    bool was_cancelled;        /* a lease was revoked */
    int64_t finished;          /* leases, as far as they are reported */
    json_t *metrics;           /* as sent last; NULL: none were */
    int64_t tally_ms;
    int64_t left_finished, left_ms; /* what the termination message says, and its time */
    char last_words[512];           /* why it ends; "": for no fault */
    int64_t unreachable_since_ms;
    char complaint[512];      /* the last logged reason, so that repeated attempts log it once */
    int64_t leaving_since_ms; /* time of SIGTERM; -1: none */
    struct notice *notice;    /* NULL: no notice of a preemption */
    atomic_bool is_preempted; /* set by the notice's thread */
    struct volume_watch *volumes;
    atomic_bool hangs; /* a volume hangs; set by the volumes' thread */
};

PRINTF_LIKE(3, 4)
static void give_up(struct worker *worker, int exit_code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(worker->last_words, sizeof worker->last_words, format, arguments);
    va_end(arguments);
    log_event(LOG_ERROR, "%s", worker->last_words);
    worker->exit_code = exit_code;
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

/* A worker that is killed after this has finished something: the operator then counts the deaths in
 * its place anew. A worker that has finished nothing leaves no message, so that its log's last
 * lines are taken for one. */
static void leave_evidence(struct worker *worker, bool at_once) {
    int64_t now_ms = clock_monotonic_ms();
    bool is_due = worker->left_finished == 0 || now_ms - worker->left_ms >= JOB_LEAVE_MS;
    if (worker->finished == 0 ||
        (!at_once && (worker->finished == worker->left_finished || !is_due))) {
        return;
    }
    AUTO(tree_freep)
    json_t *words = json_pack("{s:I, s:s}", "progress", (json_int_t)worker->finished, "message",
                              worker->last_words);
    AUTO(text_freep) char *text = json_dumps(words, JSON_COMPACT);
    job_write_termination_message(text ? text : "");
    worker->left_finished = worker->finished;
    worker->left_ms = now_ms;
}

/* Between taking the results and sending them: when the last one arrives, the coordinator knows
 * what all have cost. It may come from a second run, while the first still runs. */
static void send_tally(struct worker *worker) {
    enum { REQUESTS_MS = 1000 };
    int64_t now_ms = clock_monotonic_ms();
    struct runners_status view = runners_read_status(worker->runners);
    bool has_twins = view.has_idle && scorer_may_repeat(worker->job->spec);
    bool is_last = worker->leaving_since_ms >= 0 || view.is_idle || has_twins;
    if (now_ms - worker->tally_ms < REQUESTS_MS && !is_last) {
        return;
    }
    json_t *metrics = runners_metrics(worker->runners);
    worker->tally_ms = now_ms;
    if (!metrics || worker->epoch < 0 || json_equal(metrics, worker->metrics)) {
        json_decref(metrics);
        return;
    }
    tree_freep(&worker->metrics);
    worker->metrics = metrics;
    send_message(worker, &(struct message){
                             .type = MESSAGE_RESULTS, .epoch = worker->epoch, .metrics = metrics});
}

/* Sends results in as few messages as possible; a message is for one epoch. Each result fits into a
 * message, since the parts that grow with the items are bounded (staged_output.h, failures.h). */
static void send_results(struct worker *worker) {
    struct message_batch batch;
    size_t count = 0;
    struct scoring_report *reports = runners_take(worker->runners, &count);
    send_tally(worker);
    message_batch_init(&batch, MESSAGE_RESULTS, 0);
    for (size_t i = 0; i < count; i++) {
        if (batch.epoch != reports[i].epoch) {
            send_batch(worker, &batch);
            batch.epoch = reports[i].epoch;
        }
        int added = message_batch_result(&batch, &reports[i].result);
        if (added == 0) {
            send_batch(worker, &batch);
            added = message_batch_result(&batch, &reports[i].result);
        }
        assert(added > 0);
        worker->finished += reports[i].result.event == MESSAGE_ENDS && !reports[i].result.is_fault;
        scoring_report_release(&reports[i]);
    }
    free(reports);
    send_batch(worker, &batch);
    message_batch_release(&batch);
    leave_evidence(worker, /* at_once= */ false);
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

static void on_opened(void *context) {
    struct worker *worker = context;
    struct message hello = {
        .type = MESSAGE_HELLO, .slots = runners_count(worker->runners), .files = worker->files};
    worker->unreachable_since_ms = -1;
    tree_freep(&worker->metrics); /* the coordinator may be another one */
    worker->complaint[0] = 0;
    snprintf(hello.name, sizeof hello.name, "%s", worker->job->worker);
    snprintf(hello.program, sizeof hello.program, "%s", scored_by_own());
    if (worker->job->deaths && worker->job->before &&
        sscanf(worker->job->deaths, "%9d/%9d", &hello.deaths, &hello.deaths_max) == 2) {
        snprintf(hello.text, sizeof hello.text, "%s", worker->job->before);
    }
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
    runners_forget(worker->runners);
    if (worker->publisher) {
        publisher_forget(worker->publisher);
    }
    if (why->kind == ERROR_DENIED && strstr(why->text, "token")) {
        worker->exit_code = 1;
    }
}

static void on_message(struct worker *worker, const struct message *message) {
    switch (message->type) {
    case MESSAGE_LEASES:
        worker->epoch = MAX(worker->epoch, message->epoch);
        runners_share(worker->runners, message->workers);
        runners_enqueue(worker->runners, message->epoch, message->leases, message->count);
        break;
    case MESSAGE_COMMITTED:
        for (size_t i = 0; worker->publisher && i < message->count; i++) {
            publisher_publish(worker->publisher, message->epoch, message->numbers[i]);
        }
        break;
    case MESSAGE_CANCEL:
        worker->was_cancelled = true;
        runners_cancel(worker->runners, message->lease);
        break;
    case MESSAGE_DONE:
        log_event(LOG_INFO, "no work is left");
        worker->exit_code = 0;
        break;
    case MESSAGE_REFUSED:
        give_up(worker, 1, "the coordinator refuses this worker: %s", message->text);
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
        log_event(LOG_WARNING, "invalid message from the coordinator: %s", err.text);
        return;
    }
    on_message(worker, &message);
}

static const struct socket_events events = {on_opened, on_received, on_closed};

/* ---- life ----------------------------------------------------------------------------------- */

static void start_leaving(struct worker *worker) {
    log_event(LOG_WARNING, "%s: handing leases back",
              job_is_interrupted() ? "interrupted" : "this machine will be reclaimed");
    worker->leaving_since_ms = clock_monotonic_ms();
    runners_leave(worker->runners);
}

/* True if nothing runs any more, the time is over, or the connection is lost. */
static bool is_ready_to_leave(struct worker *worker, bool is_idle) {
    int64_t left_ms = worker->leaving_since_ms + RUNNERS_LAST_MS - clock_monotonic_ms();
    if (left_ms <= 0) {
        runners_stop(worker->runners);
    }
    return is_idle || left_ms + WORKER_FLUSH_MS <= 0 || !socket_is_open(worker->socket);
}

/* Sends the last message: finished leases and those handed back. The coordinator then closes the
 * connection. */
static void hand_over(struct worker *worker) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + WORKER_FLUSH_MS;
    if (worker->leaving_since_ms < 0 || !socket_is_open(worker->socket)) {
        return;
    }
    runners_hand_back(worker->runners);
    send_message(worker, &(struct message){.type = MESSAGE_LEAVING});
    send_results(worker);
    send_message(worker, &(struct message){.type = MESSAGE_RESULTS}); /* the last message, even if
                                                                         it is empty */
    while (socket_is_open(worker->socket) && clock_monotonic_ms() < end_ms &&
           socket_service(worker->socket, SERVICE_MS, &err) == 0) {
    }
}

/* The work between events. */
static void run_periodic(struct worker *worker) {
    int64_t now_ms = clock_monotonic_ms();
    struct runners_status view = runners_read_status(worker->runners);
    if (socket_is_open(worker->socket) && worker->leaving_since_ms < 0) {
        send_results(worker);
    }
    if (worker->publisher && socket_is_open(worker->socket)) {
        send_published(worker);
    }
    if (view.hangs) {
        give_up(worker, 3, "a revoked mini-batch does not end: giving up");
    } else if (view.ended.kind) {
        worker->is_useless = view.ended.kind == ERROR_DENIED;
        give_up(worker, 3, "spec.scorer: %s", view.ended.text);
    } else if (view.is_storage_dead || atomic_load(&worker->hangs)) {
        give_up(worker, 3, "a storage cannot be reached from this machine: giving up");
    } else if (worker->leaving_since_ms >= 0) {
        if (worker->exit_code < 0 && is_ready_to_leave(worker, view.is_idle)) {
            worker->exit_code = 130;
        }
    } else if (job_is_interrupted() || atomic_load(&worker->is_preempted)) {
        start_leaving(worker);
    } else if (worker->unreachable_since_ms >= 0 &&
               now_ms - worker->unreachable_since_ms > WORKER_UNREACHABLE_MS) {
        give_up(worker, CONTRACT_EXIT_UNREACHABLE, "could not reach the coordinator at %s for %d s",
                worker->job->coordinator, WORKER_UNREACHABLE_MS / 1000);
    }
}

/* Stops scorers and publisher, which remove partial files. False: they did not stop in time. */
static bool stop_threads(struct worker *worker) {
    return runners_free(TAKE(worker->runners), WORKER_FAREWELL_MS) &&
           (!worker->publisher || publisher_free(TAKE(worker->publisher), WORKER_FAREWELL_MS));
}

static void wake(void *context) {
    struct worker *worker = context;
    pthread_mutex_lock(&worker->wake_lock);
    if (worker->socket) {
        socket_wake(worker->socket);
    }
    pthread_mutex_unlock(&worker->wake_lock);
}

/* For a worker that cannot end normally: a thread that waits for a storage may keep even a killed
 * process alive that long, and the coordinator would wait for it. */
__attribute__((noreturn)) static void break_off(struct worker *worker, int exit_code) {
    pthread_mutex_lock(&worker->wake_lock);
    socket_free(TAKE(worker->socket));
    pthread_mutex_unlock(&worker->wake_lock);
    leave_evidence(worker, /* at_once= */ true);
    _exit(exit_code);
}

static void on_notice(void *context, const struct notice_event *event) {
    struct worker *worker = context;
    log_event(LOG_WARNING, "event %s: %s in %lld s", event->id, event->type,
              (long long)event->left_ms / 1000);
    atomic_store(&worker->is_preempted, true);
    wake(worker);
}

static void on_notice_changed(void *context, const struct error *err) {
    (void)context;
    log_event(err->kind ? LOG_WARNING : LOG_INFO, "scheduled events: %s",
              err->kind ? err->text : "answered");
}

/* Without notices the worker still gets SIGTERM. */
static void watch_events(struct worker *worker) {
    struct error err = {0};
    struct notice_options options = {.url = worker->job->events,
                                     .announced = on_notice,
                                     .changed = on_notice_changed,
                                     .context = worker};
    if (worker->job->events && notice_start(&options, &worker->notice, &err) < 0) {
        log_event(LOG_WARNING, "%s", err.text);
    }
}

static void on_hang(void *context, const struct error *why) {
    struct worker *worker = context;
    log_event(LOG_ERROR, "%s", why->text);
    atomic_store(&worker->hangs, true);
}

/* A hanging mount must be detected before a lease times out; otherwise it would cost the mini-batch
 * a try. */
static int watch_mounts(struct worker *worker, struct error *err) {
    const struct job *job = worker->job;
    int64_t every_ms = MAX(MIN(job->timeout_ms / 4, (int64_t)WATCH_MS_MAX), (int64_t)WATCH_MS_MIN);
    int64_t hangs_ms =
        MAX(MIN(job->timeout_ms / 2, (int64_t)VOLUME_CHECK_MS), (int64_t)HANGS_MS_MIN);
    struct volume_watch_options options = {.job = job,
                                           .every_ms = (int)every_ms,
                                           .timeout_ms = (int)hangs_ms,
                                           .hangs = on_hang,
                                           .context = worker};
    return volume_watch_start(&options, &worker->volumes, err);
}

/* A worker connects to the coordinator when it is ready, so that its leases run at once, on storage
 * that responds. */
static int await_runners(struct worker *worker, struct error *err) {
    int ready = 0;
    while (ready == 0 && worker->exit_code < 0) {
        if (atomic_load(&worker->hangs)) {
            return error_set(err, ERROR_UNAVAILABLE, "a storage cannot be reached");
        }
        ready = runners_ready(worker->runners, err);
        if (ready < 0) {
            bool is_foreign = !tree_get(worker->job->spec, "scorer.onnx"); /* not in our hands */
            worker->is_useless = is_foreign && err->kind == ERROR_INVALID;
            return error_context(err, "spec.scorer");
        }
        if (job_is_interrupted()) {
            log_event(LOG_WARNING, "interrupted before the first mini-batch");
            worker->exit_code = 130;
        } else if (ready == 0) {
            poll(NULL, 0, READY_STEP_MS);
        }
    }
    return worker->exit_code < 0 ? volume_watch_check(worker->job, VOLUME_CHECK_MS, err) : 0;
}

static int stay_connected(struct worker *worker, struct error *err) {
    int result = 0;
    worker->unreachable_since_ms = clock_monotonic_ms();
    watch_events(worker);
    while (worker->exit_code < 0 && result == 0) {
        result = socket_service(worker->socket, SERVICE_MS, err);
        int gather_ms = runners_gather_ms(worker->runners);
        if (gather_ms > 0) {
            poll(NULL, 0, gather_ms);
        }
        run_periodic(worker);
    }
    hand_over(worker);
    notice_stop(TAKE(worker->notice));
    return result;
}

static int live(struct worker *worker, struct error *err) {
    struct socket_options options = {.address = worker->job->coordinator,
                                     .path = "/work",
                                     .token = worker->job->token,
                                     .sha256 = worker->job->sha256,
                                     .events = &events,
                                     .context = worker};
    int result = watch_mounts(worker, err) < 0 ? -1 : runners_start(worker->runners, err);
    if (result == 0) {
        result = await_runners(worker, err);
    }
    if (result == 0 && worker->exit_code < 0) {
        result = socket_open(&options, &worker->socket, err) < 0 ? error_context(err, "coordinator")
                                                                 : stay_connected(worker, err);
    }
    if (atomic_load(&worker->hangs)) {
        break_off(worker, 3);
    }
    volume_watch_free(TAKE(worker->volumes));
    if (!stop_threads(worker)) {
        log_event(LOG_ERROR, "the scorer does not stop: exiting without it");
        break_off(worker, worker->exit_code > 0 ? worker->exit_code : 3);
    }
    return result;
}

/* Faults of the spec or the model are reported before anything starts. */
static int open_worker(struct worker *worker, struct error *err) {
    const struct job *job = worker->job;
    const struct media *media = NULL;
    if (volume_watch_check(job, VOLUME_CHECK_MS, err) < 0) {
        return -1;
    }
    int asked = ask_paths(job, err);
    if (asked != 0) {
        bool is_late = asked < 0 && err->kind == ERROR_UNAVAILABLE;
        worker->exit_code = asked > 0 ? 0 : is_late ? CONTRACT_EXIT_UNREACHABLE : -1;
        return MIN(asked, 0);
    }
    if (store_open(job->output, /* writes= */ true, &worker->output, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if (media_find(job->spec, &media, err) < 0 ||
        (sink_read_form(job->spec, media) == SINK_PACKS &&
         publisher_new(worker->output, wake, worker, &worker->publisher, err) < 0)) {
        return -1;
    }
    struct runners_options options = {.job = job,
                                      .output = worker->output,
                                      .publisher = worker->publisher,
                                      .wake = wake,
                                      .context = worker};
    return runners_open(&options, &worker->runners, err) < 0
               ? -1
               : runners_list_files(worker->runners, &worker->files, err);
}

int worker_run(const struct job *job, int64_t *ret_epoch) {
    /* Pictures of megabytes are allocated and freed all the time: freed memory is kept for the next
     * one, instead of being returned to the system and faulted in again page by page. */
    mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_MAX);
    struct error err = {0};
    struct worker worker = {.job = job,
                            .exit_code = -1,
                            .epoch = -1,
                            .unreachable_since_ms = -1,
                            .leaving_since_ms = -1};
    pthread_mutex_init(&worker.wake_lock, NULL);
    if (open_worker(&worker, &err) == 0 && (worker.exit_code >= 0 || live(&worker, &err) == 0)) {
        err.kind = ERROR_NONE;
    }
    if (worker.publisher) {
        (void)publisher_free(worker.publisher, WORKER_FAREWELL_MS);
    }
    if (err.kind) {
        give_up(&worker, worker.exit_code > 0 ? worker.exit_code : error_exit_code(&err), "%s",
                err.text);
    }
    leave_evidence(&worker, /* at_once= */ true);
    socket_free(worker.socket);
    store_free(worker.output);
    tree_freep(&worker.files);
    tree_freep(&worker.metrics);
    pthread_mutex_destroy(&worker.wake_lock);
    if (worker.exit_code != 0 || worker.was_cancelled) {
        *ret_epoch = worker.epoch;
    }
    return worker.is_useless ? USAGE_ERROR_EXIT : worker.exit_code;
}
