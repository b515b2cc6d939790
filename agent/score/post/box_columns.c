// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/box_columns.h"

#include <string.h>

#define POSTPROCESS "scorer.onnx.postprocess."
#define FIELD POSTPROCESS "columns"

enum { SIDES = 4, FINAL = 6 };
enum { MANY_ROWS = 8 }; /* times as many rows as columns: of a detector's whole grids */

static const char *const column_names[] = {"Item",    "Left",    "Top",     "Right",  "Bottom",
                                           "CenterX", "CenterY", "Width",   "Height", "Objectness",
                                           "Score",   "Class",   "Classes", "Skip"};
_Static_assert(ARRAY_LEN(column_names) == BOX_COLUMN_COUNT, "a name for each");

/* ---- the spec ------------------------------------------------------------------------------- */

static bool has(const struct box_columns *columns, enum box_column column) {
    return columns->places[column] >= 0;
}

/* Two of these say where a box begins and ends along one axis. */
static bool has_side(const struct box_columns *columns, const enum box_column side[4]) {
    bool has_begin = has(columns, side[0]), has_end = has(columns, side[1]);
    bool has_center = has(columns, side[2]), has_size = has(columns, side[3]);
    return has_begin + has_end + has_center + has_size == 2 &&
           ((has_begin && has_end) || (has_size && !has_end));
}

static const enum box_column across[] = {BOX_COLUMN_LEFT, BOX_COLUMN_RIGHT, BOX_COLUMN_CENTER_X,
                                         BOX_COLUMN_WIDTH},
                             down[] = {BOX_COLUMN_TOP, BOX_COLUMN_BOTTOM, BOX_COLUMN_CENTER_Y,
                                       BOX_COLUMN_HEIGHT};

static int check_columns(const struct box_columns *columns, struct error *err) {
    if (!has_side(columns, across) || !has_side(columns, down)) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD ": a box is expected: Left and Right, Left and Width, or "
                         "CenterX and Width, and in the same way Top, Bottom, CenterY, Height");
    }
    if (has(columns, BOX_COLUMN_SCORE) == has(columns, BOX_COLUMN_CLASSES)) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD ": either Score, or Classes for the scores of all classes, "
                         "is expected");
    }
    return has(columns, BOX_COLUMN_CLASS) && has(columns, BOX_COLUMN_CLASSES)
               ? error_set(err, ERROR_INVALID,
                           "spec." FIELD ": Class is one class's number, Classes are the scores of "
                           "all: take one of the two out")
               : 0;
}

/* Softmax would make 1 of a single score, the others would do nothing. */
static int check_fields(const json_t *spec, const struct box_columns *columns, struct error *err) {
    bool is_softmax = strcmp(tree_text(spec, POSTPROCESS "scores", ""), "Softmax") == 0;
    bool has_background = strcmp(tree_text(spec, POSTPROCESS "background", "None"), "None") != 0;
    bool has_classes = tree_get(spec, POSTPROCESS "classes") != NULL;
    const char *field = is_softmax       ? "scores: Softmax"
                        : has_background ? "background"
                        : has_classes    ? "classes"
                                         : NULL;
    return has(columns, BOX_COLUMN_CLASSES) || !field
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec." POSTPROCESS "%s is about the scores of all classes, and no "
                           "column is Classes: take it out",
                           field);
}

static int add_column(struct box_columns *columns, const json_t *name, struct error *err) {
    const char *text = json_string_value(name) ? json_string_value(name) : "";
    int column = 0;
    while (column < BOX_COLUMN_COUNT && strcmp(column_names[column], text) != 0) {
        column++;
    }
    if (column == BOX_COLUMN_COUNT || columns->count == BOX_COLUMNS_MOST) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD ": \"%.40s\" is unknown, or there are "
                         "more than %d",
                         text, BOX_COLUMNS_MOST);
    }
    if (has(columns, BOX_COLUMN_CLASSES)) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD ": Classes is all columns to the end, so it is the last "
                         "one; classes says how many of them count");
    }
    if (column != BOX_COLUMN_SKIP && has(columns, (enum box_column)column)) {
        return error_set(err, ERROR_INVALID, "spec." FIELD ": %s is there twice", text);
    }
    columns->places[column] = (int)columns->count++;
    return 0;
}

