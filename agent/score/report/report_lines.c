// SPDX-License-Identifier: Apache-2.0
/* The lines of mini_batches.csv, workers.csv, failed.jsonl. */
#include "agent/score/report/report.h"

#include "lib/text/csv.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <string.h>

enum { ITEM_NAME_MAX = 8 << 10 };

const char report_batches_head[] = "miniBatch,cells,items,failedItems,result,tries,worker,"
                                   "startSeconds,seconds,epoch,lease,cause\n";
const char report_workers_head[] =
    "worker,miniBatches,items,failedItems,failedMiniBatches,firstSeconds,lastSeconds,busySeconds,"
    "idleSeconds,afterSeconds,busyShare,slowestSeconds\n";

static const char *const result_names[] = {"done", "partial", "failed"};
static_assert(ARRAY_LEN(result_names) == COMMIT_FAILED + 1, "one name per result");

static const char *cause_of(const struct commit_record *record, size_t *ret_size) {
    const json_t *first = json_array_get(json_array_get(record->failures, 0), 1);
    bool is_partial = record->type == COMMIT_PARTIAL && json_is_string(first);
    bool is_failed = record->type == COMMIT_FAILED && record->text;
    *ret_size = is_partial ? json_string_length(first) : is_failed ? record->text_size : 0;
    return is_partial ? json_string_value(first) : is_failed ? record->text : "";
}

int report_batch_line(struct buffer *line, const struct commit_record *record, int64_t at_ms,
                      struct error *err) {
    size_t size = 0;
    const char *cause = cause_of(record, &size);
    const char *worker = record->worker ? record->worker : "";
    if (buffer_printf(line, err, "%lld,%lld,%lld,%lld,%s,%d,", (long long)record->first,
                      (long long)record->cells, (long long)record->items, (long long)record->failed,
                      result_names[record->type], record->try) < 0 ||
        csv_text(line, worker, strlen(worker), err) < 0 ||
        buffer_printf(line, err, ",%lld.%03d,%lld.%03d,%lld,%lld,", (long long)at_ms / 1000,
                      (int)(at_ms % 1000), (long long)record->took_ms / 1000,
                      (int)(record->took_ms % 1000), (long long)record->epoch,
                      (long long)record->lease) < 0 ||
        csv_text(line, cause, size, err) < 0) {
        return -1;
    }
    return buffer_append(line, "\n", 1, err);
}

int report_worker_line(struct buffer *line, const struct facts_worker *worker, int slots,
                       struct error *err) {
    if (csv_text(line, worker->name, strlen(worker->name), err) < 0) {
        return -1;
    }
    return buffer_printf(
        line, err, ",%lld,%lld,%lld,%lld,%.3f,%.3f,%.3f,%.3f,%.3f,%.4f,%.3f\n",
        (long long)worker->batches, (long long)worker->items, (long long)worker->failed_items,
        (long long)worker->failed_batches, (double)worker->first_ms / 1000,
        (double)worker->last_ms / 1000, (double)worker->busy_ms / 1000,
        (double)facts_idle_ms(worker, slots) / 1000, (double)facts_after_ms(worker, slots) / 1000,
        facts_busy_share(worker, slots), (double)worker->slowest_ms / 1000);
}

/* ---- failed.jsonl --------------------------------------------------------------------------- */

/* A JSON string of bytes from outside. */
static int add_string(struct buffer *lines, const char *key, const char *text, size_t size,
                      struct error *err) {
    if (buffer_printf(lines, err, "\"%s\":\"", key) < 0) {
        return -1;
    }
    for (size_t at = 0; at < size;) {
        size_t good = utf8_valid_size(text + at, size - at);
        if (jsontext_escape(lines, text + at, good, err) < 0) {
            return -1;
        }
        at += good;
        if (at < size) {
            if (buffer_append(lines, "\xEF\xBF\xBD", 3, err) < 0) {
                return -1;
            }
            at++;
        }
    }
    return buffer_append(lines, "\"", 1, err);
}

int report_failed_line(struct buffer *lines, const struct commit_record *record,
                       const struct report_failure *failure, const struct report_options *options,
                       struct error *err) {
    AUTO(buffer_release) struct buffer name;
    buffer_init(&name, ITEM_NAME_MAX);
    const char *worker = record->worker ? record->worker : "";
    bool has_name = options->item != NULL;
    if (has_name &&
        options->item(options->context, record->first, failure->index, &name, err) < 0) {
        return -1;
    }
    if (buffer_append(lines, "{", 1, err) < 0 ||
        (has_name && (add_string(lines, "item", name.data ? name.data : "", name.size, err) < 0 ||
                      buffer_append(lines, ",", 1, err) < 0)) ||
        add_string(lines, "cause", failure->cause, failure->cause_size, err) < 0 ||
        buffer_printf(lines, err, ",\"tries\":%d,", record->try) < 0 ||
        add_string(lines, "worker", worker, strlen(worker), err) < 0) {
        return -1;
    }
    return buffer_printf(lines, err, ",\"miniBatch\":%lld,\"index\":%lld}\n",
                         (long long)record->first, (long long)failure->index);
}
