// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/ml/ml_forest.h"

#include "agent/engine/device/cpu/ml/ml.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = 8,          /* concurrent walks */
    TILE = 256,         /* rows that are processed while a tree is in a near cache */
    TILE_COLUMNS = 512, /* with more columns a tile would not fit into a near cache */
    TARGETS_MAX = 1024, /* with more, a tile's sums would not fit either */
    TREES_GRAIN = 1024, /* for few rows: fewer trees are done before a second thread has woken up */
    STEPS_A_CHECK = 4,  /* steps between two checks whether all walks have reached leaves */
};

/* The child of a leaf is the leaf itself: it compares a column of zeros with infinity. */
struct forest_node {
    float value;      /* a row with a greater feature goes to the second child */
    uint32_t feature; /* of a leaf: the column of zeros */
    uint32_t child;
    int32_t extra; /* of a leaf: its number; else whether NaN goes to the first child */
};
static_assert(sizeof(struct forest_node) == 16, "four to a cache line");

struct forest {
    const struct ml_trees *trees;
    struct forest_node *nodes;
    int32_t *depths; /* [tree_count] */
    /* [tree_count]: if the weights of each tree are for one target; NULL: dense. */
    int32_t *targets;
    double *weights; /* [leaves], or dense [leaves, target_count] */
};

/* ---- making ---------------------------------------------------------------------------------- */

/* The float32 for which x <= result is the same as x <= value (x < value if is_below) for every
 * float32 x. */
static float round_down(double value, bool is_below) {
    float nearest = (float)value;
    bool is_above = is_below ? (double)nearest >= value : (double)nearest > value;
    return is_above ? nextafterf(nearest, -INFINITY) : nearest;
}

static bool make_nodes(struct forest *forest, int32_t *ret_leaves) {
    const struct ml_trees *trees = forest->trees;
    int32_t leaves = 0;
    forest->nodes = x_calloc((size_t)trees->node_count, sizeof *forest->nodes);
    for (int32_t i = 0; i < trees->node_count; i++) {
        const struct tree_node *from = &trees->nodes[i];
        struct forest_node *to = &forest->nodes[i];
        if (from->mode == TREE_LEAF) {
            *to = (struct forest_node){INFINITY, (uint32_t)trees->feature_count, (uint32_t)i,
                                       leaves++};
            continue;
        }
        bool is_below = from->mode == TREE_LT;
        if (from->mode == TREE_EQ || (is_below && from->value == -INFINITY)) {
            return false;
        }
        *to = (struct forest_node){round_down(from->value, is_below), (uint32_t)from->feature,
                                   (uint32_t)from->child, from->missing_first};
    }
    *ret_leaves = leaves;
    return true;
}

/* Children come after their parents. */
static void measure_depths(struct forest *forest) {
    const struct ml_trees *trees = forest->trees;
    int32_t *depth = x_calloc((size_t)trees->node_count, sizeof *depth);
    forest->depths = x_calloc((size_t)trees->tree_count, sizeof *forest->depths);
    for (int32_t t = 0; t < trees->tree_count; t++) {
        for (int32_t i = trees->roots[t]; i < trees->roots[t + 1]; i++) {
            int32_t child = (int32_t)forest->nodes[i].child;
            forest->depths[t] = MAX(forest->depths[t], depth[i]);
            if (child != i) {
                depth[child] = depth[child + 1] = depth[i] + 1;
            }
        }
    }
    free(depth);
}

/* The target of all weights of the tree if each leaf has one weight; -1: otherwise. */
static int32_t only_target(const struct ml_trees *trees, int32_t tree) {
    int32_t target = -1;
    for (int32_t i = trees->roots[tree]; i < trees->roots[tree + 1]; i++) {
        const struct tree_node *node = &trees->nodes[i];
        if (node->mode == TREE_LEAF) {
            int32_t own = node->feature == 1 ? trees->weights[node->child].target : -1;
            if (own < 0 || (target >= 0 && own != target)) {
                return -1;
            }
            target = own;
        }
    }
    return target;
}

