// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/derived/derived_manifest.h"

#include "operator/kinds/batchscore/derived/derived_result.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 8 /* columns in a message */, WORKERS = 4 };

static const char about[] =
    "Made by `windlass score`. `windlass run -f` of this file does the same again; on a cluster,\n"
    "volumes must be what its pods can mount (see below), then: kubectl apply -f";
static const char about_volumes[] =
    "Folders of this machine. For a cluster put in the place of hostPath, which is a folder of\n"
    "each node, what all its pods can mount and what holds the same files, such as\n"
    "persistentVolumeClaim: {claimName: work}, blobfuse, azureFile or nfs.";
static const char about_errors[] =
    "More failed items than this end the job; failed.jsonl lists them. -1: never; 0: the first.";
static const char about_workers[] = "Pods on a cluster; here at most one for each processor.";

/* The first input that gets the item, of which there is one. */
static const json_t *find_input(const json_t *network) {
    const json_t *inputs = json_object_get(network, "inputs"), *input;
    size_t i;
    json_array_foreach(inputs, i, input) {
        if (tree_bool(input, "isDefault", false)) {
            return input;
        }
    }
    return NULL;
}

/* "float32 [n, 3, 224, 224]"; owned. */
static char *show_input(const json_t *input) {
    char *all = x_printf("%s [", tree_text(input, "type", ""));
    const json_t *sizes = json_object_get(input, "shape");
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        AUTO(text_freep) char *before = all;
        int64_t size = json_integer_value(json_array_get(sizes, i));
        const char *between = i ? ", " : "";
        all = size >= 0 ? x_printf("%s%s%lld", before, between, (long long)size)
              : i == 0  ? x_printf("%sn", before)
                        : x_printf("%s%s*", before, between);
    }
    AUTO(text_freep) char *before = all;
    return x_printf("%s]", before);
}

static json_t *input_of(const struct kind_score *job) {
    static const char *const names[] = {"files", "video", "table", "files", "npy"};
    static_assert(ARRAY_LEN(names) == KIND_FORM_COUNT, "one field per form");
    return json_pack("{s:{s:s, s:s*, s:s*, s:s*}}", names[job->form], "path", job->input, "pattern",
                     job->pattern, "manifest", job->list, "format",
                     job->form == KIND_TABLE ? job->table_format : NULL);
}

/* ---- columns -------------------------------------------------------------------------------- */

/* The table's columns without its key; owned. */
static json_t *columns_of(const struct kind_score *job) {
    json_t *all = json_array(), *name;
    size_t i;
    json_array_foreach(job->header, i, name) {
        if (!tree_has_text(job->key, json_string_value(name))) {
            json_array_append(all, name);
        }
    }
    return all;
}

/* "a, b, c, ..."; owned. */
static char *show_columns(const json_t *names) {
    char *all = x_strdup("");
    size_t count = json_array_size(names);
    for (size_t i = 0; i < count && i <= SHOWN_MAX; i++) {
        AUTO(text_freep) char *before = all;
        all = x_printf("%s%s%s", before, i ? ", " : "",
                       i == SHOWN_MAX ? "..." : json_string_value(json_array_get(names, i)));
    }
    return all;
}

/* Inputs that have the names of columns take them by these; several must, where nothing else is
 * known. */
static bool takes_by_name(const struct kind_score *job) {
    const json_t *inputs = json_object_get(job->network, "inputs"), *input;
    size_t i, count = 0, named = 0;
    json_array_foreach(inputs, i, input) {
        count += tree_bool(input, "isDefault", false);
        named += tree_bool(input, "isDefault", false) &&
                 tree_has_text(job->header, tree_text(input, "name", ""));
    }
    return job->header ? named == count : count > 1;
}

