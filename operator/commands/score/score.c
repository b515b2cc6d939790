// SPDX-License-Identifier: Apache-2.0
/* Makes the manifest that a kind writes for a network and an input, and runs it: `windlass run`
 * does the work. */
#include "operator/commands/score/score.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "lib/text/utf8.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/run/run_text.h"
#include "operator/commands/score/score_ask.h"
#include "operator/commands/score/score_header.h"
#include "operator/commands/score/score_input.h"
#include "operator/commands/score/score_place.h"
#include "operator/commands/score/score_set.h"
#include "operator/kinds/kinds.h"
#include "operator/manifest.h"
#include "operator/manifest_write.h"
#include "operator/resource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 60 /* of a command line; option_list (lib/options.h) holds a few more */ };

#define ONNX "scorer.onnx."

struct request {
    const struct kind_row *row;
    const char *output, *pattern, *labels, *tokenizer, *range, *type, *columns, *key, *format,
        *name, *save, *state;
    int64_t top, workers;
    struct option_list sets;
    bool restarts;
};

/* What is found out, one after the other. */
struct work {
    json_t *asked, *network, *header, *key, *columns;
    struct score_input input;
    struct score_places places;
    char *model, *input_path, *output, *list, *tokenizer; /* as the manifest has them */
    char *output_folder, *file;                           /* file: of rows; NULL: by the format */
    const char *rows;
};

static void work_release(struct work *work) {
    json_decref(work->asked);
    json_decref(work->network);
    json_decref(work->header);
    json_decref(work->key);
    json_decref(work->columns);
    score_input_release(&work->input);
    score_places_release(&work->places);
    free(work->model);
    free(work->input_path);
    free(work->output);
    free(work->list);
    free(work->tokenizer);
    free(work->output_folder);
    free(work->file);
}

/* ---- what was asked for --------------------------------------------------------------------- */

/* A file of this machine, as the manifest has it; owned. */
static int place_file(struct work *work, const char *volume, const char *path, char **ret_path,
                      struct error *err) {
    AUTO(text_freep) char *found = realpath(path, NULL);
    if (!found || access(found, R_OK) < 0) {
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    }
    if (utf8_valid_size(found, strlen(found)) < strlen(found)) {
        return error_set(err, ERROR_INVALID, "%s: a manifest can name only paths in UTF-8", path);
    }
    *ret_path = score_place(&work->places, volume, found);
    return 0;
}

static int set_labels(const struct request *request, struct work *work, struct error *err) {
    AUTO(text_freep) char *path = NULL;
    if (!request->labels) {
        return 0;
    }
    return place_file(work, "labels", request->labels, &path, err) < 0
               ? -1
               : score_set(work->asked, ONNX "postprocess.labels", json_string(path), err);
}

static int read_asked(const struct request *request, struct work *work, struct error *err) {
    const struct {
        const char *field, *value;
    } short_ones[] = {{ONNX "preprocess.range", request->range},
                      {ONNX "postprocess.type", request->type}};
    work->asked = json_object();
    for (size_t i = 0; i < ARRAY_LEN(short_ones); i++) {
        if (short_ones[i].value && score_set(work->asked, short_ones[i].field,
                                             json_string(short_ones[i].value), err) < 0) {
            return -1;
        }
    }
    if ((request->top > 0 &&
         score_set(work->asked, ONNX "postprocess.top", json_integer(request->top), err) < 0) ||
        set_labels(request, work, err) < 0) {
        return -1;
    }
    if (score_set_words(work->asked, &request->sets, err) < 0) {
        return -1;
    }
    work->key = request->key ? score_split(request->key) : NULL;
    work->columns = request->columns ? score_split(request->columns) : NULL;
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* --output out/scores.csv names a file of rows in the folder; *ret_folder is owned. */
static int split_output(const struct request *request, struct work *work, char **ret_folder,
                        struct error *err) {
    static const struct {
        const char *ending, *format;
    } rows[] = {{".csv", "CSV"}, {".jsonl", "JSONLines"}, {".parquet", "Parquet"}, {".npy", "Npy"}};
    const char *base = file_basename(request->output);
    work->rows = request->format;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!text_ends(base, rows[i].ending)) {
            continue;
        }
        if (base == request->output) {
            return error_set(err, ERROR_INVALID,
                             "-o %s: name a folder for it, such as -o scores/%s; summary.json and "
                             "report.html go there, too",
                             base, base);
        }
        work->rows = rows[i].format;
        work->file = x_strdup(base);
        *ret_folder = x_strndup(request->output, (size_t)(base - request->output) - 1);
        return 0;
    }
    *ret_folder = x_strdup(request->output);
    return 0;
}

