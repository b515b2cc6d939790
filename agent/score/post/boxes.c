// SPDX-License-Identifier: Apache-2.0
/* Boxes: what a detector found, in pixels of the item's own picture: {"file": name, "boxes":
 * [{"box": [left, top, right, bottom], "score": 0.9, "class": 17, "label": "cat"}, ...]}, the best
 * first; or the picture with the boxes drawn on it. The form of the outputs (box_form.h) is named,
 * or recognised where only one fits. */
#include "agent/score/post/anchor_rows.h"
#include "agent/score/post/box_anchors.h"
#include "agent/score/post/box_columns.h"
#include "agent/score/post/box_form.h"
#include "agent/score/post/labels.h"
#include "agent/score/post/paint.h"
#include "agent/score/post/row_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

enum { BOXES_MOST = 300 };
#define THRESHOLD 0.25

static const char *const coordinate_names[] = {"LTRB", "TLBR", "CXCYWH"};
_Static_assert(ARRAY_LEN(coordinate_names) == BOX_COORDINATES_COUNT, "a name for each");
static const char *const unit_names[] = {"Pixels", "Unit"};
_Static_assert(ARRAY_LEN(unit_names) == BOX_UNITS_COUNT, "a name for each");
static const char *const background_names[] = {"None", "First", "Last"};
_Static_assert(ARRAY_LEN(background_names) == BOX_BACKGROUND_COUNT, "a name for each");

struct post_state {
    const json_t *spec;
    const struct box_form *form; /* NULL: by the shapes */
    bool is_guessed;             /* no form is named */
    struct box_source source;    /* of the last run */
    struct anchors anchors;      /* as the spec lists them */
    struct box_columns columns;  /* as the spec names them */
    struct labels labels;
    float overlap;
    size_t most;
    bool draws;
    bool has_size; /* records have the picture's size, which COCO's form wants */
};

/* With spec.scorer.onnx.postprocess.anchors. */
static const struct box_form anchored = {"of anchors", "boxes and scores of all anchors",
                                         BOX_ANCHORED, BOX_CXCYWH,
                                         BOX_PIXELS,   CLASS_SCORES_SIGMOID,
                                         BOX_NONE,     0.45f,
                                         NULL,         NULL};

/* With spec.scorer.onnx.postprocess.columns: rows that have their class, or the scores of all. */
static const struct box_form described[] = {
    {"of columns", "rows of candidates", BOX_ROWS, BOX_LTRB, BOX_PIXELS, CLASS_SCORES_RAW, BOX_NONE,
     0.45f, NULL, NULL},
    {"of columns", "rows of candidates", BOX_FINAL, BOX_LTRB, BOX_PIXELS, CLASS_SCORES_RAW,
     BOX_NONE, 1, NULL, NULL},
};

static int boxes_open(const json_t *spec, struct post_state **ret_state, struct error *err) {
    const char *name = tree_text(spec, FIELD "form", "Auto");
    const struct box_form *form = NULL;
    struct labels labels;
    struct anchors anchors;
    struct box_columns columns;
    for (size_t i = 0; i < box_form_count; i++) {
        form = strcmp(box_forms[i].name, name) == 0 ? &box_forms[i] : form;
    }
    if (!form && strcmp(name, "Auto") != 0) {
        return error_set(err, ERROR_INVALID, "spec." FIELD "form is '%.40s', which is unknown",
                         name);
    }
    if (box_columns_read(spec, &columns, err) < 0 || anchors_read(spec, &anchors, err) < 0) {
        return -1;
    }
    if (labels_read(spec, FIELD "labels", &labels, err) < 0) {
        anchors_release(&anchors);
        return -1;
    }
    if (labels.count > 0) {
        bool has_background = strcmp(tree_text(spec, FIELD "background", "None"), "None") != 0;
        box_columns_expect(&columns, (int64_t)labels.count + has_background);
    }
    struct post_state *state = x_calloc(1, sizeof *state);
    *state = (struct post_state){
        .spec = spec,
        .form = anchors.count > 0   ? &anchored
                : columns.count > 0 ? &described[box_columns_are_final(&columns)]
                                    : form,
        .is_guessed = anchors.count == 0 && columns.count == 0 && !form,
        .anchors = anchors,
        .columns = columns,
        .labels = labels,
        .most = (size_t)MAX(tree_integer(spec, FIELD "maxBoxes", BOXES_MOST), 1),
        .draws = tree_bool(spec, FIELD "draw", false),
        .has_size = strcmp(tree_text(spec, "output.format", ""), "COCO") == 0};
    *ret_state = state;
    return 0;
}

