// SPDX-License-Identifier: Apache-2.0
/* Text: the text that an OCR or speech model has read: {"file": name, "text": "42 km",
 * "score": 0.97}. The output [n, t, c], or [t, n, c], has scores of characters for each step of
 * time; the best one of each step counts, repeated ones once, and the blank separates them (greedy
 * decoding of Graves et al., "Connectionist Temporal Classification", 2006, section 3.2). The score
 * is the mean over the characters of the text, 0 if it has none. */
#include "agent/score/post/class_scores.h"
#include "agent/score/post/labels.h"
#include "agent/score/post/post_kind.h"
#include "agent/score/post/row_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

enum layout { LAYOUT_AUTO, LAYOUT_NTC, LAYOUT_TNC, LAYOUT_COUNT };
static const char *const layouts[] = {"Auto", "NTC", "TNC"};
_Static_assert(ARRAY_LEN(layouts) == LAYOUT_COUNT, "a name for each");

struct post_state {
    struct labels characters;
    enum layout layout;
    enum class_scores scores;
    bool blank_is_last;
};

static int text_open(const json_t *spec, struct post_state **ret_state, struct error *err) {
    struct labels characters;
    if (labels_read(spec, FIELD "labels", &characters, err) < 0) {
        return -1;
    }
    if (characters.count == 0) {
        labels_release(&characters);
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "labels: type Text needs a file with one character a line");
    }
    struct post_state *state = x_calloc(1, sizeof *state);
    *state = (struct post_state){
        .characters = characters,
        .layout = (enum layout)tree_choice(spec, FIELD "layout", layouts, LAYOUT_COUNT),
        .scores = class_scores_read(spec, CLASS_SCORES_RAW),
        .blank_is_last = strcmp(tree_text(spec, FIELD "blank", ""), "Last") == 0};
    *ret_state = state;
    return 0;
}

static void text_free(struct post_state *state) {
    if (state) {
        labels_release(&state->characters);
        free(state);
    }
}

static void text_files(const struct post_state *state, json_t *files) {
    labels_add_digest(&state->characters, FIELD "labels", files);
}

/* LAYOUT_AUTO: the shape does not determine it, or is another one. */
static enum layout find_layout(const struct post_state *state, const struct shape *shape,
                               int64_t items) {
    bool is_first = shape->dims[0] == items, is_second = shape->dims[1] == items;
    enum layout given = state->layout;
    if (given != LAYOUT_AUTO) {
        return (given == LAYOUT_NTC ? is_first : is_second) ? given : LAYOUT_AUTO;
    }
    bool is_one = items == 1 && shape->dims[0] == 1; /* then both are the same */
    return is_one || (is_first && !is_second) ? LAYOUT_NTC
           : is_second && !is_first           ? LAYOUT_TNC
                                              : LAYOUT_AUTO;
}

/* The blank and the characters; one more is the space, which files of characters leave out. */
static bool has_classes(const struct post_state *state, int64_t count) {
    int64_t characters = (int64_t)state->characters.count;
    return count == characters + 1 || count == characters + 2;
}

static bool text_fits(const struct post_state *state, const struct tensor *output, int64_t items) {
    const struct shape *shape = &output->shape;
    return output->type == TENSOR_FLOAT32 && shape->rank == 3 &&
           has_classes(state, shape->dims[2]) && find_layout(state, shape, items) != LAYOUT_AUTO;
}

/* The scores of an item's step of time. */
struct steps {
    const float *first;
    int64_t count, step, classes;
};

static struct steps find_steps(const struct post_state *state, const struct tensor *output,
                               int64_t items, int64_t index) {
    const int64_t *dims = output->shape.dims;
    const float *data = output->data;
    return find_layout(state, &output->shape, items) == LAYOUT_TNC
               ? (struct steps){data + index * dims[2], dims[0], dims[1] * dims[2], dims[2]}
               : (struct steps){data + index * dims[1] * dims[2], dims[1], dims[2], dims[2]};
}

static const char *character(const struct post_state *state, int64_t class) {
    const char *name = labels_name(&state->characters, class - !state->blank_is_last);
    return name ? name : " ";
}

/* The best class of a step and its score; -1: a value that is not a number. */
static int64_t find_best(const struct post_state *state, const float *scores, int64_t classes,
                         float *weighed, float *ret_score) {
    int64_t best = 0;
    memcpy(weighed, scores, (size_t)classes * sizeof *weighed);
    class_scores_apply(state->scores, weighed, classes);
    for (int64_t c = 0; c < classes; c++) {
        if (isnan(weighed[c])) {
            return -1;
        }
        best = weighed[c] > weighed[best] ? c : best;
    }
    *ret_score = weighed[best];
    return best;
}

/* Appends the text; *ret_score is its mean score. */
static int read_text(const struct post_state *state, const struct steps *steps, struct buffer *text,
                     float *ret_score, struct error *err) {
    float *weighed = x_calloc((size_t)steps->classes, sizeof *weighed);
    int64_t blank = state->blank_is_last ? steps->classes - 1 : 0, before = blank, count = 0;
    double sum = 0;
    int result = 0;
    for (int64_t t = 0; t < steps->count && result == 0; t++) {
        float score = 0;
        int64_t best =
            find_best(state, steps->first + t * steps->step, steps->classes, weighed, &score);
        if (best < 0) {
            result = error_set(err, ERROR_FAILED, "step %lld has a score that is not a number",
                               (long long)t);
        } else if (best != blank && best != before) {
            const char *name = character(state, best);
            result = buffer_append(text, name, strlen(name), err);
            sum += (double)score;
            count++;
        }
        before = best;
    }
    free(weighed);
    *ret_score = count > 0 ? (float)(sum / (double)count) : 0;
    return result;
}

static int text_result(const struct post_state *state, const struct post_outputs *outputs,
                       int64_t index, const struct post_item *item, struct post_result *ret_result,
                       struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(row_text_release) struct row_text row;
    float score = 0;
    const struct steps steps = find_steps(state, outputs->tensors[0], outputs->items, index);
    const struct tensor number = {TENSOR_FLOAT32, {0}, &score, false};
    buffer_init(&text, ROW_TEXT_BYTES_MAX);
    buffer_init(&row.text, ROW_TEXT_BYTES_MAX);
    if (read_text(state, &steps, &text, &score, err) < 0) {
        return error_context(err, "output \"%.64s\"", outputs->names[0]);
    }
    return row_text_begin(&row, item->name, err) < 0 || row_text_key(&row, "text", err) < 0 ||
                   row_text_string(&row, text.data ? text.data : "", err) < 0 ||
                   row_text_key(&row, "score", err) < 0 ||
                   row_text_values(&row, &number, 0, &number.shape, err) < 0
               ? -1
               : row_text_end(&row, ret_result, err);
}

const struct post_kind post_text = {
    .name = "Text",
    .needs = "float32 [n, t, c] or [t, n, c], with c one or two more than the labels "
             "(postprocess.layout "
             "says which one where t may be n)",
    .open = text_open,
    .free = text_free,
    .files = text_files,
    .fits = text_fits,
    .result = text_result,
};