/* The path without links and dots of a folder that may not be there yet; owned, or NULL. */
static char *real_folder(const char *folder) {
    AUTO(text_freep) char *there = x_strdup(folder);
    AUTO(text_freep) char *rest = x_strdup("");
    for (;;) {
        AUTO(text_freep) char *found = realpath(*there ? there : ".", NULL);
        if (found) {
            return x_printf("%s%s", strcmp(found, "/") == 0 && *rest ? "" : found, rest);
        }
        char *slash = strrchr(there, '/');
        const char *last = slash ? slash + 1 : there;
        if (errno != ENOENT || strcmp(last, "..") == 0) {
            return NULL;
        }
        AUTO(text_freep) char *shorter = rest;
        rest =
            *last && strcmp(last, ".") != 0 ? x_printf("/%s%s", last, shorter) : x_strdup(shorter);
        there[slash == there ? 1 : slash ? slash - there : 0] = 0; /* "/" is always there */
    }
}

static int place_output(const struct request *request, struct work *work, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    if (split_output(request, work, &folder, err) < 0) {
        return -1;
    }
    work->output_folder = real_folder(folder);
    if (!work->output_folder) {
        return error_set(err, ERROR_INVALID, "-o %s: %m", folder);
    }
    size_t length = strlen(work->input.path);
    if (text_starts(work->output_folder, work->input.path) && !work->input.names &&
        (work->output_folder[length] == '/' || !work->output_folder[length])) {
        return error_set(err, ERROR_INVALID,
                         "-o %s: is in the input's folder, where results would be taken for "
                         "inputs; choose a folder beside it",
                         request->output);
    }
    if (file_make_folders(work->output_folder, err) < 0) {
        return -1;
    }
    work->output = score_place(&work->places, "out", work->output_folder);
    return 0;
}

/* Files that were named are a list, which is beside the output: OUT.1f3a9c02.list. Another list has
 * another name, so that one run never goes on with the list of another. */
static int write_list(struct work *work, struct error *err) {
    char hex[65];
    AUTO(text_freep) char *text = x_strdup("");
    json_t *name;
    size_t i;
    if (!work->input.names) {
        return 0;
    }
    json_array_foreach(work->input.names, i, name) {
        AUTO(text_freep) char *before = text;
        text = x_printf("%s%s\n", before, json_string_value(name));
    }
    digest_sha256(text, strlen(text), hex);
    AUTO(text_freep) char *path = x_printf("%s.%.8s.list", work->output_folder, hex);
    return file_write(path, text, strlen(text), err) < 0
               ? -1
               : place_file(work, "list", path, &work->list, err);
}

/* tokenizer.json beside the model, or in the folder above, as exporters leave it. */
static int find_tokenizer(const struct request *request, const char *model, struct work *work,
                          struct error *err) {
    static const char *const places[] = {"tokenizer.json", "../tokenizer.json"};
    const char *base = file_basename(model);
    if (request->tokenizer) {
        return place_file(work, "tokenizer", request->tokenizer, &work->tokenizer, err);
    }
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        AUTO(text_freep)
        char *path = x_printf("%.*s%s", (int)(base - model), model, places[i]);
        if (access(path, R_OK) == 0) {
            return place_file(work, "tokenizer", path, &work->tokenizer, err);
        }
    }
    return 0;
}

