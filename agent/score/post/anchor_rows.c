// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/anchor_rows.h"

#include "agent/score/post/box.h"

#include <math.h>
#include <stdlib.h>

enum {
    SIDES = 4,
    ANCHORS_MAX = 1 << 22,
    SCORES_MAX = 1 << 29, /* numbers, of all anchors */
};

/* Where the values of a level are: column c of shape a in a cell is at cell * cell_step + a *
 * shape_step + c * column_step. */
struct level_part {
    const float *data;
    int64_t columns, cell_step, shape_step, column_step;
};

/* A grid with this many shapes in each cell. All levels as one: a grid of one row, one shape. */
struct extent {
    int64_t rows, columns, shapes;
};

/* ---- one output ----------------------------------------------------------------------------- */

static bool is_float(const struct tensor *output, int rank) {
    return output->type == TENSOR_FLOAT32 && output->shape.rank == rank;
}

/* Values of each item that follow each other: rows, or a map with its channels last. */
static struct level_part of_rows(const float *data, int64_t columns, int64_t shapes) {
    return (struct level_part){data, columns, shapes * columns, columns, 1};
}

/* The output as the part of this extent; columns is 0: it has another shape. */
static struct level_part find_part(const struct tensor *output, int64_t items, int64_t index,
                                   const struct extent *extent) {
    const int64_t *dims = output->shape.dims;
    int64_t cells = extent->rows * extent->columns, shapes = extent->shapes, count = cells * shapes;
    const float *data = output->data;
    if (is_float(output, 2) && items == 1 && dims[0] == count) {
        return of_rows(data, dims[1], shapes);
    }
    if (is_float(output, 3) && dims[0] == items && dims[1] == count) {
        return of_rows(data + index * count * dims[2], dims[2], shapes);
    }
    if (!is_float(output, 4) || dims[0] != items) {
        return (struct level_part){0};
    }
    bool is_map = dims[2] == extent->rows && dims[3] == extent->columns && dims[1] % shapes == 0;
    if (is_map) {
        int64_t columns = dims[1] / shapes;
        return (struct level_part){data + index * dims[1] * cells, columns, 1, columns * cells,
                                   cells};
    }
    bool is_last = dims[1] == extent->rows && dims[2] == extent->columns && dims[3] % shapes == 0;
    return is_last ? of_rows(data + index * cells * dims[3], dims[3] / shapes, shapes)
                   : (struct level_part){0};
}

/* ---- boxes and scores ----------------------------------------------------------------------- */

struct choice {
    struct level_part part;
    size_t count; /* of outputs that fit */
};

static void add_choice(struct choice *choice, const struct level_part *part) {
    choice->part = *part;
    choice->count++;
}

/* By name, else of four columns, else those with points: an even number of more than four. */
static struct level_part choose_boxes(const struct level_part *parts,
                                      const struct post_outputs *outputs) {
    struct choice named = {0}, four = {0}, more = {0};
    for (size_t i = 0; i < outputs->count; i++) {
        int64_t columns = parts[i].columns;
        if (columns >= SIDES && box_name_says(outputs->names[i], BOX_NAME_BOXES)) {
            add_choice(&named, &parts[i]);
        }
        if (columns == SIDES) {
            add_choice(&four, &parts[i]);
        } else if (columns > SIDES && columns % 2 == 0) {
            add_choice(&more, &parts[i]);
        }
    }
    return named.count == 1  ? named.part
           : four.count == 1 ? four.part
           : more.count == 1 ? more.part
                             : (struct level_part){0};
}

static struct level_part choose_scores(const struct level_part *parts,
                                       const struct post_outputs *outputs, const float *boxes) {
    struct choice named = {0}, others = {0};
    for (size_t i = 0; i < outputs->count; i++) {
        if (parts[i].columns == 0 || parts[i].data == boxes) {
            continue;
        }
        add_choice(&others, &parts[i]);
        if (box_name_says(outputs->names[i], BOX_NAME_SCORES)) {
            add_choice(&named, &parts[i]);
        }
    }
    return named.count == 1 ? named.part : others.count == 1 ? others.part : (struct level_part){0};
}

/* The only part whose output's name says this. */
static struct level_part choose_named(const struct level_part *parts,
                                      const struct post_outputs *outputs, enum box_name what) {
    struct choice named = {0};
    for (size_t i = 0; i < outputs->count; i++) {
        if (parts[i].columns > 0 && box_name_says(outputs->names[i], what)) {
            add_choice(&named, &parts[i]);
        }
    }
    return named.count == 1 ? named.part : (struct level_part){0};
}

/* Of one level, or of all. */
struct level_set {
    struct level_part boxes, scores, objectness;
};

static bool find_set(const struct anchors *anchors, const struct post_outputs *outputs,
                     int64_t index, const struct extent *extent, struct level_set *ret_set) {
    struct level_part *parts = x_calloc(outputs->count, sizeof *parts);
    for (size_t i = 0; i < outputs->count; i++) {
        parts[i] = find_part(outputs->tensors[i], outputs->items, index, extent);
    }
    *ret_set = (struct level_set){.boxes = choose_boxes(parts, outputs)};
    if (anchors->has_objectness) {
        ret_set->scores = choose_named(parts, outputs, BOX_NAME_CLASSES);
        ret_set->objectness = choose_named(parts, outputs, BOX_NAME_OBJECTNESS);
    } else {
        ret_set->scores = choose_scores(parts, outputs, ret_set->boxes.data);
    }
    free(parts);
    return ret_set->boxes.columns > 0 && ret_set->scores.columns > 0 &&
           ret_set->objectness.columns == anchors->has_objectness;
}

