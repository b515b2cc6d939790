// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/runners.h"

#include "agent/launch/pod/output_tail.h"
#include "agent/score/log/run_file.h"
#include "agent/store/spool.h"
#include "lib/log.h"
#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_MAX = 4096, /* leases of a runner; a coordinator grants at most about a thousand */
    REPORT_MS = 2,    /* how long a result waits for others while its runner has work */
    GATHER_MS = 50,   /* leases that take so long wait in spare slots meanwhile: job.c */
};

struct runner {
    struct runners *all;
    int index;
    struct scorer *scorer; /* used only by its thread, once that exists */
    pthread_t thread;
    bool has_thread;
    atomic_bool dropped;    /* the running lease is no longer wanted */
    atomic_bool ends;       /* the worker is leaving and must not wait any more */
    pthread_cond_t changed; /* a lease was added, or the thread must end */
    /* guarded by runners.lock */
    bool is_ready;
    struct scorer_lease *queue; /* leases that have not begun, from queue_first on; their `work` is
                                   owned */
    size_t queue_first, queue_count, queue_room;
    bool head_waits; /* the first one waits for a lease of an earlier connection */
    int64_t running; /* the lease that is being scored, or -1 */
    int64_t running_epoch;
    bool is_orphan;        /* it was granted on a lost connection */
    bool is_begun;         /* it is not waiting for its program */
    int64_t dropped_at_ms; /* when the running lease was revoked, or -1 */
    int64_t started_ms;    /* of the running lease */
    int64_t usual_ms;      /* the duration of the last lease; -1: none yet */
};

struct runners {
    struct runners_options options;
    const struct scorer_kind *kind;
    const struct media *media;
    enum sink_form form;
    struct runner *of;
    int count;
    struct store *log_store; /* NULL: logs are in the output */
    struct spool *log;       /* NULL before the first lease, and if the scorer has no program */
    bool has_tried_log;

    pthread_mutex_t lock;           /* guards all fields below and those marked in struct runner */
    struct scoring_report *reports; /* oldest first */
    size_t report_count, report_room;
    int64_t reported_since_ms; /* when the oldest of them was added */
    bool is_woken;             /* the connection's thread, which has not looked since */
    int running, revoked;      /* runners that run a lease; of those, a lease that was revoked */
    int64_t usual_ms;          /* the duration of the last lease of all */
    bool ends, is_leaving, is_storage_dead;
    struct error ended;   /* no scorer can succeed any more; kind NONE: not so */
    struct error startup; /* a scorer that cannot be started; kind NONE: none */
};

/* ---- results -------------------------------------------------------------------------------- */

/* The caller holds the lock. */
static void add_report(struct runners *runners, struct scoring_report report) {
    if (runners->report_count == 0) {
        runners->reported_since_ms = clock_monotonic_ms();
    }
    if (runners->report_count == runners->report_room) {
        runners->report_room = MAX(runners->report_room * 2, (size_t)16);
        runners->reports = x_realloc_array(runners->reports, runners->report_room, sizeof report);
    }
    runners->reports[runners->report_count++] = report;
}

/* The caller holds the lock. */
static void wake(struct runners *runners) {
    if (!runners->is_woken) {
        runners->is_woken = true;
        runners->options.wake(runners->options.context);
    }
}

json_t *runners_metrics(const struct runners *runners) {
    return runners->kind->metrics ? runners->kind->metrics(runners->of[0].scorer) : NULL;
}

void runners_share(const struct runners *runners, int workers) {
    if (runners->kind->share) {
        runners->kind->share(runners->of[0].scorer, workers);
    }
}

struct scoring_report *runners_take(struct runners *runners, size_t *ret_count) {
    pthread_mutex_lock(&runners->lock);
    struct scoring_report *report = runners->report_count ? TAKE(runners->reports) : NULL;
    *ret_count = runners->report_count;
    if (report) {
        runners->report_count = runners->report_room = 0;
    }
    pthread_mutex_unlock(&runners->lock);
    return report;
}

/* Reports an event of a runner's lease, not a result. The caller holds the lock. */
static void report_event(struct runner *runner, int64_t epoch, int64_t lease,
                         enum message_event event) {
    struct scoring_report report = {.epoch = epoch, .result = {.lease = lease, .event = event}};
    add_report(runner->all, report);
    wake(runner->all);
}

/* Called in a runner's thread. The coordinator's clock is stopped while the lease waits. */
static void on_waits(void *context, bool waits) {
    struct runner *runner = context;
    pthread_mutex_lock(&runner->all->lock);
    runner->is_begun = !waits;
    runner->started_ms = clock_monotonic_ms();
    report_event(runner, runner->running_epoch, runner->running,
                 waits ? MESSAGE_WAITS : MESSAGE_BEGINS);
    pthread_mutex_unlock(&runner->all->lock);
}

