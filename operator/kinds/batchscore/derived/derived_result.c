// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/derived/derived_result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 5 /* as in the schema */ };

#define FIELD_ANCHORS "spec.scorer.onnx.postprocess.anchors"
#define FIELD_COLUMNS "spec.scorer.onnx.postprocess.columns"

void derived_missing_add(struct derived_missing *missing, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    AUTO(text_freep) char *one = NULL;
    AUTO(text_freep) char *before = missing->text;
    int length = vasprintf(&one, format, arguments);
    va_end(arguments);
    missing->text =
        x_printf("%s%s%s", before ? before : "", before ? "; and " : "", length < 0 ? "" : one);
}

void derived_missing_release(struct derived_missing *missing) {
    free(missing->text);
    missing->text = NULL;
}

const char *derived_asked(const struct kind_score *job, const char *field) {
    const json_t *onnx = tree_get(job->asked, "spec.scorer.onnx");
    return tree_text(onnx, field, NULL);
}

static bool is(const json_t *fit, const char *type) {
    return strcmp(tree_text(fit, "type", ""), type) == 0;
}

/* The types that fit: "Classes, Values or Embedding"; owned. */
static char *list_types(const json_t *fits) {
    char *all = x_strdup("");
    size_t count = json_array_size(fits);
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *before = all;
        all = x_printf("%s%s%s", before,
                       i == 0           ? ""
                       : i + 1 == count ? " or "
                                        : ", ",
                       tree_text(json_array_get(fits, i), "type", ""));
    }
    return all;
}

static const json_t *find_output(const struct kind_score *job, const char *name) {
    return tree_find(json_object_get(job->network, "outputs"), "name", name);
}

/* Whether one of these words is in the output's name, as exporters call it. */
static bool is_named(const char *name, const char *const *words) {
    size_t i = 0;
    while (words[i] && !strcasestr(name, words[i])) {
        i++;
    }
    return words[i];
}

/* An output [n, c] may be classes, numbers or a vector. NULL: it cannot be detected. */
static const char *guess_row(const json_t *output, const json_t *fits) {
    static const char *const classes[] = {"logit", "prob", "class", "score", NULL};
    static const char *const vectors[] = {"embed", "hidden_state", "pooler", "feature", NULL};
    const char *name = tree_text(output, "name", "");
    const json_t *shape = json_object_get(output, "shape");
    int64_t columns = json_integer_value(json_array_get(shape, json_array_size(shape) - 1));
    bool is_single = json_array_size(shape) < 2 || columns == 1;
    if (is_single && tree_find(fits, "type", "Values")) {
        return "Values";
    }
    if (tree_find(fits, "type", "Classes") &&
        (tree_bool(output, "isProbability", false) || tree_bool(output, "hasLabels", false) ||
         is_named(name, classes))) {
        return "Classes";
    }
    return is_named(name, vectors) && tree_find(fits, "type", "Embedding") ? "Embedding" : NULL;
}

/* The type of which no other is as likely. NULL: there are several. */
static const char *guess_type(const struct kind_score *job, const json_t *fits) {
    const json_t *first = json_array_get(fits, 0);
    bool has_labels = derived_asked(job, "postprocess.labels");
    for (size_t i = 0; has_labels && i < json_array_size(fits); i++) {
        const json_t *fit = json_array_get(fits, i);
        if (is(fit, "Classes") || is(fit, "Boxes") || is(fit, "Text")) {
            return tree_text(fit, "type", NULL);
        }
    }
    if (is(first, "Boxes") || (is(first, "Text") && tree_bool(first, "isLikely", false)) ||
        json_array_size(fits) == 1) {
        return tree_text(first, "type", NULL);
    }
    const json_t *names = json_object_get(first, "outputs");
    bool is_row = is(first, "Classes") || is(first, "Values") || is(first, "Embedding");
    return is_row ? guess_row(find_output(job, json_string_value(json_array_get(names, 0))), fits)
                  : NULL;
}

static const char *choose_type(const struct kind_score *job, struct derived_missing *missing,
                               struct error *err) {
    const json_t *fits = json_object_get(job->network, "fits");
    const char *asked = derived_asked(job, "postprocess.type");
    AUTO(text_freep) char *types = list_types(fits);
    if (!asked && json_array_size(fits) == 0) {
        return "Raw";
    }
    if (!asked) {
        const char *type = guess_type(job, fits);
        if (!type) {
            derived_missing_add(missing, "--type %s, what its output is", types);
        }
        return type ? type : "Raw";
    }
    if (json_array_size(fits) > 0 && strcmp(asked, "Raw") != 0 && !tree_find(fits, "type", asked)) {
        error_set(err, ERROR_INVALID, "--type %s: its outputs are %s", asked, types);
        return NULL;
    }
    return asked;
}