static void boxes_free(struct post_state *state) {
    if (state) {
        labels_release(&state->labels);
        anchors_release(&state->anchors);
        free(state);
    }
}

static void boxes_files(const struct post_state *state, json_t *files) {
    labels_add_digest(&state->labels, FIELD "labels", files);
}

static bool boxes_draw(const struct post_state *state) {
    return state->draws;
}

/* ---- the form ------------------------------------------------------------------------------- */

static int choice_of(const json_t *spec, const char *field, const char *const *names, int count,
                     int fallback) {
    return tree_get(spec, field) ? tree_choice(spec, field, names, count) : fallback;
}

static float number_of(const json_t *spec, const char *field, double fallback) {
    const json_t *value = tree_get(spec, field);
    return (float)(json_is_number(value) ? json_number_value(value) : fallback);
}

/* The spec's fields in place of the form's. */
static void override(struct post_state *state) {
    struct box_form *form = &state->source.form;
    const json_t *spec = state->spec;
    form->coordinates = (enum box_coordinates)choice_of(
        spec, FIELD "coordinates", coordinate_names, BOX_COORDINATES_COUNT, (int)form->coordinates);
    form->units = (enum box_units)choice_of(spec, FIELD "units", unit_names, BOX_UNITS_COUNT,
                                            (int)form->units);
    form->background = (enum box_background)choice_of(spec, FIELD "background", background_names,
                                                      BOX_BACKGROUND_COUNT, (int)form->background);
    form->scores = class_scores_read(spec, form->scores);
    state->overlap = number_of(spec, FIELD "iouThreshold", (double)form->overlap);
    state->source.threshold = number_of(spec, FIELD "scoreThreshold", THRESHOLD);
    state->source.class_count = tree_integer(spec, FIELD "classes", 0);
}

enum { FORMS_BYTES = 320, SHAPES_BYTES = 160 };

/* Appends "YOLOv5 ([n, k, 5 + classes])", or only the name. */
static void add_form(char list[static FORMS_BYTES], const struct box_form *form, bool has_shapes) {
    size_t used = strlen(list);
    const char *between = used ? ", " : "";
    if (has_shapes) {
        snprintf(list + used, FORMS_BYTES - used, "%s%s (%s)", between, form->name, form->needs);
    } else {
        snprintf(list + used, FORMS_BYTES - used, "%s%s", between, form->name);
    }
}

/* Shapes of the outputs, for a message. */
static void list_shapes(const struct post_outputs *outputs, char list[static SHAPES_BYTES]) {
    *list = 0;
    for (size_t i = 0; i < outputs->count && strlen(list) < 120; i++) {
        char text[128];
        size_t used = strlen(list);
        shape_format(&outputs->tensors[i]->shape, text);
        snprintf(list + used, SHAPES_BYTES - used, "%s%.24s %.24s", used ? ", " : "",
                 outputs->names[i], text);
    }
}

/* Another number of names means another form, or columns that are not scores. */
static int check_names(const struct post_state *state, int64_t classes, enum error_kind kind,
                       struct error *err) {
    int64_t names = (int64_t)state->labels.count;
    return classes == 0 || names == 0 || names == classes
               ? 0
               : error_set(err, kind,
                           "spec." FIELD "labels: the file names %lld classes, in form %s the "
                           "network has %lld: other labels, another form, or the number of columns "
                           "that are scores (classes) is expected",
                           (long long)names, state->source.form.name, (long long)classes);
}

static int check_labels(const struct post_state *state, const struct box_source *source,
                        struct error *err) {
    return check_names(state, box_form_classes(source),
                       state->source.boxes ? ERROR_INVALID : ERROR_FAILED, err);
}