/* ---- scoring -------------------------------------------------------------------------------- */

/* Adds the program's output to a fault or failed items. */
static void add_tail(struct spool *log, int slot, struct scoring_report *report) {
    char output[SPOOL_TAIL + 1], tail[OUTPUT_TAIL_TEXT_BYTES + 1];
    const struct message_result *result = &report->result;
    if (result->is_fault ? result->fault != MESSAGE_SCORER : result->failed == 0) {
        return;
    }
    spool_tail(log, slot, output);
    output_tail_text(output, strlen(output), tail);
    if (*tail) {
        report->output_tail = x_strdup(tail);
        report->result.output_tail = report->output_tail;
        report->result.output_tail_size = strlen(tail);
    }
}

/* The caller holds the lock, which is released while the lease is scored. */
static void run_next(struct runner *runner) {
    struct runners *runners = runner->all;
    struct scorer_lease lease = runner->queue[runner->queue_first++], ahead = {0};
    bool has_ahead = --runner->queue_count > 0;
    if (has_ahead) {
        ahead = runner->queue[runner->queue_first];
        json_incref(ahead.work);
    }
    if (runner->head_waits) {
        runner->head_waits = false;
        report_event(runner, lease.epoch, lease.lease, MESSAGE_BEGINS);
    }
    runner->running = lease.lease;
    runners->running++;
    runner->running_epoch = lease.epoch;
    runner->is_orphan = false;
    runner->is_begun = true;
    runner->dropped_at_ms = -1;
    runner->started_ms = clock_monotonic_ms();
    atomic_store(&runner->dropped, false);
    pthread_mutex_unlock(&runners->lock);
    if (runners->log) {
        char mark[SPOOL_MARK];
        snprintf(mark, sizeof mark, "mini-batch %lld, try %d", (long long)lease.first, lease.try);
        spool_begin(runners->log, runner->index, mark);
    }
    bool is_dead = false;
    struct scoring scoring = {.job = runners->options.job,
                              .output = runners->options.output,
                              .publisher = runners->options.publisher,
                              .form = runners->form,
                              .kind = runners->kind,
                              .scorer = runner->scorer,
                              .dropped = &runner->dropped,
                              .ends = &runner->ends};
    struct scoring_report report =
        scoring_run(&scoring, &lease, has_ahead ? &ahead : NULL, &is_dead);
    struct error ended = {0};
    bool has_ended = report.result.is_fault && runners->kind->has_ended &&
                     runners->kind->has_ended(runner->scorer, &ended);
    report.work = lease.work;
    if (runners->log) {
        add_tail(runners->log, runner->index, &report);
    }
    pthread_mutex_lock(&runners->lock);
    int64_t now_ms = clock_monotonic_ms();
    json_decref(ahead.work);
    runner->running = -1;
    runners->running--;
    runners->revoked -= runner->dropped_at_ms >= 0;
    runners->usual_ms = runner->usual_ms = now_ms - runner->started_ms;
    runners->is_storage_dead |= is_dead;
    runners->ended = has_ended && !runners->ended.kind ? ended : runners->ended;
    add_report(runners, report);
    /* A runner with more quick leases reports several results at once. If the next lease is slow,
     * the connection's thread polls after a while. */
    if (runner->queue_count == 0 || runner->usual_ms >= REPORT_MS ||
        now_ms - runners->reported_since_ms >= REPORT_MS) {
        wake(runners);
    }
}

static void *run(void *context) {
    struct runner *runner = context;
    struct runners *runners = runner->all;
    struct error err = {0};
    int started = runners->kind->start(runner->scorer, &err);
    pthread_mutex_lock(&runners->lock);
    runner->is_ready = started == 0;
    if (started < 0 && !runners->startup.kind) {
        runners->startup = err;
    }
    while (!runners->ends) {
        if (runner->is_ready && runner->queue_count && !runners->is_leaving) {
            run_next(runner);
        } else {
            pthread_cond_wait(&runner->changed, &runners->lock);
        }
    }
    pthread_mutex_unlock(&runners->lock);
    runners->kind->free(TAKE(runner->scorer));
    return NULL;
}

/* Called in a runner's thread. */
static void on_output_line(void *context, const char *line, size_t size) {
    struct runner *runner = context;
    log_event(LOG_INFO, "slot %d: %.*s", runner->index, (int)size, line);
    pthread_mutex_lock(&runner->all->lock);
    struct spool *log = runner->all->log;
    pthread_mutex_unlock(&runner->all->lock);
    if (log) {
        spool_add(log, runner->index, line, size);
    }
}

