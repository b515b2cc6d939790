// SPDX-License-Identifier: Apache-2.0
#include "agent/score/summary.h"

#include "lib/clock.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

static json_t *failures_json(const struct summary *summary) {
    json_t *list = json_array();
    size_t count = 0;
    const struct ledger_failure *failures =
        summary->ledger ? ledger_failures(summary->ledger, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        const struct ledger_failure *failure = &failures[i];
        json_t *row = json_object();
        json_object_set_new(row, "miniBatch", json_integer(failure->batch));
        json_object_set_new(row, "firstItem",
                            json_integer(failure->batch * summary->job->batch_items));
        json_object_set_new(row, "items",
                            json_integer(ledger_batch_items(summary->ledger, failure->batch)));
        json_object_set_new(row, "tries", json_integer(failure->tries));
        json_object_set_new(row, "worker",
                            json_string(ledger_worker(summary->ledger, failure->worker).name));
        json_object_set_new(row, "cause", json_string(failure->cause));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *workers_json(const struct summary *summary) {
    json_t *list = json_array();
    size_t count = summary->ledger ? ledger_worker_count(summary->ledger) : 0;
    for (size_t i = 0; i < MIN(count, (size_t)SUMMARY_WORKERS_MAX); i++) {
        struct ledger_worker worker = ledger_worker(summary->ledger, (int)i);
        json_t *row = json_object();
        json_object_set_new(row, "name", json_string(worker.name));
        json_object_set_new(row, "miniBatches", json_integer(worker.batches));
        json_object_set_new(row, "items", json_integer(worker.items));
        json_object_set_new(row, "errors", json_integer(worker.errors));
        json_object_set_new(row, "timeouts", json_integer(worker.timeouts));
        json_object_set_new(row, "lost", json_integer(worker.losses));
        json_array_append_new(list, row);
    }
    return list;
}

json_t *summary_json(const struct summary *summary) {
    AUTO(tree_freep)
    json_t *progress = progress_json(summary->progress,
                                     summary->ledger ? ledger_counts(summary->ledger) : NULL, 0);
    char started[21], completed[21];
    clock_format(summary->started_wall_ms, started);
    clock_format(summary->completed_wall_ms, completed);
    json_t *tree = json_object();
    json_object_set_new(tree, "name", json_string(summary->job->name));
    json_object_set_new(tree, "run", json_string(summary->job->run));
    json_object_set(tree, "state", json_object_get(progress, "state"));
    json_object_set(tree, "message", json_object_get(progress, "message"));
    json_object_set_new(tree, "started", json_string(started));
    json_object_set_new(tree, "completed", json_string(completed));
    json_object_set(tree, "miniBatches", json_object_get(progress, "miniBatches"));
    json_object_set(tree, "items", json_object_get(progress, "items"));
    json_object_set(tree, "itemsPerSecond", json_object_get(progress, "itemsPerSecond"));
    json_object_set(tree, "outputs", json_object_get(progress, "outputs"));
    json_object_set_new(tree, "failed", failures_json(summary));
    json_object_set_new(tree, "workers", workers_json(summary));
    return tree;
}

int summary_write(const struct summary *summary, const char *folder, struct error *err) {
    AUTO(tree_freep) json_t *tree = summary_json(summary);
    AUTO(text_freep) char *text = json_dumps(tree, JSON_INDENT(2));
    AUTO(text_freep) char *lines = x_printf("%s\n", text);
    AUTO(text_freep) char *path = file_join(folder, "summary.json");
    return file_write(path, lines, strlen(lines), err);
}
