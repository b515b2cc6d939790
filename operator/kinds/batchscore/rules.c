// SPDX-License-Identifier: Apache-2.0
/* The rules between the fields of a BatchScore. crds/batchscore.yaml has each as CEL with the same
 * message. */
#include "operator/kinds/batchscore/endpoint/endpoint_rules.h"
#include "operator/kinds/batchscore/output_rules.h"
#include "operator/kinds/batchscore/result_rules.h"
#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/own_variables.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/kinds/job/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const json_t *spec, const char *path) {
    return tree_get(spec, path) != NULL;
}

/* ---- paths ---- */

/* Whether it is of a file that was published, whose server the spec has no place for. */
static bool is_published(const char *field, const char *path) {
    return strcmp(field, "scorer.onnx.path") == 0 &&
           (text_starts(path, "https://") || text_starts(path, "oci://"));
}

static int check_digest(const json_t *spec, struct error *err) {
    const char *path = tree_text(spec, "scorer.onnx.path", "");
    return text_starts(path, "https://") == has(spec, "scorer.onnx.sha256")
               ? 0
               : job_refuse(err, "scorer.onnx.sha256",
                            "must be given for a path that is https://, and for no other");
}

static int check_paths(const json_t *spec, struct error *err) {
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        const char *path = tree_text(spec, *field, NULL);
        if (path && !is_published(*field, path) && job_check_place(spec, *field, path, err) < 0) {
            return -1;
        }
    }
    return check_digest(spec, err);
}

/* Checks a field with a path to write to. */
static int check_written(const json_t *spec, const char *field, const char *what, const char *need,
                         struct error *err) {
    static const char *const inputs[] = {"input.files.path", "input.table.path", "input.npy.path"};
    const char *path = tree_text(spec, field, NULL);
    if (job_check_written(spec, field, need, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        const char *input = tree_text(spec, inputs[i], NULL);
        if (path && input && job_lies_below(path, input)) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: is in the input folder, where %s would be taken for "
                             "inputs; choose a folder beside it",
                             field, what);
        }
    }
    return 0;
}

/* ---- input, scorer, output ---- */

/* Rows are those of files, or of a query. */
static int check_table(const json_t *spec, const json_t *table, struct error *err) {
    static const char *const sources[] = {"path", "query"};
    if (!job_only_one(table, sources, ARRAY_LEN(sources))) {
        return job_refuse(err, "input.table", "exactly one of path and query must be given");
    }
    if (!json_object_get(table, "query")) {
        return 0;
    }
    if (strcmp(tree_text(table, "format", ""), "CSV") != 0 || !tree_bool(table, "header", false) ||
        strcmp(tree_text(table, "pattern", ""), "*") != 0) {
        return job_refuse(err, "input.table.query",
                          "rows of a query have names and types; take format, header and pattern "
                          "out");
    }
    return strcmp(tree_text(spec, "rerun", ""), "OnChange") == 0
               ? job_refuse(err, "rerun",
                            "OnChange is for files and tables whose changes can be seen, not for a "
                            "query; take schedule")
               : 0;
}

static int check_input(const json_t *spec, struct error *err) {
    static const char *const kinds[] = {"video", "files", "table", "npy"};
    if (!job_only_one(json_object_get(spec, "input"), kinds, ARRAY_LEN(kinds))) {
        return job_refuse(err, "input", "exactly one of video, files, table and npy must be given");
    }
    const json_t *files = tree_get(spec, "input.files"), *table = tree_get(spec, "input.table");
    if (json_object_get(files, "manifest")) {
        if (strcmp(tree_text(files, "order", ""), "Name") != 0) {
            return job_refuse(err, "input.files.order",
                              "the order is that of the manifest's lines; take order out");
        }
        if (strcmp(tree_text(files, "pattern", ""), "*") != 0) {
            return job_refuse(err, "input.files.pattern",
                              "the manifest names the files; take pattern out");
        }
    }
    if (table && check_table(spec, table, err) < 0) {
        return -1;
    }
    if (json_object_get(table, "columns") &&
        strcmp(tree_text(table, "format", ""), "Parquet") != 0) {
        return job_refuse(err, "input.table.columns",
                          "is for format: Parquet, of which only these columns are read; take it "
                          "out");
    }
    if (json_object_get(table, "partitionKeys") && !tree_bool(table, "header", false) &&
        strcmp(tree_text(table, "format", ""), "JSONLines") != 0) {
        return job_refuse(err, "input.table.partitionKeys",
                          "names columns, which need header: true or format: JSONLines");
    }
    return 0;
}

static int check_command(const json_t *spec, struct error *err) {
    if (!has(spec, "input.files") && !has(spec, "input.table")) {
        return job_refuse(err, "scorer.command",
                          "scores files and tables; for video and npy use scorer.onnx");
    }
    return job_check_environment(spec, "scorer.command.environment", err) < 0 ||
                   own_variables_check_command(spec, "scorer.command.command", NULL, err) < 0 ||
                   own_variables_check_tree(spec, "scorer.command.arguments", NULL, err) < 0
               ? -1
               : own_variables_check_tree(spec, "scorer.command.environment", NULL, err);
}