/* ---- leases --------------------------------------------------------------------------------- */

/* Called when an epoch is known, which makes the log's name unique among workers of this name. The
 * caller holds the lock. */
static void open_log(struct runners *runners, int64_t epoch) {
    const struct job *job = runners->options.job;
    struct error err = {0};
    if (runners->has_tried_log || !runners->kind->says) {
        return;
    }
    runners->has_tried_log = true;
    char **names = x_calloc((size_t)runners->count, sizeof *names);
    for (int i = 0; i < runners->count; i++) {
        const char *folder = runners->log_store ? "" : ".windlass/";
        names[i] = x_printf("%s%s%s/%s-%d-%lld", folder, job->run, *folder ? "/log" : "",
                            job->worker, i, (long long)epoch);
    }
    struct spool_options options = {.store = runners->log_store ? runners->log_store
                                                                : runners->options.output,
                                    .names = (const char *const *)names,
                                    .count = runners->count};
    if (spool_new(&options, &runners->log, &err) < 0) {
        log_event(LOG_WARNING, "cannot store the programs' logs: %s", err.text);
    }
    for (int i = 0; i < runners->count; i++) {
        free(names[i]);
    }
    free(names);
}

/* The caller holds the lock. */
static void enqueue(struct runner *runner, const struct scorer_lease *lease) {
    if (runner->queue_first > runner->queue_count) { /* most of the room is before queue_first */
        memmove(runner->queue, runner->queue + runner->queue_first,
                runner->queue_count * sizeof *runner->queue);
        runner->queue_first = 0;
    }
    if (runner->queue_first + runner->queue_count == runner->queue_room) {
        runner->queue_room = MAX(runner->queue_room * 2, (size_t)16);
        runner->queue = x_realloc_array(runner->queue, runner->queue_room, sizeof *runner->queue);
    }
    runner->queue[runner->queue_first + runner->queue_count++] = *lease;
    if (runner->queue_count == 1) {
        if (runner->running >= 0 && runner->is_orphan) {
            runner->head_waits = true;
            report_event(runner, lease->epoch, lease->lease, MESSAGE_WAITS);
        }
    }
}

void runners_enqueue(struct runners *runners, int64_t epoch, const struct message_lease *leases,
                     size_t count) {
    pthread_mutex_lock(&runners->lock);
    open_log(runners, epoch);
    for (size_t i = 0; i < count; i++) {
        const struct message_lease *lease = &leases[i];
        bool is_ours = lease->slot >= 0 && lease->slot < runners->count;
        struct runner *runner = is_ours ? &runners->of[lease->slot] : NULL;
        if (!runner || runner->queue_count == QUEUE_MAX) {
            add_report(runners, scoring_report_fault(epoch, lease->lease, MESSAGE_HANDED_BACK,
                                                     is_ours ? "the queue of its slot is full"
                                                             : "this worker has no such slot"));
            continue;
        }
        struct scorer_lease given = {.epoch = epoch,
                                     .lease = lease->lease,
                                     .first = lease->first,
                                     .try = lease->try,
                                     .work = json_incref((json_t *)(uintptr_t)lease->work)};
        enqueue(runner, &given);
    }
    pthread_mutex_unlock(&runners->lock);
    /* Now: hundreds that were woken before would wait for the lock next. */
    for (size_t i = 0; i < count; i++) {
        if (leases[i].slot >= 0 && leases[i].slot < runners->count) {
            pthread_cond_signal(&runners->of[leases[i].slot].changed);
        }
    }
}

static void cancel(struct runner *runner, int64_t lease) {
    if (runner->running == lease) {
        log_event(LOG_WARNING, "lease %lld was revoked", (long long)lease);
        runner->all->revoked += runner->dropped_at_ms < 0;
        runner->dropped_at_ms = clock_monotonic_ms();
        atomic_store(&runner->dropped, true);
        return;
    }
    for (size_t i = 0; i < runner->queue_count; i++) {
        struct scorer_lease *queued = &runner->queue[runner->queue_first + i];
        if (queued->lease == lease) {
            add_report(runner->all, scoring_report_fault(queued->epoch, lease, MESSAGE_HANDED_BACK,
                                                         "cancelled"));
            json_decref(queued->work);
            memmove(queued, queued + 1, (--runner->queue_count - i) * sizeof *queued);
            if (i == 0 && runner->head_waits && runner->queue_count > 0) {
                report_event(runner, queued->epoch, queued->lease, MESSAGE_WAITS);
            }
            runner->head_waits = runner->head_waits && runner->queue_count > 0;
            return;
        }
    }
}

