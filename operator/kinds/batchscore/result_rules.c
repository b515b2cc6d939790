// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/result_rules.h"

#include "operator/kinds/job/spec.h"

#include <stdio.h>
#include <string.h>

#define ONNX "scorer.onnx."

/* Fields of postprocess, the types that have them, and what is said otherwise. */
static const struct {
    const char *field;
    const char *types[4]; /* NULL: no further one */
    const char *sentence;
} owners[] = {
    {"labels", {"Classes", "Boxes", "Text"}, "labels belong to type: Classes, Boxes or Text"},
    {"scores",
     {"Classes", "Values", "Boxes", "Text"},
     "belongs to type: Classes, Values, Boxes or Text"},
    {"form", {"Boxes"}, "belongs to type: Boxes"},
    {"anchors", {"Boxes"}, "belongs to type: Boxes"},
    {"columns", {"Boxes"}, "belongs to type: Boxes"},
    {"offsets", {"Boxes"}, "belongs to type: Boxes"},
    {"variances", {"Boxes"}, "belongs to type: Boxes"},
    {"coordinates", {"Boxes"}, "belongs to type: Boxes"},
    {"units", {"Boxes"}, "belongs to type: Boxes"},
    {"background", {"Boxes"}, "belongs to type: Boxes"},
    {"classes", {"Boxes"}, "belongs to type: Boxes"},
    {"scoreThreshold", {"Boxes"}, "belongs to type: Boxes"},
    {"iouThreshold", {"Boxes"}, "belongs to type: Boxes"},
    {"maxBoxes", {"Boxes"}, "belongs to type: Boxes"},
    {"draw", {"Boxes", "Mask"}, "belongs to type: Boxes or Mask"},
    {"threshold", {"Mask"}, "belongs to type: Mask"},
    {"layout", {"Text"}, "belongs to type: Text"},
    {"blank", {"Text"}, "belongs to type: Text"},
    {"pooling", {"Embedding"}, "belongs to type: Embedding"},
    {"normalize", {"Embedding"}, "belongs to type: Embedding"},
    {"dtype", {"Embedding"}, "belongs to type: Embedding"},
};

static bool is_among(const char *text, const char *const *texts, size_t count) {
    for (size_t i = 0; i < count && texts[i]; i++) {
        if (strcmp(texts[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static int refuse_field(const char *name, const char *sentence, struct error *err) {
    char field[64];
    snprintf(field, sizeof field, ONNX "postprocess.%s", name);
    return job_refuse(err, field, sentence);
}

/* Anchors say more than a form, and the fields around them mean nothing without them. */
static int check_anchors(const json_t *postprocess, struct error *err) {
    static const struct {
        const char *field;
        bool goes_with; /* anchors; false: does not */
        const char *sentence;
    } rows[] = {
        {"form", false, "anchors are a form of their own: take one of the two out"},
        {"offsets", true, "says how boxes come from anchors: list these in anchors"},
        {"variances", true, "says how boxes come from anchors: list these in anchors"},
        {"coordinates", false, "boxes come from anchors as offsets says"},
        {"units", false, "anchors are in pixels of the model's input"},
    };
    bool has_anchors = json_object_get(postprocess, "anchors") != NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (json_object_get(postprocess, rows[i].field) && has_anchors != rows[i].goes_with) {
            return refuse_field(rows[i].field, rows[i].sentence, err);
        }
    }
    return 0;
}

/* So do the names of an output's columns. */
static int check_columns(const json_t *postprocess, struct error *err) {
    static const struct {
        const char *other, *field, *sentence;
    } rows[] = {
        {"anchors", "columns", "anchors are a form of their own: take one of the two out"},
        {"form", "form", "columns are a form of their own: take one of the two out"},
        {"coordinates", "coordinates",
         "columns say what coordinates they are: take one of the two out"},
    };
    bool has_columns = json_object_get(postprocess, "columns") != NULL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (has_columns && json_object_get(postprocess, rows[i].other)) {
            return refuse_field(rows[i].field, rows[i].sentence, err);
        }
    }
    return 0;
}

static int check_postprocess(const json_t *postprocess, struct error *err) {
    const char *type = tree_text(postprocess, "type", "");
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        if (json_object_get(postprocess, owners[i].field) &&
            !is_among(type, owners[i].types, ARRAY_LEN(owners[i].types))) {
            return refuse_field(owners[i].field, owners[i].sentence, err);
        }
    }
    if (check_anchors(postprocess, err) < 0 || check_columns(postprocess, err) < 0) {
        return -1;
    }
    if (strcmp(type, "Text") == 0 && !json_object_get(postprocess, "labels")) {
        return job_refuse(err, ONNX "postprocess.labels",
                          "type: Text needs labels, a text file with one character per line");
    }
    return strcmp(tree_text(postprocess, "dtype", ""), "int8") == 0 &&
                   !tree_bool(postprocess, "normalize", false)
               ? job_refuse(err, ONNX "postprocess.dtype",
                            "int8 holds values of -1 to 1, which needs normalize: true")
               : 0;
}

static int check_outputs(const json_t *onnx, struct error *err) {
    static const char *const many[] = {"Raw", "Classes", "Values", "Boxes"};
    if (!json_object_get(onnx, "outputs")) {
        return 0;
    }
    if (json_object_get(onnx, "output")) {
        return job_refuse(err, ONNX "outputs",
                          "names several outputs, output one: take one of the two out");
    }
    if (!is_among(tree_text(onnx, "postprocess.type", ""), many, ARRAY_LEN(many))) {
        return job_refuse(err, ONNX "outputs",
                          "this postprocess type takes one output: name it in output");
    }
    return tree_get(onnx, "postprocess.labels") &&
                   strcmp(tree_text(onnx, "postprocess.type", ""), "Boxes") != 0
               ? job_refuse(err, ONNX "outputs",
                            "postprocess.labels names the classes of one output: take it out, or "
                            "name one in output")
               : 0;
}

/* Numbers of classes do not survive the encoder of a film. */
static int check_film(const json_t *spec, struct error *err) {
    const json_t *postprocess = tree_get(spec, "scorer.onnx.postprocess");
    bool is_mask = strcmp(tree_text(postprocess, "type", ""), "Mask") == 0 &&
                   !tree_bool(postprocess, "draw", false);
    return is_mask && tree_get(spec, "input.video") &&
                   strcmp(tree_text(spec, "output.mode", ""), "SummaryOnly") != 0
               ? job_refuse(err, ONNX "postprocess.type",
                            "a video would change the numbers of a Mask; set draw: true, or score "
                            "pictures")
               : 0;
}

int result_rules_check(const json_t *spec, struct error *err) {
    const json_t *onnx = tree_get(spec, "scorer.onnx");
    if (check_film(spec, err) < 0) {
        return -1;
    }
    return check_postprocess(json_object_get(onnx, "postprocess"), err) < 0
               ? -1
               : check_outputs(onnx, err);
}

bool result_rules_wants_pictures(const json_t *onnx) {
    static const char *const types[] = {"Image", "Boxes", "Mask"};
    return is_among(tree_text(onnx, "postprocess.type", ""), types, ARRAY_LEN(types));
}

bool result_rules_makes_pictures(const json_t *onnx) {
    static const char *const types[] = {"Image", "Mask"};
    return is_among(tree_text(onnx, "postprocess.type", ""), types, ARRAY_LEN(types)) ||
           tree_bool(onnx, "postprocess.draw", false);
}