/* The output, where one has the results. */
static void choose_output(const struct kind_score *job, const json_t *fit,
                          struct derived_missing *missing, struct derived_result *result) {
    const json_t *names = json_object_get(fit, "outputs"), *forms = json_object_get(fit, "forms");
    const char *asked = derived_asked(job, "output");
    bool says = asked || tree_get(job->asked, "spec.scorer.onnx.outputs");
    if (json_array_size(forms) > 1 && !derived_asked(job, "postprocess.form")) {
        derived_missing_add(missing,
                            "--set scorer.onnx.postprocess.form=%s or another form that fits",
                            json_string_value(json_array_get(forms, 0)));
    }
    if (tree_bool(fit, "needsAnchors", false) && !tree_get(job->asked, FIELD_ANCHORS)) {
        derived_missing_add(missing, "--set 'scorer.onnx.postprocess.anchors=[...]', those of its "
                                     "training");
    }
    if (tree_bool(fit, "needsColumns", false) && !tree_get(job->asked, FIELD_COLUMNS)) {
        derived_missing_add(missing,
                            "--set 'scorer.onnx.postprocess.columns=[...]', what the columns of "
                            "its output are");
    }
    if (json_array_size(names) > 1 && !says && strcmp(result->type, "Embedding") != 0) {
        derived_missing_add(missing, "--set scorer.onnx.output=%s or another of its outputs",
                            json_string_value(json_array_get(names, 0)));
    }
    result->output = asked ? asked : json_string_value(json_array_get(names, 0));
}

static void choose_scores(const struct kind_score *job, struct derived_result *result) {
    const json_t *output = result->output ? find_output(job, result->output) : NULL;
    const json_t *shape = json_object_get(output, "shape");
    size_t rank = json_array_size(shape);
    const char *asked = derived_asked(job, "postprocess.scores");
    bool is_done = tree_bool(output, "isProbability", false) || tree_bool(output, "isUnit", false);
    result->classes = rank > 0 ? json_integer_value(json_array_get(shape, rank - 1)) : 0;
    result->has_labels = tree_bool(output, "hasLabels", false);
    if (strcmp(result->type, "Classes") == 0) {
        result->scores = asked ? asked : is_done || result->has_labels ? "Raw" : "Softmax";
    }
}

int derived_result_find(const struct kind_score *job, struct derived_missing *missing,
                        struct derived_result *ret_result, struct error *err) {
    struct derived_result result = {.type = choose_type(job, missing, err)};
    if (!result.type) {
        return -1;
    }
    const json_t *fit = tree_find(json_object_get(job->network, "fits"), "type", result.type);
    bool draws = tree_bool(job->asked, "spec.scorer.onnx.postprocess.draw", false);
    bool is_mask = strcmp(result.type, "Mask") == 0;
    choose_output(job, fit, missing, &result);
    choose_scores(job, &result);
    if (strcmp(result.type, "Text") == 0 && !derived_asked(job, "postprocess.labels")) {
        derived_missing_add(missing, "--labels FILE, a character in each line");
    }
    result.draws = draws || (is_mask && job->form == KIND_FILM);
    result.per_picture = draws || strcmp(result.type, "Image") == 0 ? "pictures"
                         : is_mask                                  ? "masks"
                                                                    : NULL;
    *ret_result = result;
    return 0;
}

char *derived_result_describe(const struct kind_score *job, const struct derived_result *result) {
    if (result->per_picture) {
        return x_strdup(result->per_picture);
    }
    if (strcmp(result->type, "Classes") == 0) {
        int64_t top = tree_integer(job->asked, "spec.scorer.onnx.postprocess.top", TOP);
        bool has_names = result->has_labels || derived_asked(job, "postprocess.labels");
        return x_printf("the %lld best of %lld classes%s%s", (long long)MIN(top, result->classes),
                        (long long)result->classes,
                        strcmp(result->scores, "Softmax") == 0 ? ", softmax" : "",
                        has_names ? "" : " by number (--labels FILE names them)");
    }
    return strcmp(result->type, "Boxes") == 0       ? x_strdup("boxes")
           : strcmp(result->type, "Text") == 0      ? x_strdup("texts")
           : strcmp(result->type, "Values") == 0    ? x_strdup("numbers")
           : strcmp(result->type, "Embedding") == 0 ? x_strdup("vectors")
                                                    : x_strdup("all outputs");
}
