// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/scoring.h"

#include "agent/score/wire/volume_watch.h"
#include "lib/log.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    TROUBLE_MS = 30000, /* how long to retry a storage that responds with errors, ... */
    WAIT_MS_MIN = 100,  /* ... and the pause between retries */
    WAIT_MS_MAX = 5000,
    STEP_MS = 50,
};

/* ---- results -------------------------------------------------------------------------------- */

void scoring_report_release(struct scoring_report *report) {
    free(report->text);
    free(report->output_tail);
    json_decref(report->failures);
    json_decref(report->work);
    *report = (struct scoring_report){0};
}

struct scoring_report scoring_report_fault(int64_t epoch, int64_t lease, enum message_fault fault,
                                           const char *cause) {
    struct scoring_report report = {.epoch = epoch, .text = x_strdup(cause)};
    report.result = (struct message_result){.lease = lease,
                                            .is_fault = true,
                                            .fault = fault,
                                            .text = report.text,
                                            .text_size = strlen(cause)};
    return report;
}

/* Decides whether the mini-batch or the machine is at fault. */
static enum message_fault fault_of(const struct scorer_task *task, const struct error *err) {
    if (err->kind == ERROR_CANCELLED) {
        return MESSAGE_HANDED_BACK;
    }
    bool is_mount = err->kind == ERROR_UNAVAILABLE || err->kind == ERROR_TIMEOUT;
    bool is_output = staged_output_has_failed(task->staged) || failures_has_failed(task->failures);
    if (is_mount || (is_output && store_error_is_machine(err))) {
        return MESSAGE_MACHINE;
    }
    return err->kind == ERROR_CONFLICT && !is_output ? MESSAGE_INPUT : MESSAGE_SCORER;
}

static void set_place(enum sink_form form, struct scoring_report *report,
                      const struct staged_output *staged) {
    struct message_result *result = &report->result;
    if (form == SINK_NOTHING) {
        result->place = MESSAGE_NOWHERE;
        return;
    }
    struct part part = staged_output_part(staged);
    result->place = staged_output_find_place(staged) == STAGED_TEXT ? MESSAGE_TEXT : MESSAGE_OBJECT;
    result->size_bytes = part.size_bytes;
    result->crc = part.crc;
    if (result->place == MESSAGE_TEXT) {
        report->text = x_strndup(part.bytes, (size_t)part.size_bytes);
        result->text = report->text;
        result->text_size = (size_t)part.size_bytes;
    }
}

/* Takes over the task's staged output, and the failures that are sent with the result. */
static struct scoring_report report_done(const struct scoring *scoring,
                                         const struct scorer_task *task,
                                         const struct scorer_count *count, int64_t took_us) {
    AUTO(staged_output_freep) struct staged_output *staged = task->staged;
    struct part failures = failures_part(task->failures);
    json_t *list = TAKE(task->failures->list);
    const struct scorer_lease *lease = &task->lease;
    struct scoring_report report = {.epoch = lease->epoch,
                                    .result = {.lease = lease->lease,
                                               .items = count->items,
                                               .failed = count->failed,
                                               .is_final = count->final == count->failed,
                                               .failures = list,
                                               .failures_bytes = failures.size_bytes,
                                               .failures_crc = failures.crc,
                                               .took_us = took_us},
                                    .failures = list};
    log_event(LOG_DEBUG, "mini-batch %lld: %lld items in %lld us", (long long)lease->first,
              (long long)count->items, (long long)took_us);
    set_place(scoring->form, &report, staged);
    if (scoring->publisher) {
        publisher_keep(scoring->publisher, lease->epoch, lease->lease, TAKE(staged));
    }
    return report;
}

static struct scoring_report report_fault(const struct scorer_lease *lease,
                                          enum message_fault fault,
                                          const struct scorer_count *count, const char *cause) {
    struct scoring_report report = scoring_report_fault(lease->epoch, lease->lease, fault, cause);
    report.result.items = count->items;
    return report;
}

/* ---- scoring -------------------------------------------------------------------------------- */