static bool find_targets(struct forest *forest) {
    const struct ml_trees *trees = forest->trees;
    forest->targets = x_calloc((size_t)trees->tree_count, sizeof *forest->targets);
    for (int32_t t = 0; t < trees->tree_count; t++) {
        forest->targets[t] = only_target(trees, t);
        if (forest->targets[t] < 0) {
            free(TAKE(forest->targets));
            return false;
        }
    }
    return true;
}

/* False: too sparse, or a leaf has two weights for one target, which are added one by one. */
static bool make_weights(struct forest *forest, int32_t leaves) {
    const struct ml_trees *trees = forest->trees;
    int64_t width = find_targets(forest) ? 1 : trees->target_count;
    if ((int64_t)leaves * width > 4 * (int64_t)trees->weight_count + 1024) {
        return false;
    }
    forest->weights = x_calloc((size_t)(leaves * width), sizeof *forest->weights);
    bool *is_set = x_calloc((size_t)(leaves * width), sizeof *is_set), is_fine = true;
    for (int32_t i = 0; i < trees->node_count; i++) {
        const struct tree_node *node = &trees->nodes[i];
        for (int32_t k = 0; node->mode == TREE_LEAF && k < node->feature; k++) {
            const struct tree_weight *weight = &trees->weights[node->child + k];
            int64_t at = forest->nodes[i].extra * width + (width > 1 ? weight->target : 0);
            is_fine = is_fine && !is_set[at];
            is_set[at] = true;
            forest->weights[at] = weight->value;
        }
    }
    free(is_set);
    return is_fine;
}

struct forest *forest_new(const struct ml_trees *trees) {
    struct forest *forest = x_calloc(1, sizeof *forest);
    int32_t leaves = 0;
    forest->trees = trees;
    bool sums = trees->aggregate == TREE_SUM || trees->aggregate == TREE_AVERAGE;
    if (!sums || trees->target_count > TARGETS_MAX || !make_nodes(forest, &leaves) ||
        !make_weights(forest, leaves)) {
        forest_free(forest);
        return NULL;
    }
    measure_depths(forest);
    return forest;
}

void forest_free(struct forest *forest) {
    if (forest) {
        free(forest->nodes);
        free(forest->depths);
        free(forest->targets);
        free(forest->weights);
        free(forest);
    }
}

/* ---- walking --------------------------------------------------------------------------------- */

#define INLINED inline __attribute__((always_inline))
/* The positions of all lanes are in separate registers; a vector would go through memory at each
 * step. */
#define EACH_LANE _Pragma("GCC unroll 8") for (int k = 0; k < LANES; k++)
static_assert(LANES == 8, "EACH_LANE's number");

/* Where a row goes from a node; takes_missing is a constant at compile time. */
static INLINED uint32_t next_node(const struct forest_node *node, float x, bool takes_missing) {
    uint32_t is_second = x > node->value;
    if (takes_missing) {
        is_second |= (uint32_t)(x != x) & !node->extra;
    }
    return node->child + is_second;
}

/* Evaluates one tree for LANES rows, whose column f begins at x + f * TILE. */
static INLINED void walk_rows(const struct forest_node *nodes, uint32_t root, int32_t depth,
                              const float *x, bool takes_missing, uint32_t ret_at[LANES]) {
    uint32_t at[LANES];
    EACH_LANE {
        at[k] = root;
    }
    for (int32_t left = depth; left > 0; left -= STEPS_A_CHECK) {
        uint32_t moved = 0;
        for (int step = 1; step < STEPS_A_CHECK; step++) {
            EACH_LANE {
                const struct forest_node *node = &nodes[at[k]];
                at[k] = next_node(node, x[(size_t)node->feature * TILE + (size_t)k], takes_missing);
            }
        }
        EACH_LANE {
            const struct forest_node *node = &nodes[at[k]];
            uint32_t before = at[k];
            at[k] = next_node(node, x[(size_t)node->feature * TILE + (size_t)k], takes_missing);
            moved |= at[k] ^ before;
        }
        if (!moved) {
            break;
        }
    }
    EACH_LANE {
        ret_at[k] = at[k];
    }
}