/* Refuses the fields for images. A spec with its defaults has preprocess with no effect. */
static int check_no_pictures(const json_t *onnx, struct error *err) {
    static const char *const fields[] = {"width",  "height", "fit", "padValue",
                                         "layout", "mean",   "std"};
    const json_t *given = json_object_get(onnx, "preprocess");
    bool has_field = false;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        has_field = has_field || json_object_get(given, fields[i]);
    }
    if (has_field || tree_integer(given, "multipleOf", -1) != 1 ||
        strcmp(tree_text(given, "color", ""), "RGB") != 0 ||
        strcmp(tree_text(given, "range", ""), "Byte") != 0) {
        return job_refuse(
            err, "scorer.onnx.preprocess",
            "is for pictures, but texts, slices and rows go to the network without it; remove it");
    }
    return result_rules_wants_pictures(onnx)
               ? job_refuse(err, "scorer.onnx.postprocess.type",
                            "this type is for pictures, but texts, slices and rows are not "
                            "pictures; use another type")
               : 0;
}

/* Columns are identified by their names. */
static int check_columns(const json_t *spec, struct error *err) {
    const json_t *table = tree_get(spec, "input.table");
    if (!table) {
        return has(spec, "scorer.onnx.columns")
                   ? job_refuse(err, "scorer.onnx.columns", "names columns of a table; take it out")
                   : 0;
    }
    return tree_bool(table, "header", false) ||
                   strcmp(tree_text(table, "format", ""), "JSONLines") == 0
               ? 0
               : job_refuse(err, "input.table.header",
                            "a network takes columns by their names, which need header: true or "
                            "format: JSONLines");
}

static int check_tokenizer(const json_t *spec, struct error *err) {
    if (!has(spec, "scorer.onnx.tokenizer")) {
        return 0;
    }
    if (!has(spec, "input.table") && !has(spec, "input.files")) {
        return job_refuse(err, "scorer.onnx.tokenizer",
                          "is for texts, which are in a table or in files; take it out");
    }
    return has(spec, "scorer.onnx.tokenizer.columns") == has(spec, "input.table")
               ? 0
               : job_refuse(err, "scorer.onnx.tokenizer.columns",
                            "names a table's column of texts, or two for pairs of texts; files "
                            "have none");
}

static int check_network_inputs(const json_t *spec, struct error *err) {
    static const char *const kinds[] = {"picture",  "columns", "tokens", "array",
                                        "constant", "steps",   "state"};
    const json_t *inputs = tree_get(spec, "scorer.onnx.inputs"), *entry;
    size_t i;
    json_array_foreach(inputs, i, entry) {
        char field[64];
        snprintf(field, sizeof field, "scorer.onnx.inputs[%zu]", i);
        if (!job_only_one(entry, kinds, ARRAY_LEN(kinds))) {
            return job_refuse(err, field,
                              "exactly one of picture, columns, tokens, array, constant, steps and "
                              "state must be given");
        }
        bool has_details = json_object_get(entry, "size") || json_object_get(entry, "pad");
        if (has_details && !json_object_get(entry, "steps")) {
            return job_refuse(err, field, "size and pad belong to steps");
        }
        if (json_object_get(entry, "tokens") && !has(spec, "scorer.onnx.tokenizer")) {
            return job_refuse(err, "scorer.onnx.inputs",
                              "tokens need scorer.onnx.tokenizer, which makes them of texts");
        }
    }
    return 0;
}

static int check_scorer(const json_t *spec, struct error *err) {
    static const char *const kinds[] = {"onnx", "command", "endpoint"};
    const json_t *scorer = json_object_get(spec, "scorer");
    const char *kind = job_only_one(scorer, kinds, ARRAY_LEN(kinds));
    if (!kind) {
        return job_refuse(err, "scorer", "exactly one of onnx, command and endpoint must be given");
    }
    if (strcmp(kind, "command") == 0) {
        return check_command(spec, err);
    }
    if (strcmp(kind, "endpoint") == 0) {
        return endpoint_rules_check(spec, err);
    }
    bool has_pictures =
        !has(spec, "input.npy") && !has(spec, "input.table") && !has(spec, "scorer.onnx.tokenizer");
    if (!has_pictures && check_no_pictures(json_object_get(scorer, "onnx"), err) < 0) {
        return -1;
    }
    if (check_columns(spec, err) < 0 || check_tokenizer(spec, err) < 0 ||
        check_network_inputs(spec, err) < 0 || result_rules_check(spec, err) < 0) {
        return -1;
    }
    const char *precision = tree_text(spec, "scorer.onnx.precision", NULL);
    bool is_on_cpus =
        !precision || strcmp(precision, "FP32") == 0 || strcmp(precision, "BF16") == 0;
    return is_on_cpus || tree_integer(spec, "workers.gpus", 0) > 0
               ? 0
               : job_refuse(err, "scorer.onnx.precision",
                            "is for GPUs, CPUs compute in FP32 or BF16; set workers.gpus or take "
                            "one of these");
}

