// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/coordinator.h"

#include "agent/score/coordinator/assemble.h"
#include "agent/score/coordinator/background/background_service.h"
#include "agent/score/coordinator/background/background_task.h"
#include "agent/score/coordinator/dispatcher.h"
#include "agent/score/coordinator/exit_code.h"
#include "agent/score/coordinator/outputs.h"
#include "agent/score/coordinator/rerun.h"
#include "agent/score/coordinator/run_result.h"
#include "agent/score/coordinator/stale.h"
#include "agent/score/coordinator/summary.h"
#include "agent/score/coordinator/tidy.h"
#include "agent/score/wire/volume_watch.h"
#include "lib/log.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SERVICE_MS = 100,
    STORING_MS = 10,   /* poll interval while a commit is awaited */
    REPORT_MS = 10000, /* interval of progress lines in the log */
    DRAIN_MS = 10000,  /* time limit for running leases after a threshold is exceeded */
    PUBLISH_MS = 5000, /* at the end: time limit without news from publishing workers */
    FLUSH_MS = 2000,   /* time limit for the last commit after SIGTERM */
    WATCH_MS = 5000,   /* interval of checks of the volumes */
    HANGS_MS = 300000, /* how long to wait for a hanging volume: as long as commits wait */
    VOIDS_MAX = 5,     /* maximum of rounds that score broken results again */
};

struct coordinator {
    struct dispatcher dispatcher; /* must be first: the server's events pass its address */
    const struct job *job;
    struct job own_job; /* `job` points to it: its mini-batch size may change (prepared.h) */
    struct prepared_job prepared;
    atomic_llong trial_ends_ms; /* prepared_open */
    bool is_listed;
    json_t *outputs;
    struct parts parts; /* of a join */
    int voids;
    struct background_task task;
    int64_t started_wall_ms, reported_ms;
    bool is_told;       /* report and summary are written */
    bool is_superseded; /* another coordinator reports the outcome */
    json_t *finished;   /* how an earlier job ended this run, so that nothing is left to do; or
                           NULL */
};

static struct journal *journal_of(struct coordinator *coordinator) {
    return &coordinator->prepared.journal;
}

/* NULL while listing. */
static const struct ledger *ledger_of(const struct coordinator *coordinator) {
    return coordinator->is_listed ? coordinator->prepared.journal.ledger : NULL;
}

/* ---- background tasks ----------------------------------------------------------------------- */

static int list_input(struct coordinator *coordinator, struct error *err) {
    return prepared_open(&coordinator->own_job, &coordinator->trial_ends_ms,
                         &coordinator->dispatcher.progress.trouble, &coordinator->prepared, err);
}

static int make_outputs(struct coordinator *coordinator, struct error *err) {
    return outputs_make(&coordinator->prepared, coordinator->job, &coordinator->parts,
                        coordinator->outputs, err);
}

static int check_input_again(struct coordinator *coordinator, struct error *err) {
    return rerun_look_again(&coordinator->prepared, coordinator->job, err);
}

