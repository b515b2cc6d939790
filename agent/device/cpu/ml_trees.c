// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/ml.h"

#include <stdlib.h>

/* The weights of a leaf into a row's sums; `seen`: which targets have had one. */
static void add_weights(const struct trees *trees, const struct tree_node *leaf, double *sums,
                        bool *seen) {
    for (int32_t i = leaf->child; i < leaf->child + leaf->feature; i++) {
        double value = trees->weights[i].value;
        double *sum = &sums[trees->weights[i].target];
        bool is_first = !seen[trees->weights[i].target];
        if (trees->aggregate == TREE_MIN) {
            *sum = is_first || value < *sum ? value : *sum;
        } else if (trees->aggregate == TREE_MAX) {
            *sum = is_first || value > *sum ? value : *sum;
        } else {
            *sum += value;
        }
        seen[trees->weights[i].target] = true;
    }
}

static int trees_run(const struct call *call, struct error *err) {
    AUTO(trees_freep) struct trees *trees = NULL;
    const struct tensor *x = call->inputs[0];
    int64_t columns = x->shape.dims[x->shape.rank - 1];
    int64_t rows = x->shape.rank == 1 ? 1 : x->shape.dims[0];
    if (trees_read(call->node, &trees, err) < 0) {
        return -1;
    }
    int at = trees->is_classifier;
    const struct tensor *labels = at ? call->outputs[0] : NULL;
    const struct tensor *scores = at < call->output_count ? call->outputs[at] : NULL;
    double *row = x_calloc((size_t)columns + 1, sizeof *row);
    double *sums = x_calloc((size_t)trees->target_count, sizeof *sums);
    bool *seen = x_calloc((size_t)trees->target_count, sizeof *seen);
    for (int64_t i = 0; i < rows; i++) {
        ml_read(x, i * columns, columns, row);
        for (int64_t k = 0; k < trees->target_count; k++) {
            sums[k] = 0;
            seen[k] = false;
        }
        for (int32_t k = 0; k < trees->tree_count; k++) {
            add_weights(trees, trees_leaf(trees, k, row), sums, seen);
        }
        ml_finish(trees, sums, labels ? (int64_t *)labels->data + i : NULL,
                  scores ? (float *)scores->data + i * trees->target_count : NULL);
    }
    free(row);
    free(sums);
    free(seen);
    return 0;
}
const struct kernel reference_ml_trees = {"reference ml_trees", trees_run};
