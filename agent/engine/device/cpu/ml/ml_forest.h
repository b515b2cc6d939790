/* ml_forest.h: fast evaluation of trees: eight rows, or for few rows eight trees, at a time, so
 * that the processor has eight loads in flight, where a single walk would wait for each load.
 * Results have the same bits as the plain kernel's, because the order of the sums is the same. */
#pragma once

#include "agent/engine/device/cpu/threads.h"
#include "agent/engine/ops/ml/ml_tree.h"

struct forest;

/* NULL: a node or a weight is not supported (equality; a threshold without an equivalent float32;
 * many targets and few weights, so that a table of them would be mostly zeros). */
struct forest *forest_new(const struct ml_trees *trees);
void forest_free(struct forest *forest);

/* Evaluates rows of float32, int32 or int64, [rows, columns], and stores the results of
 * cpu_ml_finish. labels and scores may be NULL. */
void forest_run(const struct forest *forest, struct threads *threads, const struct tensor *x,
                int64_t *labels, float *scores);