/* No output has the columns, or several have. */
static int refuse_columns(const struct post_state *state, const struct post_outputs *outputs,
                          const struct box_columns_match *match, struct error *err) {
    const struct box_columns *columns = &state->columns;
    const char *more = match->count > 0 ? ": name one of them in spec.scorer.onnx.output"
                       : match->has_lists
                           ? " and an axis for the items: if the rows of all items are one list, "
                             "name the column with the item's number (Item)"
                           : "";
    char shapes[SHAPES_BYTES];
    list_shapes(outputs, shapes);
    return error_set(err, ERROR_INVALID,
                     "spec." FIELD "columns: %s of the network's outputs (%s) %s %s%lld columns%s",
                     match->count == 0 ? "none" : "several", shapes,
                     match->count == 0 ? "has" : "have",
                     columns->places[BOX_COLUMN_CLASSES] >= 0 ? "at least " : "",
                     (long long)columns->least, more);
}

static int take_columns(struct post_state *state, const struct post_outputs *outputs,
                        struct error *err) {
    struct box_columns_match match;
    char shapes[SHAPES_BYTES];
    state->source = (struct box_source){.form = *state->form};
    override(state);
    if (!box_columns_find(&state->columns, outputs, &match)) {
        return refuse_columns(state, outputs, &match, err);
    }
    if (match.axis == BOX_COLUMNS_OPEN) {
        list_shapes(outputs, shapes);
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "columns: both axes of the network's output (%s) may be the "
                         "columns: the number of classes is expected, by classes or labels, that "
                         "makes one of them",
                         shapes);
    }
    state->columns.axis = match.axis; /* the same for every run */
    return check_names(state, box_form_classes_of(&state->source, match.classes), ERROR_INVALID,
                       err);
}

static int boxes_take(struct post_state *state, const struct post_outputs *outputs,
                      struct error *err) {
    const struct box_form *found = NULL;
    char fitting[FORMS_BYTES] = "", all[FORMS_BYTES] = "", shapes[SHAPES_BYTES];
    int count = 0;
    if (state->form == &anchored) {
        state->source = (struct box_source){.form = anchored};
        override(state);
        return 0; /* the input's size, which is known with an item, says whether they fit */
    }
    if (state->columns.count > 0) {
        return take_columns(state, outputs, err);
    }
    for (size_t i = 0; i < box_form_count; i++) {
        struct box_source source;
        bool fits = state->form ? box_form_find(&box_forms[i], outputs, &source)
                                : box_form_guess(&box_forms[i], outputs, &source);
        add_form(fits ? fitting : all, &box_forms[i], fits);
        if (fits && (!state->form || state->form == &box_forms[i])) {
            found = &box_forms[i];
            state->source = source;
            count++;
        }
    }
    list_shapes(outputs, shapes);
    if (count == 1) {
        override(state);
        state->form = found; /* the same for every run */
        return check_labels(state, &state->source, err);
    }
    if (count > 1) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "form: the network's outputs (%s) have several forms, name "
                         "one: %s",
                         shapes, fitting);
    }
    if (!*fitting && box_anchors_are_needed(outputs)) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "form: the network's outputs (%s) are offsets to anchors, "
                         "which it does not have: list them in anchors, or export it with the "
                         "decoding of its boxes, such as the exporter's end-to-end form",
                         shapes);
    }
    return error_set(err, ERROR_INVALID,
                     "spec." FIELD "form: the network's outputs (%s) are not of the form %s; %s: "
                     "%s; scorer.onnx.outputs names those that count, and columns describes one "
                     "that has none of these forms",
                     shapes, state->form ? state->form->name : "of any detector that is known",
                     *fitting ? "they fit" : "forms are", *fitting ? fitting : all);
}

/* ---- a picture ------------------------------------------------------------------------------ */

/* From the network's input to the item's own picture, and cut off at its edges. */
static void move_box(const struct box_source *source, const struct post_place *place,
                     struct box *box) {
    float x = source->form.units == BOX_UNIT ? (float)place->input_width : 1;
    float y = source->form.units == BOX_UNIT ? (float)place->input_height : 1;
    float to_x = (float)place->picture_width / (float)MAX(place->width, 1);
    float to_y = (float)place->picture_height / (float)MAX(place->height, 1);
    float width = (float)place->picture_width, height = (float)place->picture_height;
    box->left = MIN(MAX((box->left * x - (float)place->left) * to_x, 0), width);
    box->right = MIN(MAX((box->right * x - (float)place->left) * to_x, 0), width);
    box->top = MIN(MAX((box->top * y - (float)place->top) * to_y, 0), height);
    box->bottom = MIN(MAX((box->bottom * y - (float)place->top) * to_y, 0), height);
}

