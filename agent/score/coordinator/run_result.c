// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/run_result.h"
#include "agent/score/endpoint/form.h"

#include "agent/result/result_origin.h"
#include "agent/result/result_write.h"
#include "lib/digest.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_time(json_t *tree, const char *name, int64_t wall_ms) {
    char text[21];
    clock_format(wall_ms, text);
    json_object_set_new(tree, name, json_string(text));
}

/* What was run: the manifest as it was accepted, without values of variables (job.h). */
static void add_manifest(const struct job *job, json_t *tree) {
    json_object_set_new(tree, "kind", json_string(RESULT_BATCHSCORE));
    json_object_set_new(tree, "name", json_string(job->name));
    json_object_set_new(tree, "uid", json_string(job->uid));
    json_object_set_new(tree, "run", json_string(job->run));
    result_origin_add_manifest(tree, job->manifest);
    result_origin_add_program(tree);
    json_object_set(tree, "images", job->images);
}

static void add_input(const struct run_result *result, json_t *tree) {
    json_object_set_new(
        tree, "input",
        json_pack("{s:I, s:s}", "items",
                  (json_int_t)(result->prepared->items + result->summary->progress->items_kept),
                  "sha256", result->prepared->input_sha256));
}

void run_result_add_apart(const struct job *job, json_t *tree) {
    static const char *const fields[] = {"input.video.path",     "input.files.path",
                                         "input.files.manifest", "input.table.path",
                                         "input.npy.path",       "scorer.onnx.tokenizer.path",
                                         "scorer.onnx.path",     "scorer.onnx.postprocess.labels",
                                         "trigger.path",         "logs.path"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        result_origin_add_apart(tree, job->output, tree_text(job->spec, fields[i], ""));
    }
}

/* Of a report that the storage refuses for good nothing is said, as in summary.json. */
static bool is_left_out(const struct error *why) {
    return why->kind == ERROR_NOT_FOUND || why->kind == ERROR_INVALID || why->kind == ERROR_DENIED;
}

/* The reports are read once more: most are small, and this is what the storage has. Where this run
 * could not write its own, those that are there may be an earlier run's. */
static int add_reports(const struct run_result *result, json_t *tree, struct error *err) {
    static const char *const names[] = {SUMMARY_NAME,  "report.html",  "mini_batches.csv",
                                        "workers.csv", "failed.jsonl", ERRORS_NAME};
    json_t *reports = json_array();
    json_object_set_new(tree, "reports", reports);
    /* The last one is of batch files alone; otherwise it is somebody else's. */
    size_t count = result->summary->has_report
                       ? ARRAY_LEN(names) - !endpoint_form_is_batch(result->job->spec)
                       : 1;
    for (size_t i = 0; i < count; i++) {
        struct error why = {0};
        struct store_digest hash = {0};
        if (store_hash(result->prepared->output, names[i], NULL, NULL, &hash, &why) == 0) {
            json_array_append_new(reports,
                                  result_file_entry(names[i], hash.size_bytes, hash.sha256));
        } else if (!is_left_out(&why) || i == 0) {
            *err = why;
            return -1;
        }
        if (i == 0 && strcmp(hash.sha256, result->summary->sha256) != 0) {
            return error_set(err, ERROR_GONE, "another coordinator has finished this run");
        }
    }
    return 0;
}

/* As summary.json counts them, kept items of a rerun included. */
static void add_counts(const struct summary *summary, json_t *tree) {
    struct ledger_counts counts = ledger_read_counts(summary->ledger);
    AUTO(tree_freep) json_t *all = run_progress_json(summary->progress, &counts, /* now_ms= */ 0);
    json_object_set_new(tree, "counts",
                        json_pack("{s:O, s:O}", "items", json_object_get(all, "items"),
                                  "miniBatches", json_object_get(all, "miniBatches")));
}

static json_t *result_json(const struct run_result *result) {
    const struct prepared_job *prepared = result->prepared;
    json_t *tree = json_pack("{s:i}", "windlass", RESULT_FORMAT);
    add_manifest(result->job, tree);
    add_input(result, tree);
    json_object_set(tree, "files", prepared->files);
    json_object_set_new(tree, "workerPrograms", scored_by_json(prepared->journal.programs));
    if (json_object_size(prepared->paths) > 0) {
        json_object_set(tree, "paths", prepared->paths);
    }
    add_counts(result->summary, tree);
    add_time(tree, "started", result->summary->started_wall_ms);
    add_time(tree, "completed", result->summary->completed_wall_ms);
    if (prepared->made_files) {
        json_object_set(tree, "outputs", prepared->made_files);
    } else {
        json_object_set_new(tree, "outputs", json_array());
    }
    json_object_set(tree, "list", prepared->made_list);
    run_result_add_apart(result->job, tree);
    return tree;
}

int run_result_write(const struct run_result *result, struct error *err) {
    AUTO(tree_freep) json_t *tree = result_json(result);
    char sha256[65];
    return add_reports(result, tree, err) < 0
               ? -1
               : result_write(result->prepared->output, tree, result->prepared->key, sha256, err);
}