/* Evaluates LANES trees for one row; the last tree is repeated if there are fewer. */
static INLINED void walk_trees(const struct forest *forest, int32_t first, int32_t last,
                               const float *x, uint32_t ret_at[LANES]) {
    uint32_t at[LANES];
    int32_t depth = 0;
    EACH_LANE {
        int32_t tree = MIN(first + k, last - 1);
        at[k] = (uint32_t)forest->trees->roots[tree];
        depth = MAX(depth, forest->depths[tree]);
    }
    for (int32_t step = 0; step < depth; step++) {
        EACH_LANE {
            const struct forest_node *node = &forest->nodes[at[k]];
            at[k] = next_node(node, x[node->feature], true);
        }
    }
    EACH_LANE {
        ret_at[k] = at[k];
    }
}

/* ---- many rows ------------------------------------------------------------------------------- */

struct run {
    const struct forest *forest;
    const struct tensor *x;
    int64_t rows, columns;
    int64_t *labels;
    float *scores;
};

static INLINED float read_value(const struct tensor *x, int64_t index) {
    return x->type == TENSOR_FLOAT32 ? ((const float *)x->data)[index]
           : x->type == TENSOR_INT64 ? (float)((const int64_t *)x->data)[index]
                                     : (float)((const int32_t *)x->data)[index];
}

/* Transposes rows to columns, and adds a column of zeros for leaves. True: a value is missing. */
static bool fill_tile(const struct run *run, int64_t first, int64_t count, float *tile) {
    int64_t features = run->forest->trees->feature_count;
    bool is_missing = false;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t f = 0; f < features; f++) {
            float value = read_value(run->x, (first + i) * run->columns + f);
            is_missing |= value != value;
            tile[f * TILE + i] = value;
        }
    }
    return is_missing;
}

static INLINED void add_leaves(const struct forest *forest, int32_t tree, const uint32_t at[LANES],
                               double *sums /* [targets, TILE] */) {
    const struct forest_node *nodes = forest->nodes;
    if (forest->targets) {
        double *sum = sums + (size_t)forest->targets[tree] * TILE;
        for (int k = 0; k < LANES; k++) {
            sum[k] += forest->weights[nodes[at[k]].extra];
        }
        return;
    }
    size_t width = (size_t)forest->trees->target_count;
    for (int k = 0; k < LANES; k++) {
        const double *weights = forest->weights + (size_t)nodes[at[k]].extra * width;
        for (size_t j = 0; j < width; j++) {
            sums[j * TILE + (size_t)k] += weights[j];
        }
    }
}

static INLINED void score_tile(const struct forest *forest, int64_t count, const float *tile,
                               bool takes_missing, double *sums) {
    const struct ml_trees *trees = forest->trees;
    for (int32_t t = 0; t < trees->tree_count; t++) {
        for (int64_t i = 0; i < count; i += LANES) {
            uint32_t at[LANES];
            walk_rows(forest->nodes, (uint32_t)trees->roots[t], forest->depths[t], tile + i,
                      takes_missing, at);
            add_leaves(forest, t, at, sums + i);
        }
    }
}

static void finish_row(const struct run *run, int64_t row, double *sums) {
    const struct ml_trees *trees = run->forest->trees;
    cpu_ml_finish(trees, sums, run->labels ? run->labels + row : NULL,
                  run->scores ? run->scores + row * trees->target_count : NULL);
}

static void score_tiles(void *context, int64_t first, int64_t last) {
    const struct run *run = context;
    const struct forest *forest = run->forest;
    size_t targets = (size_t)forest->trees->target_count;
    size_t columns = (size_t)forest->trees->feature_count + 1;
    float *tile = x_calloc(columns * TILE, sizeof *tile);
    double *sums = x_calloc(targets * TILE, sizeof *sums), *row = x_calloc(targets, sizeof *row);
    int64_t end = MIN(last * LANES, run->rows);
    for (int64_t at = first * LANES; at < end; at += TILE) {
        int64_t count = MIN(end - at, TILE);
        memset(sums, 0, targets * TILE * sizeof *sums);
        if (fill_tile(run, at, count, tile)) {
            score_tile(forest, count, tile, true, sums);
        } else {
            score_tile(forest, count, tile, false, sums);
        }
        for (int64_t i = 0; i < count; i++) {
            for (size_t j = 0; j < targets; j++) {
                row[j] = sums[j * TILE + (size_t)i];
            }
            finish_row(run, at + i, row);
        }
    }
    free(tile);
    free(sums);
    free(row);
}