int box_columns_read(const json_t *spec, struct box_columns *ret_columns, struct error *err) {
    const json_t *names = tree_get(spec, FIELD), *name;
    struct box_columns columns = {0};
    size_t i;
    for (int column = 0; column < BOX_COLUMN_COUNT; column++) {
        columns.places[column] = -1;
    }
    json_array_foreach(names, i, name) {
        if (add_column(&columns, name, err) < 0) {
            return -1;
        }
    }
    if (columns.count > 0 &&
        (check_columns(&columns, err) < 0 || check_fields(spec, &columns, err) < 0)) {
        return -1;
    }
    int64_t classes = tree_integer(spec, POSTPROCESS "classes", 0);
    columns.least = (int64_t)columns.count + MAX(classes - 1, 0);
    columns.width = classes > 0 ? columns.least : 0;
    columns.has_more = classes > 0;
    *ret_columns = columns;
    return 0;
}

void box_columns_expect(struct box_columns *columns, int64_t classes) {
    if (columns->width == 0) {
        columns->width = (int64_t)columns->count - 1 + classes;
    }
}

bool box_columns_are_final(const struct box_columns *columns) {
    return has(columns, BOX_COLUMN_CLASS);
}

/* ---- the output ----------------------------------------------------------------------------- */

/* Column c of row k is at data[k * row_step + c * column_step]. */
struct view {
    const float *data;
    int64_t rows, columns, row_step, column_step;
    enum box_columns_axis axis; /* of the columns; OPEN: the others do not matter */
};

static bool is_wide(const struct box_columns *columns, int64_t width) {
    return has(columns, BOX_COLUMN_CLASSES) ? width >= columns->least : width == columns->least;
}

/* Of two axes that are wide enough. Rows may be the objects of one picture, fewer than there are
 * classes: only where the number of these is known, so that few columns follow, the longer axis is
 * that of the rows. */
static enum box_columns_axis choose_axis(const struct box_columns *columns, const int64_t dims[2]) {
    int64_t width = columns->width, shorter = MIN(dims[0], dims[1]);
    if (!has(columns, BOX_COLUMN_CLASSES) || (width > 0 && dims[1] == width)) {
        return BOX_COLUMNS_LAST;
    }
    if (width > 0 && dims[0] == width) {
        return BOX_COLUMNS_FIRST;
    }
    bool has_many_rows = columns->has_more && MAX(dims[0], dims[1]) >= MANY_ROWS * shorter;
    return !has_many_rows       ? BOX_COLUMNS_OPEN
           : dims[1] == shorter ? BOX_COLUMNS_LAST
                                : BOX_COLUMNS_FIRST;
}

/* [rows, columns] or [columns, rows] */
static bool view_table(const struct box_columns *columns, const float *data, const int64_t dims[2],
                       struct view *ret_view) {
    const bool fits[] = {[BOX_COLUMNS_LAST] = is_wide(columns, dims[1]),
                         [BOX_COLUMNS_FIRST] = is_wide(columns, dims[0])};
    bool are_both = fits[BOX_COLUMNS_LAST] && fits[BOX_COLUMNS_FIRST];
    enum box_columns_axis axis = columns->axis            ? columns->axis
                                 : are_both               ? choose_axis(columns, dims)
                                 : fits[BOX_COLUMNS_LAST] ? BOX_COLUMNS_LAST
                                                          : BOX_COLUMNS_FIRST;
    *ret_view = axis == BOX_COLUMNS_FIRST ? (struct view){data, dims[1], dims[0], 1, dims[1], axis}
                                          : (struct view){data, dims[0], dims[1], dims[1], 1, axis};
    return axis == BOX_COLUMNS_OPEN || fits[axis];
}

/* Those of item `index`; with a column Item those of all. */
static bool view_output(const struct box_columns *columns, const struct tensor *output,
                        int64_t items, int64_t index, struct view *ret_view) {
    const int64_t *dims = output->shape.dims;
    int rank = output->shape.rank, at = 0;
    const float *data = output->data;
    if (output->type != TENSOR_FLOAT32 || rank < 2) {
        return false;
    }
    if (has(columns, BOX_COLUMN_ITEM)) {
        int64_t width = dims[rank - 1];
        int64_t rows = width > 0 ? shape_count(&output->shape) / width : 0;
        *ret_view = (struct view){data, rows, width, width, 1, BOX_COLUMNS_LAST};
        return is_wide(columns, width);
    }
    if (rank > 2) {
        if (dims[0] != items) {
            return false;
        }
        int64_t each = shape_count(&output->shape) / MAX(items, 1);
        data = each > 0 ? data + index * each : data;
        at = 1;
    } else if (items != 1) {
        return false;
    }
    for (; rank - at > 2 && dims[at] == 1; at++) {
    }
    return rank - at == 2 && view_table(columns, data, dims + at, ret_view);
}