static int add_box(const struct post_state *state, const struct box *box, struct row_text *row,
                   struct error *err) {
    const float sides[] = {box->left, box->top, box->right, box->bottom};
    const struct tensor score = {TENSOR_FLOAT32, {0}, (void *)(uintptr_t)&box->score, false};
    const char *label = labels_name(&state->labels, box->class);
    char class[40];
    snprintf(class, sizeof class, ",\"class\":%lld", (long long)box->class);
    if (row_text_add(row, "{\"box\":", err) < 0 || row_text_floats(row, sides, 4, err) < 0 ||
        row_text_key(row, "score", err) < 0 ||
        row_text_values(row, &score, 0, &score.shape, err) < 0 ||
        row_text_add(row, class, err) < 0) {
        return -1;
    }
    if (label && (row_text_key(row, "label", err) < 0 || row_text_string(row, label, err) < 0)) {
        return -1;
    }
    return row_text_add(row, "}", err);
}

static int add_size(const struct post_place *place, struct row_text *row, struct error *err) {
    char size[64];
    snprintf(size, sizeof size, ",\"width\":%d,\"height\":%d", place->picture_width,
             place->picture_height);
    return row_text_add(row, size, err);
}

static int write_boxes(const struct post_state *state, const struct box *boxes, size_t count,
                       const struct post_item *item, struct post_result *ret_result,
                       struct error *err) {
    AUTO(row_text_release) struct row_text row;
    int result = row_text_begin(&row, item->name, err);
    if (result == 0 && state->has_size) {
        result = add_size(&item->place, &row, err);
    }
    result = result < 0 ? -1 : row_text_key(&row, "boxes", err);
    result = result < 0 ? -1 : row_text_add(&row, "[", err);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = i > 0 ? row_text_add(&row, ",", err) : 0;
        result = result < 0 ? -1 : add_box(state, &boxes[i], &row, err);
    }
    return result < 0 || row_text_add(&row, "]", err) < 0 ? -1
                                                          : row_text_end(&row, ret_result, err);
}

static void draw_boxes(const struct box *boxes, size_t count, const struct picture *own,
                       struct picture *ret_picture) {
    picture_copy(own, ret_picture);
    for (size_t i = count; i > 0; i--) { /* the best one last, on top */
        const struct box *box = &boxes[i - 1];
        paint_frame(ret_picture, (int)box->left, (int)box->top, (int)box->right, (int)box->bottom,
                    paint_class_colour(box->class));
    }
}

struct found {
    struct box *boxes; /* the caller frees it */
    size_t count;
};

/* Whether there is one candidate in each cell of three to five grids. */
static bool is_one_a_cell(const struct post_place *place, int64_t candidates) {
    int64_t count = 0;
    for (int stride = 8; stride <= 128; stride *= 2) {
        count += (int64_t)((place->input_width + stride - 1) / stride) *
                 ((place->input_height + stride - 1) / stride);
        if (stride >= 32 && count == candidates) {
            return true;
        }
    }
    return false;
}

/* Rows [n, k, 5 + c] that no form is named for are YOLOv5's, which has three candidates a cell. */
static int check_guess(const struct post_state *state, const struct post_place *place,
                       struct error *err) {
    int64_t candidates = state->source.boxes->shape.dims[1];
    return !state->is_guessed || state->source.form.layout != BOX_ROWS ||
                   !is_one_a_cell(place, candidates)
               ? 0
               : error_set(err, ERROR_FAILED,
                           "the network has %lld boxes for an input of %dx%d, one in each cell of "
                           "its grids, where YOLOv5 has three: spec." FIELD "form is expected, "
                           "YOLOX if it gives offsets to the grids, YOLOv5 if it gives boxes",
                           (long long)candidates, place->input_width, place->input_height);
}

