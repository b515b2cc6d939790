// SPDX-License-Identifier: Apache-2.0
/* Tree ensembles: walks the trees for each row. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/ml/ml.h"
#include "agent/engine/device/cpu/ml/ml_forest.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>

/* Adds the weights of a leaf to a row's sums; `seen`: the targets that have had a weight. */
static void add_weights(const struct ml_trees *trees, const struct tree_node *leaf, double *sums,
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

struct run {
    const struct ml_trees *trees;
    const struct tensor *x;
    int64_t *labels;
    float *scores;
};

static void score_rows(void *context, int64_t first, int64_t last) {
    const struct run *run = context;
    const struct ml_trees *trees = run->trees;
    int64_t columns = run->x->shape.dims[run->x->shape.rank - 1], targets = trees->target_count;
    double *row = x_calloc((size_t)columns + 1, sizeof *row);
    double *sums = x_calloc((size_t)targets, sizeof *sums);
    bool *seen = x_calloc((size_t)targets, sizeof *seen);
    for (int64_t i = first; i < last; i++) {
        cpu_ml_read(run->x, i * columns, columns, row);
        for (int64_t k = 0; k < targets; k++) {
            sums[k] = 0;
            seen[k] = false;
        }
        for (int32_t k = 0; k < trees->tree_count; k++) {
            add_weights(trees, ml_trees_leaf(trees, k, row), sums, seen);
        }
        cpu_ml_finish(trees, sums, run->labels ? run->labels + i : NULL,
                      run->scores ? run->scores + i * targets : NULL);
    }
    free(row);
    free(sums);
    free(seen);
}

static struct run run_of(const struct call *call, const struct ml_trees *trees) {
    int at = trees->is_classifier;
    const struct tensor *labels = at ? call->outputs[0] : NULL;
    const struct tensor *scores = at < call->output_count ? call->outputs[at] : NULL;
    return (struct run){trees, call->inputs[0], labels ? labels->data : NULL,
                        scores ? scores->data : NULL};
}

static int64_t row_count(const struct tensor *x) {
    return x->shape.rank == 1 ? 1 : x->shape.dims[0];
}

static int trees_run(const struct call *call, struct error *err) {
    AUTO(ml_trees_freep) struct ml_trees *own = NULL;
    struct ml_trees *trees;
    if (ml_trees_of(call->node, &trees, &own, err) < 0) {
        return -1;
    }
    struct run run = run_of(call, trees);
    score_rows(&run, 0, row_count(run.x));
    return 0;
}
const struct kernel reference_ml_trees = {"reference ml_trees", trees_run};

/* ---- compiled once --------------------------------------------------------------------------- */

static void own_free(void *trees) {
    ml_trees_free(trees);
}

static void fast_free(void *forest) {
    forest_free(forest);
}

static int prepared_run(const struct call *call, struct error *err UNUSED) {
    const struct ml_trees *trees = call->state;
    const struct forest *forest = trees->fast; /* NULL: the plain loop, on all threads */
    struct run run = run_of(call, trees);
    if (forest && run.x->type != TENSOR_FLOAT64) {
        forest_run(forest, cpu_threads(call), run.x, run.labels, run.scores);
    } else {
        threads_run(cpu_threads(call), row_count(run.x), 1, score_rows, &run);
    }
    return 0;
}
static const struct kernel prepared_trees = {"trees", prepared_run};

int cpu_ml_trees_try(struct step *step, struct error *err) {
    int id = step->node->op->id;
    struct ml_trees *trees, *own;
    if (id != OP_ML_TREE_ENSEMBLE_CLASSIFIER && id != OP_ML_TREE_ENSEMBLE_REGRESSOR) {
        return 0;
    }
    if (ml_trees_of(step->node, &trees, &own, err) < 0) {
        return -1;
    }
    if (!trees->is_fast_tried) { /* the first plan of a model makes it for all plans */
        trees->is_fast_tried = true;
        trees->fast = forest_new(trees);
        trees->fast_free = fast_free;
    }
    step->kernel = &prepared_trees;
    step->state = trees;
    step->release = own ? own_free : NULL;
    return 0;
}