/* Whether it may have the rows of all items, one behind the other. */
static bool is_list(const struct box_columns *columns, const struct tensor *output, int64_t items) {
    const struct shape *shape = &output->shape;
    return output->type == TENSOR_FLOAT32 && shape->rank >= 2 &&
           (shape->rank > 2 ? shape->dims[0] : 1) != items &&
           is_wide(columns, shape->dims[shape->rank - 1]);
}

/* The scores of classes in each row; 0: it has its class. */
static int64_t count_classes(const struct box_columns *columns, const struct view *view) {
    return box_columns_are_final(columns)     ? 0
           : has(columns, BOX_COLUMN_CLASSES) ? view->columns - columns->places[BOX_COLUMN_CLASSES]
                                              : 1;
}

const struct tensor *box_columns_find(const struct box_columns *columns,
                                      const struct post_outputs *outputs,
                                      struct box_columns_match *ret_match) {
    const struct tensor *found = NULL;
    *ret_match = (struct box_columns_match){0};
    for (size_t i = 0; i < outputs->count; i++) {
        const struct tensor *output = outputs->tensors[i];
        struct view view;
        if (view_output(columns, output, outputs->items, 0, &view)) {
            found = output;
            ret_match->count++;
            ret_match->axis = view.axis;
            ret_match->classes = count_classes(columns, &view);
        } else if (is_list(columns, output, outputs->items)) {
            ret_match->has_lists = true;
        }
    }
    return ret_match->count == 1 ? found : NULL;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* A row of the view. */
struct source_row {
    const struct box_columns *columns;
    const float *data;
    int64_t step;
};

static float number(const struct source_row *row, enum box_column column, float fallback) {
    int place = row->columns->places[column];
    return place < 0 ? fallback : row->data[place * row->step];
}

static void read_side(const struct source_row *row, const enum box_column side[4], float *ret_begin,
                      float *ret_end) {
    float size = number(row, side[3], 0), center = number(row, side[2], 0);
    float begin = number(row, side[0], center - size / 2);
    *ret_begin = begin;
    *ret_end = number(row, side[1], begin + size);
}

static float weigh(enum class_scores scores, float value) {
    if (scores == CLASS_SCORES_SIGMOID) {
        class_scores_apply(scores, &value, 1);
    }
    return value;
}

static void write_row(const struct source_row *row, enum class_scores scores, int64_t classes,
                      float *to) {
    const struct box_columns *columns = row->columns;
    float objectness = has(columns, BOX_COLUMN_OBJECTNESS)
                           ? weigh(scores, number(row, BOX_COLUMN_OBJECTNESS, 1))
                           : 1;
    read_side(row, across, &to[0], &to[2]);
    read_side(row, down, &to[1], &to[3]);
    if (box_columns_are_final(columns)) {
        to[SIDES] = objectness * weigh(scores, number(row, BOX_COLUMN_SCORE, 0));
        to[SIDES + 1] = number(row, BOX_COLUMN_CLASS, 0);
        return;
    }
    to[SIDES] = objectness;
    int first =
        columns->places[has(columns, BOX_COLUMN_SCORE) ? BOX_COLUMN_SCORE : BOX_COLUMN_CLASSES];
    for (int64_t c = 0; c < classes; c++) {
        to[SIDES + 1 + c] = row->data[(first + c) * row->step];
    }
}

int box_columns_rows(const struct box_columns *columns, const struct post_outputs *outputs,
                     int64_t index, enum class_scores scores, struct tensor *ret_rows,
                     struct error *err) {
    struct box_columns_match match;
    struct view view = {0};
    const struct tensor *output = box_columns_find(columns, outputs, &match);
    if (!output || !view_output(columns, output, outputs->items, index, &view)) {
        return error_set(err, ERROR_FAILED,
                         "%zu outputs of the network have the columns of spec." FIELD ", one is "
                         "expected",
                         match.count);
    }
    int64_t classes = match.classes, kept = 0;
    int64_t width = box_columns_are_final(columns) ? FINAL : SIDES + 1 + classes;
    struct shape shape = {3, {1, view.rows, width}};
    if (tensor_init(ret_rows, TENSOR_FLOAT32, &shape, err) < 0) {
        return -1;
    }
    for (int64_t k = 0; k < view.rows; k++) {
        struct source_row row = {columns, view.data + k * view.row_step, view.column_step};
        if (number(&row, BOX_COLUMN_ITEM, (float)index) == (float)index) {
            write_row(&row, scores, classes, (float *)ret_rows->data + kept++ * width);
        }
    }
    ret_rows->shape.dims[1] = kept;
    return 0;
}
