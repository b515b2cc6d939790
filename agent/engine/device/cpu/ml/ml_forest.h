/* ml_forest.h: trees as they are walked fast: eight rows, or for few rows eight trees, at a time,
 * so that the processor has eight loads under way where one walk would wait for each. The same bits
 * as the plain kernel, whose sums have the same order. */
#pragma once

#include "agent/engine/device/cpu/threads.h"
#include "agent/engine/ops/ml/ml_tree.h"

struct forest;

/* NULL: there is a node or a weight that this cannot do (equality; a threshold that no float32
 * stands for; targets so many and weights so few that a table of them would be mostly zeros). */
struct forest *forest_new(const struct trees *trees);
void forest_free(struct forest *forest);

/* Rows of float32, int32 or int64, [rows, columns], to what ml_finish makes of them. labels and
 * scores may be NULL. */
void forest_run(const struct forest *forest, struct threads *threads, const struct tensor *x,
                int64_t *labels, float *scores);
