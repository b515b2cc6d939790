/* box_columns.h: boxes of an output whose columns spec.scorer.onnx.postprocess.columns names: one
 * row for each candidate, [n, k, columns], [n, columns, k] or [n, 1, k, columns]; of one item also
 * [k, columns]. With a column Item the rows of all items may follow each other. Pure. */
#pragma once

#include "agent/score/post/class_scores.h"
#include "agent/score/post/post_kind.h"

enum box_column {
    BOX_COLUMN_ITEM, /* the number of the row's item in the run */
    BOX_COLUMN_LEFT,
    BOX_COLUMN_TOP,
    BOX_COLUMN_RIGHT,
    BOX_COLUMN_BOTTOM,
    BOX_COLUMN_CENTER_X,
    BOX_COLUMN_CENTER_Y,
    BOX_COLUMN_WIDTH,
    BOX_COLUMN_HEIGHT,
    BOX_COLUMN_OBJECTNESS, /* a factor of the score */
    BOX_COLUMN_SCORE,
    BOX_COLUMN_CLASS,
    BOX_COLUMN_CLASSES, /* the scores of all classes: this column and those behind it */
    BOX_COLUMN_SKIP,
    BOX_COLUMN_COUNT
};

enum { BOX_COLUMNS_MOST = 64 };

struct box_columns {
    size_t count;                 /* without those behind Classes; 0: the spec names none */
    int places[BOX_COLUMN_COUNT]; /* of each but Skip; -1: it is not there */
};

/* INVALID: a column twice, names behind Classes, or no box or no score among them. */
NODISCARD int box_columns_read(const json_t *spec, struct box_columns *ret_columns,
                               struct error *err);
/* Whether each row has its score and class, as behind a suppression of duplicates. */
bool box_columns_are_final(const struct box_columns *columns);
/* The output that has these columns; NULL: none, or several (*ret_count). */
const struct tensor *box_columns_find(const struct box_columns *columns,
                                      const struct post_outputs *outputs, size_t *ret_count);
/* The rows of item `index`, as left, top, right, bottom, then, if they are final, score and class
 * [1, k, 6], else objectness and scores of classes [1, k, 5 + classes]. scores: SIGMOID is applied
 * to what will not be weighed by class: objectness, and the score of final ones. The caller
 * releases *ret_rows. */
NODISCARD int box_columns_rows(const struct box_columns *columns,
                               const struct post_outputs *outputs, int64_t index,
                               enum class_scores scores, struct tensor *ret_rows,
                               struct error *err);