/* One input [n, columns], and which columns these are. */
static void set_columns(const struct kind_score *job, struct derived_missing *missing,
                        json_t *onnx) {
    AUTO(tree_freep) json_t *there = columns_of(job);
    const json_t *input = find_input(job->network), *sizes = json_object_get(input, "shape");
    int64_t wanted = json_integer_value(json_array_get(sizes, 1));
    if (job->columns) {
        json_object_set(onnx, "columns", (json_t *)job->columns);
    } else if (tree_get(job->asked, "spec.scorer.onnx.columns") ||
               tree_get(job->asked, "spec.scorer.onnx.inputs") || takes_by_name(job)) {
        return;
    } else if (json_array_size(sizes) == 2 &&
               (wanted < 0 || (size_t)wanted == json_array_size(there)) && job->header) {
        json_object_set(onnx, "columns", there);
    } else {
        AUTO(text_freep) char *shape = show_input(input);
        AUTO(text_freep) char *names = show_columns(there);
        size_t count = json_array_size(there);
        bool are_too_few = wanted > (int64_t)count;
        AUTO(text_freep)
        char *of = x_printf(", of %zu%s: %s", count, are_too_few ? " (too few)" : "", names);
        derived_missing_add(missing,
                            "--columns NAME,NAME,... (or --key NAME, which is none of them): which "
                            "columns are its %s%s",
                            shape, job->header ? of : "");
    }
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void set_tokenizer(const struct kind_score *job, struct derived_missing *missing,
                          json_t *onnx) {
    AUTO(tree_freep) json_t *there = columns_of(job);
    const char *asked = derived_asked(job, "tokenizer.path");
    AUTO(tree_freep)
    json_t *tokenizer = json_pack("{s:s*}", "path", asked ? asked : job->tokenizer);
    if (!asked && !job->tokenizer) {
        derived_missing_add(missing, "--tokenizer FILE: its tokenizer.json is not beside it");
    }
    if (job->form == KIND_TABLE && job->columns) {
        json_object_set(tokenizer, "columns", (json_t *)job->columns);
    } else if (job->form == KIND_TABLE &&
               !tree_get(job->asked, "spec.scorer.onnx.tokenizer.columns")) {
        bool has_name = tree_has_text(there, "text"), is_single = json_array_size(there) == 1;
        AUTO(text_freep) char *names = show_columns(there);
        if (!has_name && !is_single) {
            derived_missing_add(missing, "--columns NAME: which column has the texts%s%s",
                                job->header ? ", of " : "", names);
        }
        json_object_set_new(
            tokenizer, "columns",
            json_pack("[s]", is_single ? json_string_value(json_array_get(there, 0)) : "text"));
    }
    json_object_set(onnx, "tokenizer", tokenizer);
}

/* ---- pictures ------------------------------------------------------------------------------- */

/* Bytes are 0 to 255; of other types it is unknown. */
static void set_range(const struct kind_score *job, struct derived_missing *missing, json_t *onnx) {
    const json_t *input = find_input(job->network);
    bool has_bytes = strcmp(tree_text(input, "type", ""), "uint8") == 0;
    if (!derived_asked(job, "preprocess.range") && !has_bytes) {
        derived_missing_add(missing,
                            "--range ImageNet, Unit, Byte or Signed, the values of its pictures "
                            "in training");
    }
    json_object_set_new(onnx, "preprocess",
                        json_pack("{s:s, s:s}", "range", "Byte", "color", "RGB"));
}

static void set_picture_range(const struct kind_score *job, struct derived_missing *missing,
                              json_t *postprocess) {
    const char *range = derived_asked(job, "preprocess.range");
    if (range && strcmp(range, "ImageNet") == 0) {
        derived_missing_add(missing,
                            "--set scorer.onnx.postprocess.range=Unit, Byte or Signed, the "
                            "values of the pictures that it makes");
        return;
    }
    json_object_set_new(postprocess, "range", json_string(range ? range : "Byte"));
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void check_constants(const struct kind_score *job, struct derived_missing *missing) {
    const json_t *inputs = json_object_get(job->network, "inputs"), *input;
    size_t i;
    if (tree_get(job->asked, "spec.scorer.onnx.inputs")) {
        return;
    }
    if (tree_bool(job->network, "hasStates", false)) {
        derived_missing_add(missing,
                            "--set 'scorer.onnx.inputs=[...]' with the inputs that "
                            "`windlass-agent model check` prints: it goes from step to step");
        return;
    }
    json_array_foreach(inputs, i, input) {
        if (!tree_bool(input, "isDefault", false)) {
            AUTO(text_freep) char *shape = show_input(input);
            derived_missing_add(
                missing,
                "--set 'scorer.onnx.inputs=[{name: \"%s\", constant: [%lld]}]', its "
                "input %s, with your value",
                tree_text(input, "name", ""), (long long)tree_integer(input, "constant", 0), shape);
        }
    }
}

static json_t *scorer_of(const struct kind_score *job, const struct derived_result *result,
                         struct derived_missing *missing) {
    json_t *onnx = json_pack("{s:s}", "path", job->model);
    json_t *postprocess = json_pack("{s:s, s:s*}", "type", result->type, "scores", result->scores);
    bool has_pictures = job->form == KIND_PICTURES || job->form == KIND_FILM;
    const json_t *outputs =
        tree_get(tree_find(json_object_get(job->network, "fits"), "type", result->type), "outputs");
    if (strcmp(tree_text(job->network, "items", ""), "tokens") == 0) {
        set_tokenizer(job, missing, onnx);
    } else if (job->form == KIND_TABLE) {
        set_columns(job, missing, onnx);
    } else if (has_pictures) {
        set_range(job, missing, onnx);
    }
    if (result->per_picture && !result->draws && strcmp(result->type, "Image") == 0) {
        set_picture_range(job, missing, postprocess);
    }
    if (result->draws) {
        json_object_set_new(postprocess, "draw", json_true());
    }
    if (json_array_size(outputs) > 1 && result->output && derived_asked(job, "output")) {
        json_object_set_new(onnx, "output", json_string(result->output));
    }
    check_constants(job, missing);
    json_object_set_new(onnx, "postprocess", postprocess);
    return json_pack("{s:o}", "onnx", onnx);
}

static json_t *output_of(const struct kind_score *job, const struct derived_result *result) {
    const char *format = job->rows ? job->rows : "JSONLines";
    json_t *output = json_pack("{s:s}", "path", job->output);
    if (!result->per_picture) {
        json_object_update_new(output,
                               json_pack("{s:s, s:s}", "mode", "AppendRow", "format", format));
        if (job->file) {
            json_object_set_new(output, "appendRowFileName", json_string(job->file));
        }
        if (job->key) {
            json_object_set(output, "key", (json_t *)job->key);
        }
    } else {
        json_object_set_new(output, "mode", json_string("PerFile"));
    }
    return output;
}

/* A tenth of the pictures; one that is broken does not end the job by surprise. */
static int64_t allowed_errors(const struct kind_score *job) {
    enum { OF_ROWS = 10, SHARE = 10 };
    bool are_items = job->form == KIND_PICTURES || job->form == KIND_TEXTS;
    return job->form == KIND_FILM ? 0
           : !are_items           ? OF_ROWS
           : job->count > 1       ? MAX(1, job->count / SHARE)
                                  : 0;
}

static json_t *object_of(const struct kind_score *job, json_t *scorer, json_t *output) {
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:o, s:o, s:o, s:I, s:{s:i, s:i}, s:O}}", "apiVersion",
                     "windlass.dev/v1beta1", "kind", "BatchScore", "metadata", "name", job->name,
                     "spec", "input", input_of(job), "scorer", scorer, "output", output,
                     "errorThreshold", (json_int_t)allowed_errors(job), "workers", "min", 1, "max",
                     WORKERS, "volumes", job->volumes);
}

