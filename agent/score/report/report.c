// SPDX-License-Identifier: Apache-2.0
#include "agent/score/report/report.h"

#include "agent/score/log/failures.h"
#include "agent/score/log/record_resolver.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 256 << 10, UPLOAD_AT = 128 << 10 };

/* An object that is written line by line. */
struct table {
    struct store_upload *upload;
    struct buffer lines;
};

struct writing {
    const struct report_options *options;
    struct store *output;
    struct record_resolver *resolver;
    struct facts *facts;
    bool is_read; /* the facts are complete */
    struct table batches, failed, errors;
    struct error broken;  /* the first broken object of failed items */
    struct error trouble; /* why tables and page cannot be written; reading of the log continues */
};

static int table_open(struct table *table, struct store *output, const char *name, const char *head,
                      struct error *err) {
    buffer_init(&table->lines, LINES_MAX);
    if (store_upload_open(output, name, &table->upload, err) < 0) {
        return -1;
    }
    return buffer_append(&table->lines, head, strlen(head), err);
}

static int table_flush(struct table *table, size_t at, struct error *err) {
    if (table->lines.size < at || table->lines.size == 0) {
        return 0;
    }
    int result = store_upload_add(table->upload, table->lines.data, table->lines.size, err);
    buffer_clear(&table->lines);
    return result;
}

static int table_close(struct table *table, struct error *err) {
    return table_flush(table, 0, err) < 0 ? -1
                                          : store_upload_commit(table->upload, STORE_REPLACE, err);
}

static void table_release(struct table *table) {
    store_upload_free(table->upload);
    buffer_release(&table->lines);
}

/* ---- the two readings ----------------------------------------------------------------------- */

/* Like journal_counts. */
static bool counts(const struct writing *writing, const struct commit_head *head,
                   const struct commit_record *record) {
    const char *uid = writing->options->uid;
    bool is_given_up = record->type == COMMIT_PARTIAL || record->type == COMMIT_FAILED;
    return !is_given_up || !uid || strcmp(head->uid, uid) == 0;
}

static int resolve_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct writing *writing = context;
    if (counts(writing, head, record) && record_resolver_add(writing->resolver, record, err) < 0) {
        return error_context(err, "commit %lld", (long long)head->number);
    }
    return 0;
}

/* Of a record. */
struct failing {
    struct writing *writing;
    const struct commit_record *record;
};

static int add_error(const struct failing *failing, const struct report_failure *failure,
                     struct error *err) {
    struct writing *writing = failing->writing;
    const struct report_options *options = writing->options;
    if (!options->errors_name) {
        return 0;
    }
    return options->error(options->context, failing->record->first, failure, &writing->errors.lines,
                          err) < 0
               ? -1
               : table_flush(&writing->errors, UPLOAD_AT, err);
}

static int add_failed(void *context, int64_t index, const char *cause, size_t size,
                      struct error *err) {
    const struct failing *failing = context;
    struct writing *writing = failing->writing;
    struct table *table = &writing->failed;
    struct report_failure failure = {.index = index, .cause = cause, .cause_size = size};
    if (failing->record->failures_bytes > 0) {
        facts_add_failed(writing->facts, failing->record, cause, size);
    }
    return report_failed_line(&table->lines, failing->record, &failure, writing->options, err) < 0
               ? -1
           : table_flush(table, UPLOAD_AT, err) < 0 ? -1
                                                    : add_error(failing, &failure, err);
}

static int add_failures(struct writing *writing, const struct commit_record *record,
                        struct error *err) {
    struct commit_record told = *record;
    struct failing failing = {writing, &told};
    struct error cause = {0};
    bool is_broken = false;
    if (record->type != COMMIT_PARTIAL && record->type != COMMIT_FAILED) {
        return 0;
    }
    if (writing->options->items >= 0 && record->failed > writing->options->items) {
        return error_set(err, ERROR_INVALID,
                         "mini-batch %lld has %lld failed items, the job %lld items",
                         (long long)record->first, (long long)record->failed,
                         (long long)writing->options->items);
    }
    if (failures_check(writing->output, writing->options->run, record, &is_broken, &cause) < 0) {
        if (!is_broken) {
            *err = cause;
            return -1;
        }
        error_set(&writing->broken, ERROR_INVALID, "%s", cause.text);
        told.failures_bytes = 0; /* only the part in the record */
    }
    return failures_read(writing->output, writing->options->run, &told, add_failed, &failing, err);
}