/* For a failed job: writes the outputs that are usable. */
static int save_rest(struct coordinator *coordinator, struct error *err) {
    return assemble(&coordinator->prepared, coordinator->job, /* is_whole= */ false,
                    &coordinator->parts, /* outputs= */ NULL, err);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static json_t *progress_tree(const struct coordinator *coordinator) {
    const struct ledger *ledger = ledger_of(coordinator);
    struct ledger_counts counts = ledger ? ledger_read_counts(ledger) : (struct ledger_counts){0};
    return run_progress_json(&coordinator->dispatcher.progress, &counts, clock_monotonic_ms());
}

static struct server_page on_page(void *context, const struct server_request *request) {
    const struct coordinator *coordinator = context;
    if (strcmp(request->path, "/healthz") == 0) {
        return (struct server_page){.body = x_strdup("{\"status\": \"ok\"}")};
    }
    if (strcmp(request->path, "/progress") != 0) {
        return (struct server_page){0};
    }
    AUTO(tree_freep) json_t *tree = progress_tree(coordinator);
    return server_page_of_readers(request, json_dumps(tree, JSON_COMPACT));
}

static const struct server_events events = {on_page, dispatcher_opened, dispatcher_received,
                                            dispatcher_closed};

/* ---- the job's course ----------------------------------------------------------------------- */

static void tick(struct coordinator *coordinator) {
    int64_t now_ms = clock_monotonic_ms();
    dispatcher_tick(&coordinator->dispatcher);
    run_progress_tell_trouble(&coordinator->dispatcher.progress, now_ms);
    if (ledger_of(coordinator) && now_ms - coordinator->reported_ms >= REPORT_MS) {
        struct ledger_counts counts = ledger_read_counts(ledger_of(coordinator));
        char rate[32];
        run_progress_format_rate(run_progress_rate(&coordinator->dispatcher.progress, now_ms),
                                 rate);
        log_event(LOG_INFO, "%lld of %lld items done, %s items/s, %d workers",
                  (long long)counts.items.done, (long long)counts.items.total, rate,
                  counts.workers);
        coordinator->reported_ms = now_ms;
    }
}

static int serve(struct coordinator *coordinator, int64_t timeout_ms, struct error *err) {
    int ms = (int)MAX(MIN(timeout_ms, SERVICE_MS), 1);
    if (server_service(coordinator->dispatcher.server, ms, err) < 0) {
        return -1;
    }
    tick(coordinator);
    return job_is_interrupted() ? error_set(err, ERROR_CANCELLED, "Cancelled") : 0;
}

/* Serves until the task ends; returns the task's result. */
static int await_task(struct coordinator *coordinator, struct error *err) {
    while (!background_task_has_ended(&coordinator->task)) {
        if (serve(coordinator, SERVICE_MS, err) < 0) {
            return -1; /* the process ends, and the thread with it */
        }
        int64_t ends_ms = atomic_load(&coordinator->trial_ends_ms);
        if (ends_ms > 0 && clock_monotonic_ms() >= ends_ms) {
            prepared_trial_error(coordinator->job, err);
            return -1;
        }
    }
    return background_task_join(&coordinator->task, err);
}

static int run_to_end(struct coordinator *coordinator,
                      int (*run)(struct coordinator *coordinator, struct error *err),
                      struct error *err) {
    coordinator->task = (struct background_task){
        .coordinator = coordinator, .run = run, .server = coordinator->dispatcher.server};
    return background_task_start(&coordinator->task, err) < 0 ? -1 : await_task(coordinator, err);
}

/* The task works on journal and ledger: the dispatcher is paused until dispatcher_resume. */
static int run_on_journal(struct coordinator *coordinator,
                          int (*run)(struct coordinator *coordinator, struct error *err),
                          struct error *err) {
    dispatcher_pause(&coordinator->dispatcher);
    return run_to_end(coordinator, run, err);
}

/* No worker runs anything: all wait until accepted results are stored. */
static bool is_idle(const struct ledger *ledger) {
    return ledger_read_counts(ledger).leased == 0 && !ledger_is_committed(ledger);
}

/* Serves once and handles the consequences: commits due records, grants leases. */
static int work(struct coordinator *coordinator, bool at_once, struct error *err) {
    struct dispatcher *dispatcher = &coordinator->dispatcher;
    const struct ledger *ledger = ledger_of(coordinator);
    int64_t deadline_ms = ledger_deadline_ms(ledger), left_ms = SERVICE_MS;
    if (deadline_ms >= 0) {
        left_ms = deadline_ms - clock_monotonic_ms();
    }
    if (!journal_is_stored(journal_of(coordinator))) {
        left_ms = MIN(left_ms, at_once || is_idle(ledger) ? STORING_MS : SERVICE_MS / 2);
    }
    if (serve(coordinator, left_ms, err) < 0) {
        return -1;
    }
    if (dispatcher_turn(dispatcher, at_once || is_idle(ledger), err) < 0) {
        coordinator->is_superseded = err->kind == ERROR_GONE || err->kind == ERROR_BUSY;
        return -1;
    }
    summary_leave_progress(&dispatcher->progress, ledger, journal_of(coordinator)->kept_count);
    if (prepared_extend(&coordinator->prepared, err) < 0) {
        return -1;
    }
    rerun_follow(&coordinator->prepared, coordinator->job, &dispatcher->progress);
    dispatcher_settle(dispatcher);
    if (dispatcher->failure.kind) {
        *err = dispatcher->failure;
        return -1;
    }
    return 0;
}

/* Serves until all records are stored, at most timeout_ms. */
static int store_all(struct coordinator *coordinator, int64_t timeout_ms, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    while (!journal_is_stored(journal_of(coordinator)) && clock_monotonic_ms() < end_ms) {
        if (work(coordinator, /* at_once= */ true, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void note_lost(struct coordinator *coordinator) {
    const struct prepared_job *prepared = &coordinator->prepared;
    if (prepared->listing && prepared->media->lost) {
        run_progress_lose(&coordinator->dispatcher.progress,
                          prepared->media->lost(prepared->listing));
    }
}

static int list_phase(struct coordinator *coordinator, struct error *err) {
    if (run_to_end(coordinator, list_input, err) < 0) {
        return -1;
    }
    coordinator->is_listed = true;
    note_lost(coordinator);
    rerun_follow(&coordinator->prepared, coordinator->job, &coordinator->dispatcher.progress);
    struct ledger_counts counts = ledger_read_counts(ledger_of(coordinator));
    struct run_progress *progress = &coordinator->dispatcher.progress;
    log_event(LOG_INFO, "%lld %s in %lld mini-batches, %lld of them are done",
              (long long)counts.items.total, coordinator->prepared.media->unit,
              (long long)counts.cells.total, (long long)counts.cells.done);
    progress->state = PROGRESS_RUNNING;
    progress->items_before = counts.items.done;
    coordinator->reported_ms = clock_monotonic_ms();
    return 0;
}

/* Returns -1 if the job has failed; the error has the first cause. */
static int has_failed(struct coordinator *coordinator, struct error *err) {
    struct journal_first_failure first = journal_find_first_failure(journal_of(coordinator));
    const struct ledger *ledger = ledger_of(coordinator);
    struct ledger_counts counts = ledger_read_counts(ledger);
    char why[LEDGER_THRESHOLD_BYTES];
    bool is_over = ledger_find_exceeded(ledger, why);
    /* A film shows the frame before in the place of one that has failed, but it needs one. */
    bool has_nothing = coordinator->prepared.form == SINK_PARTS && counts.items.done == 0 &&
                       ledger_is_accounted(ledger);
    if (!is_over && !has_nothing) {
        return 0;
    } else if (!is_over) {
        snprintf(why, sizeof why, "%lld of %lld mini-batches have failed",
                 (long long)counts.cells.failed, (long long)counts.cells.total);
    }
    if (first.tries == 0) {
        return is_over ? ledger_check_thresholds(ledger, err)
                       : error_set(err, ERROR_FAILED, "%s", why);
    }
    return error_set(err, ERROR_FAILED, "%s (mini-batch %lld on %s, %d tries; %s)", first.cause,
                     (long long)first.cell, first.worker, first.tries, why);
}

/* Grants no more leases, lets running ones end, then stores everything that was accepted. */
static int drain(struct coordinator *coordinator, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + DRAIN_MS;
    coordinator->dispatcher.grants = false;
    while (ledger_read_counts(ledger_of(coordinator)).leased > 0 && clock_monotonic_ms() < end_ms) {
        if (work(coordinator, false, err) < 0) {
            return -1;
        }
    }
    return journal_end(journal_of(coordinator), /* succeeded= */ false, err) < 0
               ? -1
               : store_all(coordinator, INT32_MAX, err);
}

static int give_up(struct coordinator *coordinator, const struct error *verdict,
                   struct error *err) {
    struct error rest = {0};
    if (drain(coordinator, err) < 0) {
        return -1;
    }
    if (run_on_journal(coordinator, save_rest, &rest) < 0) {
        if (rest.kind == ERROR_CANCELLED) {
            *err = rest;
            return -1;
        }
        log_event(LOG_ERROR, "%s", rest.text);
    }
    *err = *verdict;
    return -1;
}

static int lease_phase(struct coordinator *coordinator, struct error *err) {
    struct run_progress *progress = &coordinator->dispatcher.progress;
    coordinator->dispatcher.grants = progress->knows_storage = true;
    progress->state = PROGRESS_RUNNING;
    progress->excludes = store_features(coordinator->prepared.output).creates;
    dispatcher_settle(&coordinator->dispatcher);
    while (!ledger_is_committed(ledger_of(coordinator))) {
        struct error verdict = {0};
        if (has_failed(coordinator, &verdict) < 0) {
            return give_up(coordinator, &verdict, err);
        }
        if (work(coordinator, false, err) < 0) {
            return -1;
        }
    }
    struct error verdict = {0};
    return has_failed(coordinator, &verdict) < 0 ? give_up(coordinator, &verdict, err) : 0;
}

/* Workers publish their own results, which is faster. The coordinator publishes the rest. */
static int await_publishers(struct coordinator *coordinator, struct error *err) {
    struct dispatcher *dispatcher = &coordinator->dispatcher;
    while (dispatcher->publishing > 0 &&
           clock_monotonic_ms() - dispatcher->published_ms < PUBLISH_MS) {
        if (work(coordinator, false, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* True if another coordinator, which was already joining these results when we began, has reported
 * the end since. It tidies up. */
static bool was_outrun(struct coordinator *coordinator) {
    int code = 1;
    AUTO(tree_freep)
    json_t *words = summary_read_message(coordinator->job, /* any_uid= */ false, &code);
    coordinator->finished = code == 0 ? TAKE(words) : NULL;
    return coordinator->finished != NULL;
}

/* 1: the outputs exist; 0: results were broken in the store and are scored again. */
static int join_phase(struct coordinator *coordinator, struct error *err) {
    struct journal *journal = journal_of(coordinator);
    int64_t broken = 0;
    if (await_publishers(coordinator, err) < 0 || journal_end(journal, true, err) < 0 ||
        store_all(coordinator, INT32_MAX, err) < 0) {
        return -1;
    }
    coordinator->dispatcher.progress.state = PROGRESS_JOINING;
    struct error cause = {0};
    free(TAKE(coordinator->parts.places));
    if (run_on_journal(coordinator, make_outputs, &cause) == 0) {
        note_lost(coordinator);
        return 1;
    }
    if (cause.kind != ERROR_CANCELLED && was_outrun(coordinator)) {
        return 1;
    }
    if (cause.kind == ERROR_CANCELLED || coordinator->voids++ == VOIDS_MAX) {
        *err = cause;
        return -1;
    }
    const struct parts *parts = coordinator->parts.places ? &coordinator->parts : NULL;
    if (journal_void_broken(journal, parts, &broken, err) < 0) {
        return -1;
    }
    if (broken == 0) {
        *err = cause;
        return -1;
    }
    log_event(LOG_WARNING, "%lld results are missing or damaged and will be scored again: %s",
              (long long)broken, cause.text);
    dispatcher_resume(&coordinator->dispatcher);
    return 0;
}

/* A job is successful only with its report and summary, as summary_write_all needs them, and with
 * the result.json that names them. */
static int write_reports(struct coordinator *coordinator, const struct error *outcome,
                         struct error *err) {
    struct run_progress *progress = &coordinator->dispatcher.progress;
    struct summary summary = {.job = coordinator->job,
                              .progress = progress,
                              .ledger = ledger_of(coordinator),
                              .files = coordinator->prepared.files,
                              .started_wall_ms = coordinator->started_wall_ms,
                              .completed_wall_ms = clock_wall_ms(),
                              .exit_code = exit_code_of(outcome, coordinator->is_listed),
                              .prepared = &coordinator->prepared};
    coordinator->dispatcher.is_paused ? (void)0 : dispatcher_pause(&coordinator->dispatcher);
    struct background_service *service = background_service_new(coordinator->dispatcher.server);
    struct run_result result = {coordinator->job, &coordinator->prepared, &summary};
    bool is_success = summary.exit_code == 0;
    struct error untold = {0};
    if (!is_success && stale_remove_result(coordinator->prepared.output, false, &untold) < 0) {
        log_event(LOG_WARNING, "%s", untold.text);
    }
    int written = summary_write_all(&summary, coordinator->prepared.output,
                                    journal_of(coordinator)->log, err);
    int stated = is_success && written == 0 ? run_result_write(&result, err) : 0;
    background_service_free(service);
    if (written == 0) {
        progress->summary = coordinator->prepared.summary_spec;
        coordinator->is_told = summary.has_report && stated == 0;
    }
    if (stated < 0) {
        coordinator->is_superseded = err->kind == ERROR_GONE;
        return error_context(err, "all items are done, but result.json cannot be written");
    }
    return written;
}

/* The outcome is known: report, summary, termination message. It becomes a failure if these
 * cannot be written. */
static void conclude(struct coordinator *coordinator, struct error *outcome) {
    struct error untold = {0};
    struct run_progress *progress = &coordinator->dispatcher.progress;
    const struct ledger *ledger = ledger_of(coordinator);
    progress->state = outcome->kind ? PROGRESS_FAILED : PROGRESS_SUCCEEDED;
    /* After SIGTERM a thread may still be using them. */
    progress->outputs = outcome->kind == ERROR_CANCELLED ? NULL : coordinator->outputs;
    if (outcome->kind == ERROR_CANCELLED && ledger) {
        struct ledger_counts counts = ledger_read_counts(ledger);
        snprintf(progress->message, sizeof progress->message,
                 "Cancelled; the results of %lld of %lld items are kept",
                 (long long)counts.items.done, (long long)counts.items.total);
    } else {
        snprintf(progress->message, sizeof progress->message, "%s",
                 outcome->kind ? outcome->text : progress->rerun);
    }
    /* Who was asked to end before it changed anything leaves what is there as it is. */
    json_t *whole = outcome->kind == ERROR_CANCELLED && ledger
                        ? rerun_recall(&coordinator->prepared, coordinator->job)
                        : NULL;
    bool is_untouched = whole != NULL;
    json_decref(whole);
    if (ledger && !coordinator->is_superseded && !is_untouched &&
        write_reports(coordinator, outcome, &untold) < 0 && !outcome->kind) {
        struct error ignored = {0};
        *outcome = untold;
        progress->state = PROGRESS_FAILED;
        snprintf(progress->message, sizeof progress->message, "%s", outcome->text);
        if (exit_code_of(outcome, coordinator->is_listed) == 1) { /* the summary said success */
            (void)!write_reports(coordinator, outcome, &ignored);
        }
    }
    log_event(outcome->kind ? LOG_ERROR : LOG_INFO, "%s%s%s",
              run_progress_state_name(progress->state), *progress->message ? ": " : "",
              progress->message);
    AUTO(tree_freep) json_t *words = progress_tree(coordinator);
    run_progress_add_log(progress, words);
    bool is_verdict = exit_code_of(outcome, coordinator->is_listed) <= 2;
    summary_leave_message(words, is_verdict ? 0 : progress->kept);
}

static void dismiss_workers(struct coordinator *coordinator) {
    struct error err = {0};
    int64_t start_ms = clock_monotonic_ms();
    dispatcher_dismiss(&coordinator->dispatcher);
    while (coordinator->dispatcher.connections.first && !job_is_interrupted() &&
           clock_monotonic_ms() < start_ms + COORDINATOR_FAREWELL_MS) {
        if (server_service(coordinator->dispatcher.server, SERVICE_MS / 2, &err) < 0) {
            return;
        }
    }
}

static void release(struct coordinator *coordinator) {
    server_free(coordinator->dispatcher.server);
    dispatcher_release(&coordinator->dispatcher);
    json_decref(coordinator->outputs);
    run_progress_release(&coordinator->dispatcher.progress);
    json_decref(coordinator->finished);
    free(coordinator->parts.places);
    prepared_release(&coordinator->prepared);
}

static void repeat_ending(const struct job *job, json_t *words, const char *why) {
    log_event(LOG_INFO, "job %s: %s: %s", job->name, why, tree_text(words, "state", ""));
    summary_leave_message(words, /* kept= */ 0);
}

static int repeat_finished(struct coordinator *coordinator, const char *why) {
    coordinator->is_told = tree_bool(coordinator->finished, "report", false);
    repeat_ending(coordinator->job, coordinator->finished, why);
    return 0;
}

static int run(struct coordinator *coordinator, struct error *err) {
    if (list_phase(coordinator, err) < 0) {
        return -1;
    }
    json_t *words = rerun_recall(&coordinator->prepared, coordinator->job);
    if ((coordinator->finished = words)) {
        json_object_set_new(words, "message", json_string(rerun_finished_words(coordinator->job)));
        json_object_set_new(words, "itemsPerSecond", json_string("0.0"));
        return repeat_finished(coordinator, "nothing to do: this run has already ended");
    }
    coordinator->prepared.is_foreign = rerun_is_foreign(&coordinator->prepared, coordinator->job);
    rerun_note_rows(&coordinator->prepared, coordinator->job, &coordinator->dispatcher.progress);
    dispatcher_start(&coordinator->dispatcher, &coordinator->prepared);
    for (int joined = 0; joined == 0;) {
        if (lease_phase(coordinator, err) < 0 || (joined = join_phase(coordinator, err)) < 0) {
            return -1;
        }
    }
    if (coordinator->finished) {
        return repeat_finished(coordinator, "another coordinator has finished it");
    }
    return coordinator->prepared.is_foreign ? run_on_journal(coordinator, check_input_again, err)
                                            : 0;
}

/* After SIGTERM: stores what was accepted. */
static void save_accepted(struct coordinator *coordinator) {
    struct dispatcher *dispatcher = &coordinator->dispatcher;
    int64_t end_ms = clock_monotonic_ms() + FLUSH_MS;
    struct error err = {0};
    while (ledger_of(coordinator) && !journal_is_stored(journal_of(coordinator)) &&
           clock_monotonic_ms() < end_ms &&
           dispatcher_turn(dispatcher, /* at_once= */ true, &err) == 0 &&
           server_service(dispatcher->server, STORING_MS, &err) == 0) {
    }
}

/* Any thread may be blocked on the volume; an orderly shutdown would block, too. */
static void on_hang(void *context, const struct error *why) {
    log_event(LOG_ERROR, "%s", why->text);
    summary_leave_cause(((struct coordinator *)context)->dispatcher.progress.kept, why->text);
    _exit(3);
}

static int open_server(struct coordinator *coordinator, const struct job *job, struct error *err) {
    struct server_options options = {.bind = job->bind,
                                     .certificate_pem = job->certificate_pem,
                                     .key_pem = job->key_pem,
                                     .socket_path = "/work",
                                     .token = job->token,
                                     .read_token = job->read_token,
                                     .events = &events,
                                     .context = coordinator};
    return server_open(&options, &coordinator->dispatcher.server, err);
}

/* Returns the exit code. job: as the pod has it; the coordinator's own may have other paths. */
static int run_job(struct coordinator *coordinator, const struct job *job, struct error *err) {
    log_event(LOG_INFO, "job %s: listening on %s", job->name, job->bind);
    int result = run(coordinator, err);
    bool is_busy = background_task_is_running(&coordinator->task);
    if (err->kind == ERROR_CANCELLED && !is_busy) {
        save_accepted(coordinator);
    }
    if (!coordinator->finished || result < 0) {
        conclude(coordinator, err);
        result = err->kind ? -1 : 0;
    }
    if (err->kind != ERROR_CANCELLED) {
        dismiss_workers(coordinator);
    }
    if (is_busy) { /* its thread still uses the journal and more of what release frees */
        _exit(exit_code_of(err, coordinator->is_listed));
    }
    if (result == 0 && coordinator->is_told) {
        bool was_killed = coordinator->dispatcher.losses > 0 || coordinator->dispatcher.gone ||
                          journal_of(coordinator)->epoch > 0;
        background_service_tidy(coordinator->dispatcher.server, job, coordinator->prepared.output,
                                was_killed);
    }
    return exit_code_of(err, coordinator->is_listed);
}

int coordinator_run(const struct job *job) {
    struct error err = {0};
    int code = 0;
    AUTO(tree_freep) json_t *words = NULL;
    struct coordinator coordinator = {.job = &coordinator.own_job,
                                      .own_job = *job,
                                      .dispatcher = {.job = &coordinator.own_job},
                                      .prepared = {.lock_fd = -1},
                                      .outputs = json_array(),
                                      .started_wall_ms = clock_wall_ms()};
    struct volume_watch_options watched = {.job = job,
                                           .every_ms = WATCH_MS,
                                           .timeout_ms = HANGS_MS,
                                           .hangs = on_hang,
                                           .context = &coordinator};
    struct volume_watch *volumes = NULL;
    run_progress_init(&coordinator.dispatcher.progress);
    coordinator.dispatcher.progress.prices = tree_get(job->spec, "scorer.endpoint.cost");
    if (open_server(&coordinator, job, &err) == 0 &&
        (words = background_service_look_back(coordinator.dispatcher.server, job, &code, &err))) {
        bool is_told = tree_bool(words, "report", false);
        repeat_ending(job, words, "an earlier coordinator has ended it");
        if (code == 0 && is_told) {
            background_service_tidy_ended(coordinator.dispatcher.server, job);
        }
    } else if (err.kind || volume_watch_start(&watched, &volumes, &err) < 0) {
        conclude(&coordinator, &err);
        code = error_exit_code(&err);
    } else {
        code = run_job(&coordinator, job, &err);
    }
    volume_watch_free(volumes);
    release(&coordinator);
    return code;
}
