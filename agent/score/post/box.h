/* box.h: boxes of things in a picture, with score and class, the choice of the best among those
 * that overlap, and what the names of a detector's outputs say. Pure. */
#pragma once

#include "lib/base.h"

struct box {
    float left, top, right, bottom;
    float score;
    int64_t class;
};

/* Intersection over union; 0 for boxes without an area. */
float box_overlap(const struct box *a, const struct box *b);
/* Sorts by descending score, then keeps each box that no better one of its class overlaps by more
 * than `overlap`, at most `most` of them. Returns their number; they come first. Source: greedy
 * non-maximum suppression, as in Girshick et al., "Rich feature hierarchies", 2014, section 2.3. */
size_t box_suppress(struct box *boxes, size_t count, float overlap, size_t most);

/* What an output holds. */
enum box_name { BOX_NAME_BOXES, BOX_NAME_SCORES, BOX_NAME_CLASSES, BOX_NAME_OBJECTNESS };
/* Whether the output's name says so. */
bool box_name_says(const char *name, enum box_name what);