static int find_all(const struct request *request, const struct option_list *words,
                    struct work *work, struct error *err) {
    const char *model = words->values[0];
    if (!request->output) {
        return error_set(err, ERROR_INVALID, "-o DIR is missing: where the results go");
    }
    if (score_places_begin(&work->places, err) < 0 ||
        place_file(work, "model", model, &work->model, err) < 0 ||
        read_asked(request, work, err) < 0 || score_ask(model, &work->network, err) < 0 ||
        score_input_find(words->values + 1, words->count - 1, request->pattern,
                         tree_text(work->network, "items", ""), &work->input, err) < 0 ||
        place_output(request, work, err) < 0 ||
        place_file(work, "input", work->input.path, &work->input_path, err) < 0 ||
        write_list(work, err) < 0 || find_tokenizer(request, model, work, err) < 0) {
        return -1;
    }
    return work->input.form == KIND_TABLE
               ? score_header_read(work->input.first, work->input.table_format, &work->header, err)
               : 0;
}

/* ---- the manifest --------------------------------------------------------------------------- */

static bool is_same(const char *text, const json_t *object) {
    AUTO(manifest_freep) struct manifest *read = NULL;
    struct error ignored = {0};
    return manifest_parse("manifest", text, strlen(text), &read, &ignored) == 0 &&
           read->count == 1 && json_equal(read->documents[0].tree, object);
}