void runners_cancel(struct runners *runners, int64_t lease) {
    pthread_mutex_lock(&runners->lock);
    for (int i = 0; i < runners->count; i++) {
        cancel(&runners->of[i], lease);
    }
    pthread_mutex_unlock(&runners->lock);
}

/* Drops all queued leases; reports each with `cause`, unless it is NULL. The caller holds the
 * lock. */
static void drop_queues(struct runners *runners, const char *cause) {
    for (int i = 0; i < runners->count; i++) {
        struct runner *runner = &runners->of[i];
        for (size_t k = 0; k < runner->queue_count; k++) {
            const struct scorer_lease *lease = &runner->queue[runner->queue_first + k];
            if (cause) {
                add_report(runners, scoring_report_fault(lease->epoch, lease->lease,
                                                         MESSAGE_HANDED_BACK, cause));
            }
            json_decref(lease->work);
        }
        runner->queue_first = runner->queue_count = 0;
        runner->head_waits = false;
    }
}

void runners_forget(struct runners *runners) {
    pthread_mutex_lock(&runners->lock);
    drop_queues(runners, NULL);
    for (int i = 0; i < runners->count; i++) {
        runners->of[i].is_orphan = true; /* if it runs a lease */
    }
    pthread_mutex_unlock(&runners->lock);
}

void runners_hand_back(struct runners *runners) {
    pthread_mutex_lock(&runners->lock);
    drop_queues(runners, "its worker is leaving");
    pthread_mutex_unlock(&runners->lock);
}

/* ---- leaving -------------------------------------------------------------------------------- */

/* An idle runner is left alone, so that its program can end normally. The caller holds the lock. */
static void stop(struct runner *runner) {
    if (runner->running >= 0 || !runner->is_ready) {
        atomic_store(&runner->dropped, true);
        atomic_store(&runner->ends, true);
    }
}

void runners_leave(struct runners *runners) {
    int64_t now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&runners->lock);
    runners->is_leaving = true;
    for (int i = 0; i < runners->count; i++) {
        struct runner *runner = &runners->of[i];
        if (runner->usual_ms < 0 || !runner->is_begun ||
            runner->started_ms + runner->usual_ms - now_ms > RUNNERS_LAST_MS) {
            stop(runner);
        }
    }
    pthread_mutex_unlock(&runners->lock);
}

void runners_stop(struct runners *runners) {
    pthread_mutex_lock(&runners->lock);
    for (int i = 0; i < runners->count; i++) {
        stop(&runners->of[i]);
    }
    pthread_mutex_unlock(&runners->lock);
}

struct runners_status runners_read_status(struct runners *runners) {
    int64_t now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&runners->lock);
    struct runners_status view = {.is_idle = runners->running == 0,
                                  .has_idle = runners->running < runners->count,
                                  .is_storage_dead = runners->is_storage_dead,
                                  .ended = runners->ended};
    bool may_hang = runners->revoked > 0 && !runners->kind->has_clock;
    for (int i = 0; i < runners->count && may_hang; i++) {
        const struct runner *runner = &runners->of[i];
        bool is_dropped = runner->running >= 0 && runner->dropped_at_ms >= 0;
        view.hangs = view.hangs || (is_dropped && now_ms - runner->dropped_at_ms > RUNNERS_HANG_MS);
    }
    runners->is_woken = false; /* its caller takes what is there */
    pthread_mutex_unlock(&runners->lock);
    return view;
}

int runners_gather_ms(struct runners *runners) {
    pthread_mutex_lock(&runners->lock);
    bool gathers = runners->kind->has_spare_slots && runners->report_count > 0 &&
                   runners->usual_ms >= GATHER_MS;
    int64_t left_ms = runners->reported_since_ms + REPORT_MS - clock_monotonic_ms();
    pthread_mutex_unlock(&runners->lock);
    return gathers ? (int)MAX(left_ms, (int64_t)0) : 0;
}

/* ---- life ----------------------------------------------------------------------------------- */

int runners_count(const struct runners *runners) {
    return runners->count;
}

int runners_ready(struct runners *runners, struct error *err) {
    int ready = 0;
    pthread_mutex_lock(&runners->lock);
    for (int i = 0; i < runners->count; i++) {
        ready += runners->of[i].is_ready;
    }
    struct error startup = runners->startup;
    pthread_mutex_unlock(&runners->lock);
    if (startup.kind) {
        *err = startup;
        return -1;
    }
    return ready == runners->count;
}

