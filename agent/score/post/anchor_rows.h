/* anchor_rows.h: collects the boxes and scores of a detector's anchors (anchors.h) from its
 * outputs: one output of boxes and one of scores for all levels, or one of each for every level, as
 * rows [n, k, columns] (of one item also [k, columns]) or as maps [n, anchors x columns, h, w] and
 * [n, h, w, anchors x columns]. Pure. */
#pragma once

#include "agent/score/post/anchors.h"
#include "agent/score/post/post_kind.h"

/* Of one item; owns all of it. */
struct anchor_rows {
    struct anchor *anchors;
    struct tensor boxes;  /* [1, k, 4] */
    struct tensor scores; /* [1, k, classes] */
};

/* Those of item `index`, whose input is that wide and high. FAILED: no outputs have as many rows as
 * there are anchors, or several do and no name says which are boxes. */
NODISCARD int anchor_rows_read(const struct anchors *anchors, const struct post_outputs *outputs,
                               int64_t index, const struct post_place *place,
                               struct anchor_rows *ret_rows, struct error *err);
void anchor_rows_release(struct anchor_rows *rows); /* for AUTO, too */
