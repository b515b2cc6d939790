// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_fits.h"

#include "agent/commands/model_facts.h"
#include "agent/score/post/box_anchors.h"
#include "agent/score/post/box_form.h"
#include "agent/score/post/post_kind.h"
#include "lib/text/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHARACTERS_MIN = 10 };
enum { CANDIDATE_COLUMNS_MIN = 5, CANDIDATE_COLUMNS_MAX = 16 }; /* of a box, a score, and more */

struct fitting {
    const struct post_outputs *outputs;
    const char *items, *pictures; /* pictures: of a detector's form; NULL: unknown */
    bool has_states, takes_strips;
    json_t *fits;
};

static bool is_of(const struct fitting *fitting, const char *items) {
    return strcmp(fitting->items, items) == 0;
}

json_t *model_fits_name(const char *text) {
    AUTO(text_freep) char *name = x_strdup(text);
    utf8_make_line(name);
    return json_string(name);
}

bool model_fits_are_probabilities(const struct tensor *output) {
    if (output->type != TENSOR_FLOAT32 || output->shape.rank < 2) {
        return false;
    }
    int64_t last = output->shape.dims[output->shape.rank - 1], count = shape_count(&output->shape);
    const float *values = output->data;
    for (int64_t i = 0; i + last <= count; i += last) {
        double sum = 0;
        for (int64_t k = 0; k < last; k++) {
            sum += values[i + k] >= 0 ? (double)values[i + k] : NAN;
        }
        if (!(fabs(sum - 1) < 1e-3)) {
            return false;
        }
    }
    return count > 0;
}

static void add_fit(struct fitting *fitting, const char *type, const char *member, json_t *names) {
    if (json_array_size(names) > 0) {
        json_array_append_new(fitting->fits, json_pack("{s:s, s:b, s:O}", "type", type, "isLikely",
                                                       1, member, names));
    }
    json_decref(names);
}

static void find_boxes(struct fitting *fitting) {
    json_t *forms = json_array();
    for (size_t i = 0; i < box_form_count; i++) {
        struct box_source source;
        if (box_form_guess(&box_forms[i], fitting->outputs, &source)) {
            json_array_append_new(forms, json_string(box_forms[i].name));
            fitting->pictures = json_array_size(forms) > 1 ? NULL : box_forms[i].pictures;
        }
    }
    if (json_array_size(forms) == 0 && box_anchors_are_needed(fitting->outputs)) {
        json_array_append_new(fitting->fits, json_pack("{s:s, s:b, s:b}", "type", post_boxes.name,
                                                       "isLikely", 1, "needsAnchors", 1));
    }
    add_fit(fitting, post_boxes.name, "forms", forms);
}

/* Whether an output may have a row for each candidate of a detector: a few columns, and rows that
 * are not the items. */
static bool may_be_candidates(const struct fitting *fitting, const struct tensor *output) {
    const int64_t *dims = output->shape.dims;
    int rank = output->shape.rank;
    int64_t columns = output->type == TENSOR_FLOAT32 && rank >= 2 ? dims[rank - 1] : 0;
    return columns >= CANDIDATE_COLUMNS_MIN && columns <= CANDIDATE_COLUMNS_MAX &&
           (rank == 2 ? dims[0] != fitting->outputs->items : rank == 3 || dims[1] == 1);
}

/* Outputs of none of the forms, whose columns would have to be named. */
static void find_columns(struct fitting *fitting) {
    json_t *names = json_array();
    for (size_t i = 0; i < fitting->outputs->count; i++) {
        if (may_be_candidates(fitting, fitting->outputs->tensors[i])) {
            json_array_append_new(names, model_fits_name(fitting->outputs->names[i]));
        }
    }
    if (json_array_size(names) > 0) {
        json_array_append_new(fitting->fits,
                              json_pack("{s:s, s:b, s:b, s:O}", "type", post_boxes.name, "isLikely",
                                        0, "needsColumns", 1, "outputs", names));
    }
    json_decref(names);
}

static bool is_listed(const json_t *names, const char *name) {
    size_t i;
    const json_t *one;
    json_array_foreach(names, i, one) {
        if (strcmp(json_string_value(one), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Of outputs that all have known names the type takes the first of its list; so do we. */
static void keep_known(const struct post_kind *kind, json_t *names) {
    const char *first = NULL;
    size_t count = 0;
    for (const char *const *known = kind->known; known && *known; known++) {
        if (is_listed(names, *known)) {
            first = first ? first : *known;
            count++;
        }
    }
    if (first && count == json_array_size(names)) {
        json_array_clear(names);
        json_array_append_new(names, json_string(first));
    }
}

/* Of a type that takes one output. */
static void find_fit(struct fitting *fitting, const struct post_kind *kind) {
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:{s:s,s:s,s:i}}}}", "scorer", "onnx", "postprocess", "type",
                             kind->name, "range", "Byte", "top", 5);
    struct post_state *state = NULL;
    struct error ignored = {0};
    bool is_apt = is_of(fitting, FACTS_PICTURE) || !kind->wants_pictures;
    if (!is_apt || !kind->fits || kind->open(spec, &state, &ignored) < 0) {
        return;
    }
    json_t *names = json_array();
    for (size_t i = 0; i < fitting->outputs->count; i++) {
        if (kind->fits(state, fitting->outputs->tensors[i], fitting->outputs->items)) {
            json_array_append_new(names, model_fits_name(fitting->outputs->names[i]));
        }
    }
    kind->free(state);
    keep_known(kind, names);
    add_fit(fitting, kind->name, "outputs", names);
}