/* Places the anchors of BOX_GRID in a list, which the caller frees. */
static int place_grid(struct box_source *source, const struct post_place *place,
                      struct anchor **ret_list, struct error *err) {
    int width = place->input_width, height = place->input_height;
    int64_t count = anchors_count(source->form.anchors, width, height);
    int64_t candidates = source->boxes->shape.dims[1];
    if (count != candidates) {
        return error_set(err, ERROR_FAILED,
                         "the network has %lld boxes for an input of %dx%d, in form %s %lld are "
                         "expected",
                         (long long)candidates, width, height, source->form.name, (long long)count);
    }
    *ret_list = x_calloc((size_t)count, sizeof **ret_list);
    anchors_place(source->form.anchors, width, height, *ret_list);
    source->anchors = source->form.anchors;
    source->anchor_list = *ret_list;
    return 0;
}

static int read_rows(const struct post_state *state, int64_t index, const struct post_item *item,
                     struct found *ret_found, struct error *err) {
    struct box_source source = state->source;
    struct anchor *list = NULL;
    int result = source.form.layout == BOX_GRID ? place_grid(&source, &item->place, &list, err)
                                                : check_guess(state, &item->place, err);
    result =
        result < 0 ? -1 : box_form_read(&source, index, &ret_found->boxes, &ret_found->count, err);
    free(list);
    return result;
}

static int read_columns(const struct post_state *state, const struct post_outputs *outputs,
                        int64_t index, struct found *ret_found, struct error *err) {
    AUTO(tensor_release) struct tensor rows = {0};
    struct box_source source = state->source;
    if (box_columns_rows(&state->columns, outputs, index, source.form.scores, &rows, err) < 0) {
        return -1;
    }
    source.boxes = &rows;
    source.candidates = rows.shape.dims[1];
    return box_form_read(&source, 0, &ret_found->boxes, &ret_found->count, err);
}

static int read_boxes(const struct post_state *state, const struct post_outputs *outputs,
                      int64_t index, const struct post_item *item, struct found *ret_found,
                      struct error *err) {
    AUTO(anchor_rows_release) struct anchor_rows rows = {0};
    struct box_source source = state->source;
    if (state->columns.count > 0) {
        return read_columns(state, outputs, index, ret_found, err);
    }
    if (source.form.layout != BOX_ANCHORED) {
        return read_rows(state, index, item, ret_found, err);
    }
    source.anchors = source.form.anchors ? source.form.anchors : &state->anchors;
    if (anchor_rows_read(source.anchors, outputs, index, &item->place, &rows, err) < 0) {
        return -1;
    }
    source.boxes = &rows.boxes;
    source.scores = &rows.scores;
    source.candidates = rows.boxes.shape.dims[1];
    source.anchor_list = rows.anchors;
    return check_labels(state, &source, err) < 0
               ? -1
               : box_form_read(&source, 0, &ret_found->boxes, &ret_found->count, err);
}

static int boxes_result(const struct post_state *state, const struct post_outputs *outputs,
                        int64_t index, const struct post_item *item, struct post_result *ret_result,
                        struct error *err) {
    struct found found = {0};
    size_t kept = 0;
    if (read_boxes(state, outputs, index, item, &found, err) < 0) {
        return -1;
    }
    struct box *boxes = found.boxes;
    size_t count = box_suppress(boxes, found.count, state->overlap, state->most);
    for (size_t i = 0; i < count; i++) {
        struct box box = boxes[i];
        move_box(&state->source, &item->place, &box);
        if (box.right > box.left && box.bottom > box.top) {
            boxes[kept++] = box;
        }
    }
    int result = 0;
    if (state->draws) {
        draw_boxes(boxes, kept, item->picture, &ret_result->picture);
    } else {
        result = write_boxes(state, boxes, kept, item, ret_result, err);
    }
    free(boxes);
    return result;
}

const struct post_kind post_boxes = {
    .name = "Boxes",
    .needs = "boxes and scores",
    .wants_pictures = true,
    .takes_all = true,
    .open = boxes_open,
    .free = boxes_free,
    .files = boxes_files,
    .draws = boxes_draw,
    .take = boxes_take,
    .result = boxes_result,
};