static int make(const struct request *request, const struct option_list *words,
                struct kind_scored *ret_made, char **ret_text, struct error *err) {
    AUTO(work_release) struct work work = {0};
    if (find_all(request, words, &work, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *standard = cli_command_job_name(file_basename(work.output_folder));
    const struct kind_score job = {.name = request->name ? request->name : standard,
                                   .model = work.model,
                                   .input = work.input_path,
                                   .output = work.output,
                                   .form = work.input.form,
                                   .count = work.input.count,
                                   .pattern = work.input.pattern,
                                   .list = work.list,
                                   .table_format = work.input.table_format,
                                   .header = work.header,
                                   .key = work.key,
                                   .columns = work.columns,
                                   .tokenizer = work.tokenizer,
                                   .rows = work.rows,
                                   .file = work.file,
                                   .network = work.network,
                                   .asked = work.asked,
                                   .volumes = work.places.volumes};
    AUTO(tree_freep) json_t *checked = NULL;
    if (request->row->score(&job, ret_made, err) < 0) {
        return error_context(err, "%s", words->values[0]);
    }
    *ret_text = manifest_write(ret_made->object, ret_made->remarks);
    if (!is_same(*ret_text, ret_made->object)) {
        return error_set(err, ERROR_INVALID,
                         "all names of files and columns are longer than a manifest may be");
    }
    return resource_parse("the manifest of it", *ret_text, strlen(*ret_text), &checked, err);
}

static int run_it(const struct request *request, const char *manifest, int *ret_code,
                  struct error *err) {
    AUTO(text_freep) char *workers = x_printf("%lld", (long long)request->workers);
    const struct run_text text = {
        .manifest = manifest,
        .options = {{"--workers", request->workers ? workers : NULL}, {"--state", request->state}},
        .restarts = request->restarts};
    return run_text_run_or_save(&text, request->save, ret_code, err);
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    AUTO(kind_scored_release) struct kind_scored made = {0};
    AUTO(text_freep) char *text = NULL;
    if (make(request, words, &made, &text, err) < 0) {
        return -1;
    }
    fprintf(stderr, "windlass: scores %s go to %s\n", made.summary, request->output);
    return run_it(request, text, ret_code, err);
}

static bool scores(const struct kind_row *row) {
    return row->score;
}

static const struct command_help help = {
    .usage = "windlass score MODEL.onnx INPUT... -o DIR [options]",
    .about =
        "Runs a network on pictures, a video, a table, texts or arrays, on this machine, without\n"
        "a manifest. INPUT is a folder or files: .jpg, .png; .mp4 and other videos; .csv,\n"
        ".tsv, .jsonl, .parquet; .txt; .npy. Inputs and outputs of the network are detected and\n"
        "printed in one line; where that fails, the error names the option to set. Results are in\n"
        "DIR, with summary.json and report.html; run again, it continues.\n"
        "\n"
        "--save writes the manifest instead: `windlass run -f` does the same with it, and\n"
        "so does a cluster that has these volumes.",
    .examples = "windlass score resnet50.onnx photos -o classes --range ImageNet --type Classes "
                "--labels names.txt\n"
                "windlass score trees.onnx rows -o scores/scores.csv --key patient\n"
                "windlass score digits.onnx monday.npy -o read --type Classes --save job.yaml",
    .words_min = 2,
    .words_max = WORDS_MAX,
};

int score_without_manifest(int argc, char **argv) {
    struct request request = {.row = kinds_having(scores)};
    if (!request.row) {
        fprintf(stderr, "windlass score: no kind of this build scores without a manifest\n");
        return 2;
    }
    if (argc > WORDS_MAX) { /* a shell may make thousands of one pattern */
        fprintf(
            stderr,
            "windlass score: more than %d arguments; give the folder of the files, and --pattern "
            "'*.jpg' if not all of it is meant\n",
            WORDS_MAX);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if (utf8_valid_size(argv[i], strlen(argv[i])) < strlen(argv[i])) {
            fprintf(stderr, "windlass score: argument %d is not UTF-8, as a manifest must be\n", i);
            return 2;
        }
    }
    const struct option options[] = {
        {"output", 'o', OPTION_TEXT, "DIR",
         "The folder of the results, or DIR/scores.csv (.jsonl, .parquet, .npy).", &request.output},
        {"range", 0, OPTION_TEXT, "RANGE",
         "Pictures: the values that the network takes: ImageNet, Unit, Byte or Signed.",
         &request.range},
        {"type", 0, OPTION_TEXT, "TYPE",
         "The network's output: Image, Classes, Values, Embedding, Boxes, Mask, Text or Raw.",
         &request.type},
        {"labels", 0, OPTION_TEXT, "FILE", "Names of the classes, one in a line.", &request.labels},
        {"top", 0, OPTION_INTEGER, "N", "How many of the best classes are written (default: 5).",
         &request.top},
        {"columns", 0, OPTION_TEXT, "A,B,...",
         "Tables: the columns that the network takes, in the order of its inputs.",
         &request.columns},
        {"key", 0, OPTION_TEXT, "A,...", "Tables: the columns that identify a row.", &request.key},
        {"tokenizer", 0, OPTION_TEXT, "FILE", "Texts: default: tokenizer.json beside the network.",
         &request.tokenizer},
        {"pattern", 0, OPTION_TEXT, "'*.jpg'", "Which files of the folder.", &request.pattern},
        {"format", 0, OPTION_TEXT, "FORMAT", "Of rows: JSONLines, CSV, Parquet, Npy or COCO.",
         &request.format},
        {"set", 0, OPTION_LIST, "FIELD=VALUE",
         "Any field of the spec, such as miniBatchSize=8; may be repeated.", &request.sets},
        {"save", 0, OPTION_TEXT, "FILE", "Write the manifest (- prints it), and run nothing.",
         &request.save},
        {"name", 0, OPTION_TEXT, "NAME", "The job's name (default: the output's).", &request.name},
        {"workers", 'w', OPTION_INTEGER, "N", "As in windlass run.", &request.workers},
        {"state", 0, OPTION_TEXT, "DIR", "As in windlass run.", &request.state},
        {"restart", 0, OPTION_FLAG, NULL, "As in windlass run.", &request.restarts},
        {0},
    };
    const struct cli_command command = {
        .name = "score", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