/* Adds the record to mini_batches.csv and failed.jsonl. */
static int add_lines(struct writing *writing, const struct commit_record *record,
                     struct error *err) {
    int64_t at_ms = writing->facts->epoch_offset_ms + MIN(record->start_ms, INT64_MAX / 2);
    return report_batch_line(&writing->batches.lines, record, at_ms, err) < 0 ||
                   table_flush(&writing->batches, UPLOAD_AT, err) < 0
               ? -1
               : add_failures(writing, record, err);
}

static int add_record(void *context, const struct commit_head *head,
                      const struct commit_record *record, struct error *err UNUSED) {
    struct writing *writing = context;
    int64_t own_cells =
        counts(writing, head, record) ? record_resolver_next(writing->resolver, record) : 0;
    facts_add(writing->facts, record, own_cells);
    if (own_cells == 0) {
        return 0;
    }
    if (!writing->trouble.kind) {
        (void)!add_lines(writing, record, &writing->trouble);
    }
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int write_workers(struct store *output, const struct writing *writing, struct error *err) {
    struct table table = {0};
    int slots = MAX(writing->options->slots, 1);
    int result = table_open(&table, output, "workers.csv", report_workers_head, err);
    for (int i = 0; i < writing->facts->worker_count && result == 0; i++) {
        result = report_worker_line(&table.lines, &writing->facts->workers[i], slots, err);
        result = result < 0 ? -1 : table_flush(&table, UPLOAD_AT, err);
    }
    result = result < 0 ? -1 : table_close(&table, err);
    table_release(&table);
    return result;
}

static int write_page(struct store *output, const struct writing *writing, struct error *err) {
    AUTO(buffer_release) struct buffer page;
    buffer_init(&page, REPORT_PAGE_MAX);
    if (report_page(&page, writing->facts, writing->options, err) < 0) {
        return -1;
    }
    return store_put(output, "report.html", page.data, page.size, STORE_REPLACE, err);
}

static int write_all(struct writing *writing, struct store *output, struct commit_log *log,
                     struct error *err) {
    struct error *trouble = &writing->trouble;
    if (commit_replay(log, resolve_record, writing, err) < 0) {
        return -1;
    }
    if (table_open(&writing->batches, output, "mini_batches.csv", report_batches_head, trouble) ==
        0) {
        (void)!table_open(&writing->failed, output, "failed.jsonl", "", trouble);
    }
    if (writing->options->errors_name && !trouble->kind) {
        (void)!table_open(&writing->errors, output, writing->options->errors_name, "", trouble);
    }
    if (commit_replay(log, add_record, writing, err) < 0) {
        return -1;
    }
    facts_finish(writing->facts);
    writing->is_read = true;
    if (trouble->kind) {
        *err = *trouble;
        return -1;
    }
    if (table_close(&writing->batches, err) < 0 || table_close(&writing->failed, err) < 0 ||
        (writing->options->errors_name && table_close(&writing->errors, err) < 0) ||
        write_workers(output, writing, err) < 0) {
        return -1;
    }
    if (write_page(output, writing, err) < 0) {
        return -1;
    }
    *err = writing->broken;
    return err->kind ? -1 : 0;
}

int report_write(struct store *output, struct commit_log *log, const struct report_options *options,
                 struct facts **ret_facts, struct error *err) {
    struct writing writing = {.options = options,
                              .output = output,
                              .resolver = record_resolver_new(options->cells),
                              .facts = facts_new()};
    int result = write_all(&writing, output, log, err);
    table_release(&writing.batches);
    table_release(&writing.failed);
    table_release(&writing.errors);
    record_resolver_free(writing.resolver);
    if (ret_facts) {
        *ret_facts = writing.is_read ? TAKE(writing.facts) : NULL;
    }
    facts_free(writing.facts);
    return result < 0 ? error_context(err, "the report") : 0;
}

char *report_remove(struct store *output, const char *errors_name) {
    const char *const names[] = {"report.html", "mini_batches.csv", "workers.csv", "failed.jsonl",
                                 errors_name};
    char *left = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && names[i]; i++) {
        struct error ignored = {0};
        if (store_remove(output, names[i], &ignored) < 0) {
            char *more = x_printf("%s%s%s", left ? left : "", left ? ", " : "", names[i]);
            free(left);
            left = more;
        }
    }
    return left;
}