/* Frees everything that no thread uses. */
static void release(struct runners *runners) {
    drop_queues(runners, NULL);
    for (int i = 0; i < runners->count; i++) {
        if (runners->kind) {
            runners->kind->free(runners->of[i].scorer);
        }
        free(runners->of[i].queue);
        pthread_cond_destroy(&runners->of[i].changed);
    }
    for (size_t i = 0; i < runners->report_count; i++) {
        scoring_report_release(&runners->reports[i]);
    }
    free(runners->reports);
    free(runners->of);
    if (spool_free(runners->log, RUNNERS_LOG_END_MS) == 0) {
        store_free(runners->log_store);
    }
    pthread_mutex_destroy(&runners->lock);
    free(runners);
}

static int open_all(struct runners *runners, struct error *err) {
    const struct job *job = runners->options.job;
    const char *logs = tree_text(job->spec, "logs.path", NULL);
    if (media_find(job->spec, &runners->media, err) < 0 ||
        scorer_find(job->spec, &runners->kind, err) < 0) {
        return -1;
    }
    if (logs && runners->kind->says &&
        store_open(logs, /* writes= */ true, &runners->log_store, err) < 0) {
        return error_context(err, "spec.logs.path");
    }
    runners->form = sink_read_form(job->spec, runners->media);
    runners->count = job->slots;
    runners->of = x_calloc((size_t)runners->count, sizeof *runners->of);
    for (int i = 0; i < runners->count; i++) {
        struct runner *runner = &runners->of[i];
        *runner = (struct runner){
            .all = runners, .index = i, .running = -1, .dropped_at_ms = -1, .usual_ms = -1};
        pthread_cond_init(&runner->changed, NULL);
        struct scorer_options options = {.spec = job->spec,
                                         .media = runners->media,
                                         .job = job->name,
                                         .worker = job->worker,
                                         .slot = i,
                                         .gpus = job->gpus,
                                         .secret = job->endpoint_key,
                                         .certificate_pem = job->endpoint_certificate_pem,
                                         .certificate_key_pem = job->endpoint_certificate_key_pem,
                                         .first = i > 0 ? runners->of[0].scorer : NULL,
                                         .timeout_ms = job->timeout_ms,
                                         .ends = &runner->ends,
                                         .log_line = on_output_line,
                                         .waits = on_waits,
                                         .context = runner};
        if (runners->kind->open(&options, &runner->scorer, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int runners_open(const struct runners_options *options, struct runners **ret_runners,
                 struct error *err) {
    struct runners *runners = x_calloc(1, sizeof *runners);
    runners->options = *options;
    pthread_mutex_init(&runners->lock, NULL);
    if (open_all(runners, err) < 0) {
        release(runners);
        return -1;
    }
    *ret_runners = runners;
    return 0;
}

int runners_list_files(const struct runners *runners, json_t **ret_files, struct error *err) {
    AUTO(tree_freep) json_t *files = NULL;
    for (int i = 0; i < runners->count; i++) {
        AUTO(tree_freep) json_t *own = json_object();
        const struct scorer *first = i > 0 ? runners->of[0].scorer : NULL;
        if (runners->kind->files(runners->of[i].scorer, first, own, err) < 0) {
            return -1;
        }
        const char *field = files ? run_file_find_change(files, own) : NULL;
        if (field) {
            return error_set(err, ERROR_UNAVAILABLE, "spec.%s changed while this worker started",
                             field);
        }
        files = files ? files : TAKE(own);
    }
    *ret_files = TAKE(files);
    return 0;
}

int runners_start(struct runners *runners, struct error *err) {
    for (int i = 0; i < runners->count; i++) {
        struct runner *runner = &runners->of[i];
        if (pthread_create(&runner->thread, NULL, run, runner) != 0) {
            return error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
        }
        runner->has_thread = true;
    }
    return 0;
}

bool runners_free(struct runners *runners, int64_t timeout_ms) {
    if (!runners) {
        return true;
    }
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    pthread_mutex_lock(&runners->lock);
    runners->ends = true;
    drop_queues(runners, NULL);
    for (int i = 0; i < runners->count; i++) {
        stop(&runners->of[i]);
        pthread_cond_signal(&runners->of[i].changed);
    }
    pthread_mutex_unlock(&runners->lock);
    for (int i = 0; i < runners->count; i++) {
        struct runner *runner = &runners->of[i];
        if (runner->has_thread && !timed_wait_join(runner->thread, end_ms)) {
            return false;
        }
    }
    release(runners);
    return true;
}
