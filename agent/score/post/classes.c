// SPDX-License-Identifier: Apache-2.0
/* Classes and Values: the output [n, c, ...1] holds scores or other numbers, as the network gave
 * them. Classes: {"file": name, "classes": [{"index": 281, "label": "tabby", "score": 0.87}, ...]},
 * the `top` highest scores. Values, and an output with one column and without a class name (a
 * regression): {"file": name, "values": [12.7, ...]}, all columns in order. Both are made
 * probabilities if the spec says so. What is not a finite number is null. Several outputs, the
 * heads of a network, have the same lists under their names instead of "classes" or "values". */
#include "agent/score/post/class_scores.h"
#include "agent/score/post/labels.h"
#include "agent/score/post/one_axis.h"
#include "agent/score/post/post_kind.h"
#include "agent/score/post/row_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

struct post_state {
    bool has_classes;
    bool is_several; /* the spec names the outputs */
    enum class_scores scores;
    int top; /* the number of classes that are written */
    struct labels labels;
    char **names; /* without labels: the session's, owned; NULL: none */
    size_t name_count;
};

static int classes_open(const json_t *spec, struct post_state **ret_state, struct error *err) {
    int64_t top = tree_integer(spec, FIELD "top", 0);
    struct labels labels;
    if (labels_read(spec, FIELD "labels", &labels, err) < 0) {
        return -1;
    }
    struct post_state *state = x_calloc(1, sizeof *state);
    *state = (struct post_state){.has_classes = true,
                                 .is_several = tree_get(spec, "scorer.onnx.outputs") != NULL,
                                 .scores = class_scores_read(spec, CLASS_SCORES_RAW),
                                 .top = (int)MIN(MAX(top, 1), LABELS_MAX),
                                 .labels = labels};
    *ret_state = state;
    return 0;
}

static int values_open(const json_t *spec, struct post_state **ret_state,
                       struct error *err UNUSED) {
    struct post_state *state = x_calloc(1, sizeof *state);
    *state = (struct post_state){.is_several = tree_get(spec, "scorer.onnx.outputs") != NULL,
                                 .scores = class_scores_read(spec, CLASS_SCORES_RAW)};
    *ret_state = state;
    return 0;
}

static void classes_free(struct post_state *state) {
    if (state) {
        labels_release(&state->labels);
        session_classes_free(state->names, state->name_count);
        free(state);
    }
}

static void classes_files(const struct post_state *state, json_t *files) {
    labels_add_digest(&state->labels, FIELD "labels", files);
}

/* If the spec gives no labels: takes the names that the model has for the classes. */
static void classes_chosen(struct post_state *state, const struct session *session, size_t index) {
    if (!state->labels.names && !state->names) {
        state->names = session_classes(session, index, &state->name_count);
    }
}

static bool has_columns(const struct tensor *output, int64_t items, int rank_min) {
    const struct shape *shape = &output->shape;
    bool fits =
        output->type == TENSOR_FLOAT32 && shape->rank >= rank_min && shape->dims[0] == items;
    return fits && one_axis_size(shape) >= 1;
}

static bool classes_fits(const struct post_state *state UNUSED, const struct tensor *output,
                         int64_t items) {
    return has_columns(output, items, 2);
}

static bool values_fits(const struct post_state *state UNUSED, const struct tensor *output,
                        int64_t items) {
    return has_columns(output, items, 1);
}

static int classes_take(struct post_state *state, const struct post_outputs *outputs,
                        struct error *err) {
    for (size_t i = 0; i < outputs->count; i++) {
        const struct tensor *output = outputs->tensors[i];
        char text[128];
        shape_format(&output->shape, text);
        if (!has_columns(output, outputs->items, state->has_classes ? 2 : 1)) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.outputs: the network's output \"%.64s\" is %s %s "
                             "for %lld items, float32 [n, c] is expected",
                             outputs->names[i], tensor_type_name(output->type), text,
                             (long long)outputs->items);
        }
    }
    return row_text_check_keys(outputs, err);
}

/* ---- records -------------------------------------------------------------------------------- */

struct score {
    int64_t index;
    float value;
};
static bool is_better(struct score a, struct score b) {
    return a.value > b.value || (a.value == b.value && a.index < b.index);
}

static int by_score(const void *a, const void *b) {
    const struct score *left = a, *right = b;
    return is_better(*left, *right) ? -1 : is_better(*right, *left);
}

/* JSON has no spelling for what is not a finite number. */
static json_t *make_number(float value) {
    return isfinite(value) ? json_real((double)value) : json_null();
}

/* A softmax needs two numbers or more. */
static float *weigh(const struct post_state *state, const float *values, int64_t count) {
    float *weighed = x_calloc((size_t)count, sizeof *weighed);
    memcpy(weighed, values, (size_t)count * sizeof *weighed);
    if (count > 1 || state->scores == CLASS_SCORES_SIGMOID) {
        class_scores_apply(state->scores, weighed, count);
    }
    return weighed;
}

static json_t *list_values(const struct post_state *state, const float *values, int64_t count) {
    float *weighed = weigh(state, values, count);
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        json_array_append_new(list, make_number(weighed[i]));
    }
    free(weighed);
    return list;
}

static const char *name_of(const struct post_state *state, int64_t index) {
    return (size_t)index < state->name_count ? state->names[index]
                                             : labels_name(&state->labels, index);
}

static json_t *list_classes(const struct post_state *state, const float *values, int64_t count) {
    struct score *scores = x_calloc((size_t)count, sizeof *scores);
    float *weighed = weigh(state, values, count);
    for (int64_t i = 0; i < count; i++) {
        scores[i] = (struct score){i, isnan(weighed[i]) ? -INFINITY : weighed[i]};
    }
    free(weighed);
    qsort(scores, (size_t)count, sizeof *scores, by_score);
    json_t *classes = json_array();
    for (int64_t i = 0; i < MIN(count, state->top); i++) {
        json_t *class = json_object();
        json_object_set_new(class, "index", json_integer(scores[i].index));
        if (name_of(state, scores[i].index)) {
            json_object_set_new(class, "label", json_string(name_of(state, scores[i].index)));
        }
        json_object_set_new(class, "score", make_number(scores[i].value));
        json_array_append_new(classes, class);
    }
    free(scores);
    return classes;
}

static int classes_result(const struct post_state *state, const struct post_outputs *outputs,
                          int64_t index, const struct post_item *item,
                          struct post_result *ret_result, struct error *err UNUSED) {
    ret_result->record = json_pack("{s:s}", "file", item->name);
    for (size_t i = 0; i < outputs->count; i++) {
        const struct tensor *output = outputs->tensors[i];
        int64_t count = one_axis_size(&output->shape);
        const float *values = (const float *)output->data + index * count;
        bool has_classes = state->has_classes && (count > 1 || name_of(state, 0));
        const char *key = state->is_several ? outputs->names[i]
                          : has_classes     ? "classes"
                                            : "values";
        json_object_set_new(ret_result->record, key,
                            has_classes ? list_classes(state, values, count)
                                        : list_values(state, values, count));
    }
    return 0;
}

const struct post_kind post_classes = {
    .name = "Classes",
    .needs = "float32 [n, c]",
    .open = classes_open,
    .free = classes_free,
    .files = classes_files,
    .chosen = classes_chosen,
    .fits = classes_fits,
    .take = classes_take,
    .result = classes_result,
};

const struct post_kind post_values = {
    .name = "Values",
    .needs = "float32 [n, c]",
    .open = values_open,
    .free = classes_free,
    .fits = values_fits,
    .take = classes_take,
    .result = classes_result,
};