static int check_mode(const json_t *spec, struct error *err) {
    enum output_mode mode = batchscore_mode(spec);
    if (mode == OUTPUT_PER_FILE && (has(spec, "input.table") || has(spec, "input.npy"))) {
        return job_refuse(err, "output.mode",
                          "PerFile is for video and files; for a table or npy take AppendRow or "
                          "SummaryOnly");
    }
    if (mode == OUTPUT_APPEND_ROW && result_rules_makes_pictures(tree_get(spec, "scorer.onnx"))) {
        return job_refuse(err, "output.mode",
                          "AppendRow joins rows of text, but type: Image, Mask and draw write "
                          "pictures; use another type");
    }
    static const char *const taken[] = {"summary.json",  "failed.jsonl",        "mini_batches.csv",
                                        "workers.csv",   "report.html",         "result.json",
                                        "outputs.jsonl", "result.intoto.jsonl", "errors.jsonl"};
    const char *name = tree_text(spec, "output.appendRowFileName", NULL);
    if (name && mode != OUTPUT_APPEND_ROW) {
        return job_refuse(err, "output.appendRowFileName", "belongs to mode: AppendRow");
    }
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        if (name && strcmp(name, taken[i]) == 0) {
            return job_refuse(err, "output.appendRowFileName",
                              "is the name of another output; choose another name");
        }
    }
    return 0;
}

static int check_mini_batch(const json_t *spec, struct error *err) {
    const json_t *size = json_object_get(spec, "miniBatchSize");
    const char *text = json_string_value(size);
    bool is_auto = text && strcmp(text, "auto") == 0;
    bool is_bytes = text && text_ends(text, "B");
    if (size && !is_auto && is_bytes != has(spec, "input.table")) {
        return job_refuse(err, "miniBatchSize",
                          "is bytes for a table (10MB), items for all else (10), or auto");
    }
    if (size && has(spec, "input.table.partitionKeys")) {
        return job_refuse(
            err, "miniBatchSize",
            "is not for a table with partitionKeys, of which each key is a mini-batch; "
            "take it out");
    }
    return 0;
}

static int check_start(const json_t *spec, struct error *err) {
    int ways = has(spec, "trigger") + has(spec, "schedule") +
               (strcmp(tree_text(spec, "rerun", ""), "OnChange") == 0);
    return ways > 1 ? error_set(err, ERROR_INVALID,
                                "spec: at most one of trigger, schedule and rerun: OnChange says "
                                "when runs start")
                    : 0;
}

/* ---- roles ---- */

static int check_coordinator(const json_t *coordinator, struct error *err) {
    if (job_asks_for_gpus(json_object_get(coordinator, "resources"))) {
        return error_set(err, ERROR_INVALID,
                         "spec.coordinator.resources: the coordinator uses no GPU; take "
                         "nvidia.com/gpu out");
    }
    return 0;
}

static int check_workers(const json_t *workers, struct error *err) {
    if (tree_integer(workers, "min", 0) > tree_integer(workers, "max", 0)) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.min: is more than workers.max; raise max or lower min");
    }
    if (job_asks_for_gpus(json_object_get(workers, "resources"))) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.resources: nvidia.com/gpu is set by workers.gpus; take it "
                         "out of resources");
    }
    return 0;
}

static int check_all(const json_t *object, struct error *err) {
    static int (*const rules[])(const json_t *spec, struct error *err) = {
        check_input,        check_scorer,     check_paths, check_mode,
        output_rules_check, check_mini_batch, check_start};
    const json_t *spec = json_object_get(object, "spec");
    if (after_reference_check(object, err) < 0 ||
        check_workers(json_object_get(spec, "workers"), err) < 0 ||
        check_coordinator(json_object_get(spec, "coordinator"), err) < 0 ||
        job_check_volumes(spec, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i](spec, err) < 0) {
            return -1;
        }
    }
    if (check_written(spec, "output.path", "results", "outputs need one", err) < 0 ||
        check_written(spec, "logs.path", "logs", "logs need one", err) < 0) {
        return -1;
    }
    return template_check(spec, err);
}

int batchscore_check(const json_t *object, struct error *err) {
    if (parameters_check(object, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *filled = parameters_fill(object);
    return check_all(filled ? filled : object, err);
}

int batchscore_check_change(const json_t *before, const json_t *after, struct error *err) {
    bool had = tree_integer(before, "workers.gpus", 0) > 0;
    if (had != (tree_integer(after, "spec.workers.gpus", 0) > 0)) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.gpus: cannot change from or to 0 while the job exists");
    }
    return batchscore_check(after, err);
}
