/* box_columns.h: boxes of an output whose columns spec.scorer.onnx.postprocess.columns names: one
 * row for each candidate, [n, k, columns], [n, columns, k] or [n, 1, k, columns]; of one item also
 * [k, columns]. With a column Item the rows of all items may follow each other. Which axis is that
 * of the columns is said by their number, or, where both are long enough for the scores of all
 * classes, by the number of these. Pure. */
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

/* Which one of the two axes of rows and columns is that of the columns. */
enum box_columns_axis { BOX_COLUMNS_OPEN, BOX_COLUMNS_LAST, BOX_COLUMNS_FIRST };

struct box_columns {
    size_t count;                 /* without those behind Classes; 0: the spec names none */
    int places[BOX_COLUMN_COUNT]; /* of each but Skip; -1: it is not there */
    int64_t least;                /* an output has as many columns; with Classes at least */
    int64_t width; /* with Classes: as many, if nothing is behind the scores of the classes; 0: the
                      spec does not say how many classes there are */
    bool has_more; /* columns may follow, as the spec says how many of them are classes' scores */
    enum box_columns_axis axis; /* OPEN: of each output by itself; else as the caller sets it */
};

/* INVALID: a column twice, names behind Classes, no box or no score among them, or other fields
 * that are about the scores of all classes, which they do not have. */
NODISCARD int box_columns_read(const json_t *spec, struct box_columns *ret_columns,
                               struct error *err);
/* Says how many scores of classes a row has, if the spec does not. */
void box_columns_expect(struct box_columns *columns, int64_t classes);
/* Whether each row has its score and class, as behind a suppression of duplicates. */
bool box_columns_are_final(const struct box_columns *columns);

struct box_columns_match {
    size_t count;               /* of the outputs that have these columns */
    enum box_columns_axis axis; /* OPEN: it may be either one */
    int64_t classes;            /* scores in each row; 0: it has its class */
    bool has_lists;             /* there are outputs that have them, but no axis for the items */
};

/* The output that has these columns; NULL: none, or several. */
const struct tensor *box_columns_find(const struct box_columns *columns,
                                      const struct post_outputs *outputs,
                                      struct box_columns_match *ret_match);
/* The rows of item `index`, as left, top, right, bottom, then, if they are final, score and class
 * [1, k, 6], else objectness and scores of classes [1, k, 5 + classes]. scores: SIGMOID is applied
 * to what will not be weighed by class: objectness, and the score of final ones. The caller
 * releases *ret_rows. */
NODISCARD int box_columns_rows(const struct box_columns *columns,
                               const struct post_outputs *outputs, int64_t index,
                               enum class_scores scores, struct tensor *ret_rows,
                               struct error *err);