static char *describe(const struct kind_score *job, const struct derived_result *result) {
    static const char *const units[] = {"picture", "video", "table", "text", "array"};
    static_assert(ARRAY_LEN(units) == KIND_FORM_COUNT, "one unit per form");
    AUTO(text_freep) char *shape = show_input(find_input(job->network));
    AUTO(text_freep) char *becomes = derived_result_describe(job, result);
    const char *range = derived_asked(job, "preprocess.range");
    bool has_pictures = job->form == KIND_PICTURES || job->form == KIND_FILM;
    const char *color = derived_asked(job, "preprocess.color");
    return x_printf("%lld %s%s as %s%s%s%s%s: %s", (long long)job->count, units[job->form],
                    job->count == 1 ? "" : "s", shape, has_pictures ? ", " : "",
                    !has_pictures ? ""
                    : color       ? color
                                  : "RGB",
                    has_pictures ? ", " : "",
                    !has_pictures ? ""
                    : range       ? range
                                  : "Byte",
                    becomes);
}

int derived_manifest(const struct kind_score *job, struct kind_scored *ret_made,
                     struct error *err) {
    AUTO(derived_missing_release) struct derived_missing missing = {0};
    struct derived_result result = {0};
    if (derived_result_find(job, &missing, &result, err) < 0) {
        return -1;
    }
    json_t *object = object_of(job, scorer_of(job, &result, &missing), output_of(job, &result));
    if (!object) {
        return error_set(err, ERROR_INVALID,
                         "a given path is not UTF-8, and a manifest can name only paths in UTF-8");
    }
    json_object_update_recursive(object, (json_t *)job->asked);
    if (missing.text) {
        json_decref(object);
        return error_set(err, ERROR_INVALID,
                         "not everything can be detected from the network; add %s", missing.text);
    }
    *ret_made = (struct kind_scored){
        .object = object,
        .remarks = json_pack("{s:s, s:s, s:s, s:s}", "", about, "spec.volumes", about_volumes,
                             "spec.errorThreshold", about_errors, "spec.workers", about_workers),
        .summary = describe(job, &result)};
    return 0;
}
