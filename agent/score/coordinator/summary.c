// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/summary.h"

#include "agent/data/input/media.h"
#include "agent/result/result_file.h"
#include "agent/score/coordinator/prepared.h"
#include "agent/score/coordinator/retired.h"
#include "agent/score/endpoint/answer.h"
#include "agent/score/endpoint/form.h"
#include "lib/digest.h"
#include "lib/log.h"
#include "lib/text/utf8.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

/* The input kind; NULL for a spec without a known one. */
static const struct media *media_of(const struct job *job) {
    const struct media *media = NULL;
    struct error ignored = {0};
    return media_find(job->spec, &media, &ignored) == 0 ? media : NULL;
}

static bool has_batch_lines(const struct job *job) {
    const struct media *media = media_of(job);
    return media && media->lines && media->lines->is_batch;
}

static const char *worker_name(const struct facts *facts, int worker) {
    return worker < 0 ? "" : facts->workers[worker].name;
}

static json_t *failures_json(const struct summary *summary) {
    const struct facts *facts = summary->facts;
    json_t *list = json_array();
    for (int i = 0; facts && i < facts->failure_count; i++) {
        const struct facts_failure *failure = &facts->failures[i];
        json_t *row = json_object();
        json_object_set_new(row, "miniBatch", json_integer(failure->first));
        if (!has_batch_lines(summary->job)) { /* unknown for these */
            json_object_set_new(row, "firstItem",
                                json_integer(failure->first * summary->job->batch_items));
        }
        json_object_set_new(row, "items", json_integer(failure->items));
        json_object_set_new(row, "tries", json_integer(failure->try));
        json_object_set_new(row, "worker", json_string(worker_name(facts, failure->worker)));
        size_t whole = utf8_valid_size(failure->cause, strlen(failure->cause)); /* it was
                                                                                   truncated */
        json_object_set_new(row, "cause", json_stringn(failure->cause, whole));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *workers_json(const struct facts *facts) {
    json_t *list = json_array();
    for (int i = 0; facts && i < facts->worker_count; i++) {
        const struct facts_worker *worker = &facts->workers[i];
        json_t *row = json_object();
        json_object_set_new(row, "name", json_string(worker->name));
        json_object_set_new(row, "miniBatches", json_integer(worker->scored_cells));
        json_object_set_new(row, "items", json_integer(worker->items - worker->failed_items));
        json_object_set_new(row, "errors", json_integer(worker->errors));
        json_object_set_new(row, "timeouts", json_integer(worker->timeouts));
        json_object_set_new(row, "lost", json_integer(worker->losses));
        json_array_append_new(list, row);
    }
    return list;
}

json_t *summary_json(const struct summary *summary) {
    struct ledger_counts counts = ledger_read_counts(summary->ledger);
    AUTO(tree_freep)
    json_t *progress = run_progress_json(summary->progress, &counts, 0);
    char started[21], completed[21];
    clock_format(summary->started_wall_ms, started);
    clock_format(summary->completed_wall_ms, completed);
    json_t *tree = json_object();
    json_object_set_new(tree, "name", json_string(summary->job->name));
    json_object_set_new(tree, "uid", json_string(summary->job->uid));
    json_object_set_new(tree, "run", json_string(summary->job->run));
    json_object_set(tree, "state", json_object_get(progress, "state"));
    json_object_set_new(tree, "exitCode", json_integer(summary->exit_code));
    json_object_set(tree, "message", json_object_get(progress, "message"));
    json_object_set_new(tree, "started", json_string(started));
    json_object_set_new(tree, "completed", json_string(completed));
    json_object_set(tree, "miniBatches", json_object_get(progress, "miniBatches"));
    json_object_set(tree, "items", json_object_get(progress, "items"));
    json_object_set(tree, "itemsPerSecond", json_object_get(progress, "itemsPerSecond"));
    json_object_set(tree, "outputs", json_object_get(progress, "outputs"));
    json_object_set(tree, "lost", json_object_get(progress, "lost"));
    json_object_set(tree, "requests", json_object_get(progress, "requests"));
    run_progress_add_log(summary->progress, tree);
    json_object_set_new(tree, "report", json_boolean(summary->has_report));
    if (summary->exit_code == 0) {
        json_object_set_new(tree, "result", json_string(RESULT_NAME));
    }
    json_object_set(tree, "files", (json_t *)summary->files);
    json_object_set_new(tree, "failed", failures_json(summary));
    json_object_set_new(tree, "workers", workers_json(summary->facts));
    json_t *retired = retired_rows(summary->progress->retired, summary->job->retired);
    json_object_set_new(tree, "retired", retired);
    return tree;
}

int summary_write(struct summary *summary, struct store *output, struct error *err) {
    AUTO(tree_freep) json_t *tree = summary_json(summary);
    AUTO(text_freep) char *text = json_dumps(tree, JSON_INDENT(2));
    AUTO(text_freep) char *lines = x_printf("%s\n", text);
    digest_sha256(lines, strlen(lines), summary->sha256);
    return store_put(output, SUMMARY_NAME, lines, strlen(lines), STORE_REPLACE, err);
}

/* Drops rows of what the outputs lack from the end, until the words are short enough; a last row
 * says so. */
static void shorten_lost(json_t *progress) {
    json_t *lost = json_object_get(progress, "lost");
    for (size_t dropped = 1; json_array_size(lost) > 1; dropped++) {
        AUTO(text_freep) char *words = json_dumps(progress, JSON_COMPACT);
        if (strlen(words) <= CONTRACT_TERMINATION_MESSAGE_MAX) {
            return;
        }
        if (dropped > 1) {
            json_array_remove(lost, json_array_size(lost) - 1);
        }
        AUTO(text_freep) char *what = x_printf("%zu more", dropped);
        json_array_set_new(lost, json_array_size(lost) - 1,
                           json_pack("{s:s,s:s}", "what", what, "why", "see summary.json"));
    }
}

/* Only a long list of outputs or a program's output can make it too long. "report" is only for the
 * next coordinator. */
void summary_leave_message(json_t *progress, int64_t kept) {
    static const char *const long_ones[] = {"outputs", "failedLog"};
    json_object_del(progress, "report");
    if (kept > 0) {
        json_object_set_new(progress, "progress", json_integer(kept));
    }
    AUTO(text_freep) char *words = json_dumps(progress, JSON_COMPACT);
    for (size_t i = 0; i < ARRAY_LEN(long_ones) && strlen(words) > CONTRACT_TERMINATION_MESSAGE_MAX;
         i++) {
        json_object_del(progress, long_ones[i]);
        free(words);
        words = json_dumps(progress, JSON_COMPACT);
    }
    if (strlen(words) > CONTRACT_TERMINATION_MESSAGE_MAX) {
        shorten_lost(progress);
        free(words);
        words = json_dumps(progress, JSON_COMPACT);
    }
    job_write_termination_message(words);
}

void summary_leave_progress(struct run_progress *progress, const struct ledger *ledger,
                            int64_t kept) {
    int64_t now_ms = clock_monotonic_ms();
    bool is_due = progress->left_kept == 0 || now_ms - progress->left_ms >= JOB_LEAVE_MS;
    progress->kept = kept;
    if (kept == progress->left_kept || !is_due) {
        return;
    }
    struct ledger_counts counts = ledger_read_counts(ledger);
    AUTO(tree_freep) json_t *words = run_progress_json(progress, &counts, now_ms);
    summary_leave_message(words, kept);
    progress->left_kept = kept;
    progress->left_ms = now_ms;
}

void summary_leave_cause(int64_t kept, const char *cause) {
    AUTO(tree_freep)
    json_t *words = json_pack("{s:I, s:s}", "progress", (json_int_t)kept, "message", cause);
    AUTO(text_freep) char *text = json_dumps(words, JSON_COMPACT);
    job_write_termination_message(text ? text : cause);
}

/* Appends the name of an item of the record that begins with cell `first`. */
static int name_item(void *context, int64_t first, int64_t index, struct buffer *name,
                     struct error *err) {
    const struct summary *summary = context;
    return prepared_name(summary->prepared, summary->job, first, index, name, err);
}

/* ... its line of the error file. An item that cannot be read any more has no custom_id. */
static int add_error(void *context, int64_t first, const struct report_failure *failure,
                     struct buffer *line, struct error *err) {
    const struct summary *summary = context;
    AUTO(buffer_release) struct buffer json, id;
    struct error ignored = {0};
    buffer_init(&json, 2 * REQUEST_BODY_MAX);
    buffer_init(&id, REQUEST_ID_BYTES);
    if (prepared_json(summary->prepared, summary->job, first, failure->index, &json, &ignored) <
            0 ||
        endpoint_request_id(json.data ? json.data : "", json.size, &id, &ignored) < 0) {
        buffer_clear(&id);
    }
    return answer_error_line(line, &id, failure->cause, failure->cause_size, err);
}

static int name_picture(void *context, int64_t item, struct buffer *name, struct error *err) {
    return name_item(context, 0, item, name, err);
}

static void make_pictures(const struct summary *summary, struct store *output,
                          struct report_pictures *ret_pictures) {
    const struct prepared_job *prepared = summary->prepared;
    bool has_names = prepared && prepared->list && !prepared->media->lines->is_batch;
    struct report_pictures_options options = {.spec = summary->job->spec,
                                              .output = output,
                                              .added = prepared ? prepared->added : NULL,
                                              .items = has_names ? prepared->items : 0,
                                              .name = name_picture,
                                              .context = (void *)(uintptr_t)summary,
                                              .is_interrupted = job_is_interrupted};
    report_pictures_make(&options, ret_pictures);
}

static int write_report(const struct summary *summary, struct store *output, struct commit_log *log,
                        struct facts **ret_facts, struct error *err) {
    const struct run_progress *progress = summary->progress;
    const struct job *job = summary->job;
    const struct media *media = media_of(job);
    struct ledger_counts counts = ledger_read_counts(summary->ledger);
    AUTO(tree_freep) json_t *told = run_progress_json(progress, &counts, /* now_ms= */ 0);
    bool has_errors = summary->prepared && endpoint_form_is_batch(job->spec);
    AUTO(report_pictures_release) struct report_pictures pictures = {0};
    make_pictures(summary, output, &pictures);
    struct report_options options = {
        .job = job->name,
        .run = job->run,
        .uid = job->uid,
        .state = run_progress_state_name(progress->state),
        .message = progress->message,
        .is_failed = progress->state == PROGRESS_FAILED,
        .unit = media ? media->unit : "items",
        .cells = counts.cells.total,
        .items = counts.items.total,
        .slots = job->slots,
        .pictures = &pictures,
        .requests = json_object_get(told, "requests"),
        .started_wall_ms = summary->started_wall_ms,
        .completed_wall_ms = summary->completed_wall_ms,
        .errors_name = has_errors ? ERRORS_NAME : NULL,
        .error = has_errors ? add_error : NULL,
        .item = summary->prepared ? name_item : NULL,
        .context = (void *)(uintptr_t)summary,
    };
    return report_write(output, log, &options, ret_facts, err);
}

/* True for faults of the machine. DENIED is not one: the same store accepted a commit just before,
 * so only these names are forbidden, and a retry would not help. */
static bool may_pass(const struct error *err) {
    return store_error_is_machine(err) && err->kind != ERROR_DENIED;
}

static int set_unwritten(const struct error *why, struct error *err) {
    return error_set(err, may_pass(why) ? ERROR_UNAVAILABLE : why->kind,
                     "all items are done, but the report or summary cannot be written: %s",
                     why->text);
}

/* Of a success only the report may be missing, for good, and where no item has failed that it would
 * name. */
static bool is_needed(const struct summary *summary, const struct error *why) {
    return may_pass(why) || ledger_read_counts(summary->ledger).items.failed > 0;
}

static void lose_report(struct summary *summary, struct store *output, const struct error *cause) {
    bool has_errors = summary->prepared && endpoint_form_is_batch(summary->job->spec);
    AUTO(text_freep) char *left = report_remove(output, has_errors ? ERRORS_NAME : NULL);
    AUTO(text_freep)
    char *why = x_printf("it cannot be written: %.300s%s%s%s", cause->text, left ? "; " : "",
                         left ? left : "", left ? " there may be an earlier run's" : "");
    utf8_make_line(why);
    run_progress_lose_also(summary->progress, "report", why);
}

int summary_write_all(struct summary *summary, struct store *output, struct commit_log *log,
                      struct error *err) {
    AUTO(facts_freep) struct facts *facts = NULL;
    struct error summary_err = {0}, report_err = {0};
    bool has_succeeded = summary->exit_code == 0;
    AUTO(text_freep)
    char *builds =
        summary->prepared ? scored_by_describe(summary->prepared->journal.programs) : NULL;
    if (builds) {
        run_progress_lose_also(summary->progress, "a single build of Windlass", builds);
    }
    if (write_report(summary, output, log, &facts, &report_err) < 0) {
        log_event(LOG_ERROR, "%s", report_err.text);
        if (has_succeeded && is_needed(summary, &report_err)) {
            return set_unwritten(&report_err, err);
        }
        if (has_succeeded) {
            lose_report(summary, output, &report_err);
        }
    }
    summary->has_report = !report_err.kind;
    summary->facts = facts;
    int result = summary_write(summary, output, &summary_err);
    summary->facts = NULL;
    if (result == 0) {
        return 0;
    }
    log_event(LOG_ERROR, "summary: %s", summary_err.text);
    if (has_succeeded) {
        return set_unwritten(&summary_err, err);
    }
    *err = summary_err;
    return -1;
}