/* Detectors have outputs of the same shapes, but not of strips, and not probabilities. */
static bool are_characters(const struct fitting *fitting, const struct tensor *output) {
    bool is_apt = is_of(fitting, FACTS_PICTURE) || is_of(fitting, FACTS_ARRAY);
    return is_apt && (fitting->takes_strips || model_fits_are_probabilities(output));
}

/* Outputs that may be scores of characters over time, the likely ones or the others. */
static void find_texts(struct fitting *fitting, bool are_likely) {
    for (size_t i = 0; i < fitting->outputs->count && !fitting->has_states; i++) {
        const struct tensor *output = fitting->outputs->tensors[i];
        const struct shape *shape = &output->shape;
        if (output->type == TENSOR_FLOAT32 && shape->rank == 3 &&
            shape->dims[2] >= CHARACTERS_MIN && are_likely == are_characters(fitting, output)) {
            json_array_append_new(fitting->fits,
                                  json_pack("{s:s, s:b, s:[o], s:I}", "type", post_text.name,
                                            "isLikely", are_likely, "outputs",
                                            model_fits_name(fitting->outputs->names[i]), "classes",
                                            (json_int_t)shape->dims[2]));
        }
    }
}

/* Whether an output may be a picture in colours: three classes of pixels are rarer. */
static bool returns_colours(const struct fitting *fitting) {
    for (size_t i = 0; i < fitting->outputs->count; i++) {
        const struct shape *shape = &fitting->outputs->tensors[i]->shape;
        if (shape->rank == 4 && (shape->dims[1] == 3 || shape->dims[3] == 3)) {
            return true;
        }
    }
    return false;
}

/* How many values an output has for each item. */
static int64_t values_of(const struct fitting *fitting, size_t index) {
    return shape_count(&fitting->outputs->tensors[index]->shape) / MAX(fitting->outputs->items, 1);
}

/* Whether there is one number for each item, as of a regression or a comparison of two texts. */
static bool returns_numbers(const struct fitting *fitting) {
    bool has_some = false;
    for (size_t i = 0; i < fitting->outputs->count; i++) {
        if (fitting->outputs->tensors[i]->type == TENSOR_FLOAT32) {
            has_some = true;
            if (values_of(fitting, i) != 1) {
                return false;
            }
        }
    }
    return has_some;
}

/* Whether an output is called as classifiers of texts call theirs. */
static bool is_scores(const char *name) {
    return strcasestr(name, "logit") || strcasestr(name, "prob");
}

static bool returns_scores(const struct fitting *fitting) {
    for (size_t i = 0; i < fitting->outputs->count; i++) {
        if (is_scores(fitting->outputs->names[i])) {
            return true;
        }
    }
    return false;
}

/* The types that fit, the likeliest first. */
static void find_fits(struct fitting *fitting) {
    static const struct post_kind *const colours[] = {&post_image,     &post_classes, &post_mask,
                                                      &post_embedding, &post_values,  NULL};
    static const struct post_kind *const sounds[] = {&post_values, &post_embedding, NULL};
    static const struct post_kind *const pictures[] = {&post_classes,   &post_mask,   &post_image,
                                                       &post_embedding, &post_values, NULL};
    static const struct post_kind *const texts[] = {&post_embedding, &post_classes, &post_values,
                                                    NULL};
    static const struct post_kind *const rows[] = {&post_classes, &post_values, &post_embedding,
                                                   NULL};
    static const struct post_kind *const numbers[] = {&post_values, &post_classes, NULL};
    static const struct post_kind *const scores[] = {&post_classes, &post_values, NULL};
    bool has_texts = is_of(fitting, FACTS_TOKENS);
    bool has_pictures = is_of(fitting, FACTS_PICTURE);
    const struct post_kind *const *kinds = fitting->has_states                        ? sounds
                                           : has_pictures && returns_colours(fitting) ? colours
                                           : has_pictures                             ? pictures
                                           : returns_numbers(fitting)                 ? numbers
                                           : has_texts && returns_scores(fitting)     ? scores
                                           : has_texts                                ? texts
                                                                                      : rows;
    find_texts(fitting, true);
    if (has_pictures) {
        find_boxes(fitting);
    }
    for (; *kinds; kinds++) {
        find_fit(fitting, *kinds);
    }
    find_texts(fitting, false);
    if (has_pictures && !tree_find(fitting->fits, "type", post_boxes.name) &&
        !tree_find(fitting->fits, "type", post_text.name)) {
        find_columns(fitting);
    }
}

json_t *model_fits(const struct model_fits_asked *asked, const char **ret_pictures) {
    struct fitting fitting = {.outputs = asked->outputs,
                              .items = asked->items,
                              .has_states = asked->has_states,
                              .takes_strips = asked->takes_strips,
                              .fits = json_array()};
    find_fits(&fitting);
    *ret_pictures = fitting.pictures;
    return fitting.fits;
}