/* ---- all levels ----------------------------------------------------------------------------- */

static void copy_part(const struct level_part *part, const struct extent *extent, int64_t columns,
                      float *to) {
    for (int64_t cell = 0; cell < extent->rows * extent->columns; cell++) {
        for (int64_t shape = 0; shape < extent->shapes; shape++) {
            const float *from = part->data + cell * part->cell_step + shape * part->shape_step;
            for (int64_t c = 0; c < columns; c++) {
                *to++ = from[c * part->column_step];
            }
        }
    }
}

/* Between 0 and 1. NaN stays what it is, and is named later. */
static float clamp(float value) {
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

/* Makes scores of those of the classes and the objectness of each row. */
static void weigh_scores(const struct level_part *objectness, const struct extent *extent,
                         int64_t classes, float *scores) {
    for (int64_t cell = 0; cell < extent->rows * extent->columns; cell++) {
        for (int64_t shape = 0; shape < extent->shapes; shape++) {
            float own =
                objectness->data[cell * objectness->cell_step + shape * objectness->shape_step];
            for (int64_t c = 0; c < classes; c++, scores++) {
                *scores = sqrtf(clamp(own) * clamp(*scores));
            }
        }
    }
}

/* Appends a level's boxes and scores at row `at`. */
static int add_level(const struct level_set *set, const struct extent *extent, int64_t at,
                     struct anchor_rows *rows) {
    int64_t count = rows->boxes.shape.dims[1], classes = set->scores.columns;
    if (classes > SCORES_MAX / count) { /* the columns of a few rows, in all of them */
        return -1;
    }
    if (!rows->scores.data) {
        rows->scores = (struct tensor){
            TENSOR_FLOAT32, {3, {1, count, classes}}, x_calloc((size_t)(count * classes), 4), true};
    }
    if (rows->scores.shape.dims[2] != classes) {
        return -1;
    }
    float *scores = (float *)rows->scores.data + at * classes;
    copy_part(&set->boxes, extent, SIDES, (float *)rows->boxes.data + at * SIDES);
    copy_part(&set->scores, extent, classes, scores);
    if (set->objectness.columns > 0) {
        weigh_scores(&set->objectness, extent, classes, scores);
    }
    return 0;
}

static int add_levels(const struct anchors *anchors, const struct post_outputs *outputs,
                      int64_t index, const struct post_place *place, struct anchor_rows *rows) {
    struct level_set set;
    struct extent all = {1, rows->boxes.shape.dims[1], 1};
    int64_t at = 0;
    if (find_set(anchors, outputs, index, &all, &set)) {
        return add_level(&set, &all, 0, rows);
    }
    for (size_t i = 0; i < anchors->count; i++) {
        const struct anchor_level *level = &anchors->levels[i];
        struct anchor_grid grid = anchors_grid(level, place->input_width, place->input_height);
        struct extent extent = {grid.rows, grid.columns, (int64_t)level->count};
        if (!find_set(anchors, outputs, index, &extent, &set) ||
            add_level(&set, &extent, at, rows) < 0) {
            return -1;
        }
        at += extent.rows * extent.columns * extent.shapes;
    }
    return 0;
}

int anchor_rows_read(const struct anchors *anchors, const struct post_outputs *outputs,
                     int64_t index, const struct post_place *place, struct anchor_rows *ret_rows,
                     struct error *err) {
    int width = place->input_width, height = place->input_height;
    int64_t count = anchors_count(anchors, width, height);
    *ret_rows = (struct anchor_rows){0};
    if (count < 1 || count > ANCHORS_MAX) {
        return error_set(err, ERROR_FAILED,
                         "%lld anchors for an input of %dx%d; 1 to %d are expected",
                         (long long)count, width, height, ANCHORS_MAX);
    }
    ret_rows->anchors = x_calloc((size_t)count, sizeof *ret_rows->anchors);
    anchors_place(anchors, width, height, ret_rows->anchors);
    ret_rows->boxes = (struct tensor){
        TENSOR_FLOAT32, {3, {1, count, SIDES}}, x_calloc((size_t)count, SIDES * 4), true};
    if (add_levels(anchors, outputs, index, place, ret_rows) < 0) {
        anchor_rows_release(ret_rows);
        return error_set(err, ERROR_FAILED,
                         "the anchors are %lld for an input of %dx%d, but not one output of boxes "
                         "and one of scores has as many, together or in each level: other strides "
                         "or numbers of widths are expected, or scorer.onnx.outputs, which names "
                         "the outputs that count",
                         (long long)count, width, height);
    }
    return 0;
}

void anchor_rows_release(struct anchor_rows *rows) {
    free(rows->anchors);
    tensor_release(&rows->boxes);
    tensor_release(&rows->scores);
    *rows = (struct anchor_rows){0};
}