static int score(const struct scoring *scoring, const struct scorer_task *task,
                 struct scorer_count *ret_count, struct error *err) {
    int result = scoring->kind->run(scoring->scorer, task, ret_count, err);
    if (result == 0 &&
        ((scoring->form != SINK_NOTHING && staged_output_close(task->staged, err) < 0) ||
         failures_close(task->failures, err) < 0)) {
        result = error_context(err, "spec.output.path");
    }
    if (result < 0) {
        log_event(LOG_WARNING, "mini-batch %lld, try %d: %s", (long long)task->lease.first,
                  task->lease.try, err->text);
    }
    if (scoring->kind->let_go) {
        scoring->kind->let_go(scoring->scorer);
    }
    return result;
}

/* Checked after a failed try: without its storage this worker can do nothing. */
static bool is_storage_dead(const struct scoring *scoring, enum message_fault fault) {
    struct error err = {0};
    bool is_dead =
        volume_watch_check(scoring->job, VOLUME_CHECK_MS, &err) < 0 ||
        (fault == MESSAGE_MACHINE && store_probe(scoring->output, VOLUME_CHECK_MS, &err) < 0);
    if (is_dead) {
        log_event(LOG_ERROR, "%s", err.text);
    }
    return is_dead;
}

/* False: the lease is no longer wanted. */
static bool wait_out(const struct scoring *scoring, int64_t wait_ms) {
    for (int64_t end_ms = clock_monotonic_ms() + wait_ms; clock_monotonic_ms() < end_ms;) {
        if (atomic_load(scoring->dropped) || atomic_load(scoring->ends)) {
            return false;
        }
        poll(NULL, 0, STEP_MS);
    }
    return true;
}

struct scoring_report scoring_run(const struct scoring *scoring, const struct scorer_lease *lease,
                                  const struct scorer_lease *ahead, bool *ret_is_dead) {
    const struct job *job = scoring->job;
    int64_t until_ms = clock_monotonic_ms() + MIN(job->timeout_ms / 2, (int64_t)TROUBLE_MS);
    char name[PART_NAME_MAX];
    part_name(job->run, lease->epoch, lease->lease, name);
    for (int64_t wait_ms = WAIT_MS_MIN;; wait_ms = MIN(2 * wait_ms, (int64_t)WAIT_MS_MAX)) {
        struct error err = {0}, ignored = {0};
        AUTO(staged_output_freep)
        struct staged_output *staged =
            staged_output_new(scoring->output, name, scoring->form != SINK_PARTS);
        AUTO(failures_release) struct failures failures;
        failures_init(&failures, scoring->output, job->run, lease->epoch, lease->lease);
        struct scorer_task task = {.lease = *lease,
                                   .ahead = ahead,
                                   .staged = staged,
                                   .failures = &failures,
                                   .dropped = scoring->dropped};
        struct scorer_count count = {0};
        int64_t started_ns = clock_monotonic_ns();
        if (score(scoring, &task, &count, &err) == 0) {
            int64_t took_us = (clock_monotonic_ns() - started_ns) / 1000;
            staged = NULL; /* report_done takes it over */
            return report_done(scoring, &task, &count, took_us);
        }
        enum message_fault fault = fault_of(&task, &err);
        bool is_trouble = err.kind == ERROR_UNAVAILABLE || err.kind == ERROR_TIMEOUT;
        *ret_is_dead = fault != MESSAGE_HANDED_BACK && is_storage_dead(scoring, fault);
        if (*ret_is_dead || !is_trouble || clock_monotonic_ms() + wait_ms > until_ms) {
            fault = *ret_is_dead ? MESSAGE_MACHINE : fault;
            return report_fault(lease, fault, &count, err.text);
        }
        if (!wait_out(scoring, wait_ms)) {
            return report_fault(lease, MESSAGE_HANDED_BACK, &count, err.text);
        }
        /* A failed write may have stored the object nevertheless; only we use its name. */
        (void)!store_remove(scoring->output, name, &ignored);
        failures_remove(&failures);
        ahead = NULL;
    }
}