/* ---- few rows, or wide ones ------------------------------------------------------------------ */

/* A row followed by a zero, for leaves. */
static void fill_row(const struct run *run, int64_t row, float *values) {
    int64_t features = run->forest->trees->feature_count;
    for (int64_t f = 0; f < features; f++) {
        values[f] = read_value(run->x, row * run->columns + f);
    }
    values[features] = 0;
}

/* The leaf of each tree from first to last - 1. */
static void find_leaves(const struct forest *forest, int32_t first, int32_t last,
                        const float *values, int32_t *leaves /* [tree_count] */) {
    for (int32_t t = first; t < last; t += LANES) {
        uint32_t at[LANES];
        walk_trees(forest, t, last, values, at);
        for (int k = 0; k < MIN(LANES, last - t); k++) {
            leaves[t + k] = forest->nodes[at[k]].extra;
        }
    }
}

static void sum_leaves(const struct forest *forest, const int32_t *leaves, double *sums) {
    int64_t width = forest->trees->target_count;
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int32_t t = 0; t < forest->trees->tree_count; t++) {
        if (forest->targets) {
            sums[forest->targets[t]] += forest->weights[leaves[t]];
            continue;
        }
        for (int64_t j = 0; j < width; j++) {
            sums[j] += forest->weights[leaves[t] * width + j];
        }
    }
}

struct row {
    const struct run *run;
    float *values;
    double *sums;
    int32_t *leaves;
};

static void row_init(struct row *row, const struct run *run) {
    const struct ml_trees *trees = run->forest->trees;
    row->run = run;
    row->values = x_calloc((size_t)trees->feature_count + 1, sizeof *row->values);
    row->sums = x_calloc((size_t)trees->target_count, sizeof *row->sums);
    row->leaves = x_calloc((size_t)trees->tree_count, sizeof *row->leaves);
}

static void row_release(struct row *row) {
    free(row->values);
    free(row->sums);
    free(row->leaves);
}

static void score_rows(void *context, int64_t first, int64_t last) {
    const struct run *run = context;
    const struct forest *forest = run->forest;
    struct row row;
    row_init(&row, run);
    for (int64_t i = first; i < last; i++) {
        fill_row(run, i, row.values);
        find_leaves(forest, 0, forest->trees->tree_count, row.values, row.leaves);
        sum_leaves(forest, row.leaves, row.sums);
        finish_row(run, i, row.sums);
    }
    row_release(&row);
}

static void score_trees(void *context, int64_t first, int64_t last) {
    const struct row *row = context;
    find_leaves(row->run->forest, (int32_t)first, (int32_t)last, row->values, row->leaves);
}

/* All threads share each row. */
static void score_few(const struct run *run, struct threads *threads) {
    const struct forest *forest = run->forest;
    struct row row;
    row_init(&row, run);
    for (int64_t i = 0; i < run->rows; i++) {
        fill_row(run, i, row.values);
        threads_run(threads, forest->trees->tree_count, TREES_GRAIN, score_trees, &row);
        sum_leaves(forest, row.leaves, row.sums);
        finish_row(run, i, row.sums);
    }
    row_release(&row);
}

void forest_run(const struct forest *forest, struct threads *threads, const struct tensor *x,
                int64_t *labels, float *scores) {
    struct run run = {.forest = forest,
                      .x = x,
                      .rows = x->shape.rank == 1 ? 1 : x->shape.dims[0],
                      .columns = x->shape.dims[x->shape.rank - 1],
                      .labels = labels,
                      .scores = scores};
    if (run.rows < LANES) {
        score_few(&run, threads);
    } else if (forest->trees->feature_count > TILE_COLUMNS) {
        threads_run(threads, run.rows, 1, score_rows, &run);
    } else {
        threads_run(threads, (run.rows + LANES - 1) / LANES, 1, score_tiles, &run);
    }
}
