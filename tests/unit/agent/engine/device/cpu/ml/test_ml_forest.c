// SPDX-License-Identifier: Apache-2.0
/* Fast evaluation of trees against the plain one: the same bits, for any number of rows, columns,
 * threads and targets, with missing and infinite values and values equal to a threshold. */
#include "agent/engine/device/cpu/ml/ml_forest.h"

#include "agent/engine/device/cpu/ml/ml.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { TREES = 21, NODES_MAX = 301, TARGETS = 3, ROWS_MAX = 1100 };

static uint64_t state;

/* [0, below) */
static uint32_t draw(uint32_t below) {
    return (uint32_t)test_below(&state, below);
}

static double draw_half(void) {
    static const double odd[] = {-INFINITY, INFINITY, 0.1, 1e-50, -1e300, 1e300};
    return draw(8) ? (double)draw(9) / 2 - 2 : odd[draw(ARRAY_LEN(odd))];
}

/* kind 0: one weight a leaf, all for the same target in a tree; 1: several a leaf. */
static struct ml_trees *make(int32_t features, int kind, bool is_average) {
    struct ml_trees *trees = x_calloc(1, sizeof *trees);
    trees->tree_count = TREES;
    trees->target_count = TARGETS;
    trees->feature_count = features;
    trees->aggregate = is_average ? TREE_AVERAGE : TREE_SUM;
    trees->roots = x_calloc(TREES + 1, sizeof *trees->roots);
    trees->nodes = x_calloc(TREES * NODES_MAX, sizeof *trees->nodes);
    trees->weights = x_calloc(TREES * NODES_MAX * TARGETS, sizeof *trees->weights);
    trees->base = x_calloc(1, sizeof *trees->base);
    for (int32_t t = 0, next = 0; t < TREES; t++) {
        int32_t first = next, size = 1 + 2 * (int32_t)draw(NODES_MAX / 2), known = 1;
        trees->roots[t] = first;
        for (; next < first + known; next++) {
            struct tree_node *node = &trees->nodes[next];
            bool is_last = next + 1 == first + known; /* the only one that can still grow */
            if (known < size && (is_last || draw(3))) {
                uint8_t mode = draw(2) ? TREE_LEQ : TREE_LT;
                double value = draw_half();
                value = mode == TREE_LT && value == -INFINITY ? 0 : value;
                *node = (struct tree_node){value, (int32_t)draw((uint32_t)features), first + known,
                                           mode, draw(2)};
                known += 2;
                continue;
            }
            int32_t count = kind ? (int32_t)draw(TARGETS + 1) : 1;
            *node = (struct tree_node){0, count, trees->weight_count, TREE_LEAF, false};
            for (int32_t k = 0; k < count; k++) {
                trees->weights[trees->weight_count++] = (struct tree_weight){
                    kind ? (k + next) % TARGETS : t % TARGETS, (double)draw(1000) / 7 - 60};
            }
        }
        trees->node_count = trees->roots[t + 1] = next;
    }
    return trees;
}

static void fill(struct tensor *x) {
    int64_t count = shape_count(&x->shape);
    for (int64_t i = 0; i < count; i++) {
        tensor_put_number(x, i, draw(10) ? draw_half() : (double)NAN);
    }
}

static void plain(const struct ml_trees *trees, const struct tensor *x, float *scores) {
    int64_t rows = x->shape.dims[0], columns = x->shape.dims[1];
    double *row = x_calloc((size_t)columns, sizeof *row);
    for (int64_t i = 0; i < rows; i++) {
        double sums[TARGETS] = {0};
        cpu_ml_read(x, i * columns, columns, row);
        for (int32_t t = 0; t < trees->tree_count; t++) {
            const struct tree_node *leaf = ml_trees_leaf(trees, t, row);
            for (int32_t k = leaf->child; k < leaf->child + leaf->feature; k++) {
                sums[trees->weights[k].target] += trees->weights[k].value;
            }
        }
        cpu_ml_finish(trees, sums, NULL, scores + i * TARGETS);
    }
    free(row);
}

static void check_rows(const struct ml_trees *trees, const struct forest *forest,
                       struct threads *threads, int64_t rows, int64_t columns,
                       enum tensor_type type) {
    struct error err = {0};
    struct tensor x = {0};
    struct shape shape = {2, {rows, columns}};
    float *scores = x_calloc(ROWS_MAX * TARGETS, sizeof *scores);
    float *wanted = x_calloc(ROWS_MAX * TARGETS, sizeof *wanted);
    CHECK_OK(tensor_init(&x, type, &shape, &err), &err);
    fill(&x);
    plain(trees, &x, wanted);
    forest_run(forest, threads, &x, NULL, scores);
    if (memcmp(scores, wanted, ROWS_MAX * TARGETS * sizeof *scores) != 0) {
        printf("# %lld rows of %lld, %s: other bits\n", (long long)rows, (long long)columns,
               tensor_type_name(type));
        test_failures++;
    }
    tensor_release(&x);
    free(scores);
    free(wanted);
}

static void test_the_same_bits(void) {
    static const int64_t rows[] = {1, 2, 7, 8, 9, 63, 256, 257, 600};
    static const int32_t columns[] = {1, 6, 40, 700};
    static const enum tensor_type types[] = {TENSOR_FLOAT32, TENSOR_INT64, TENSOR_INT32};
    state = test_seed(1);
    for (int64_t round = 0; round < test_rounds(4); round++) {
        for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
            struct error err = {0};
            struct threads *threads = NULL;
            AUTO(ml_trees_freep) struct ml_trees *trees = make(columns[c], round & 1, round & 2);
            struct forest *forest = forest_new(trees);
            CHECK_OK(threads_new(1 + (int)(round % 3), &threads, &err), &err);
            CHECK(forest != NULL);
            for (size_t i = 0; forest && i < ARRAY_LEN(rows); i++) {
                check_rows(trees, forest, threads, rows[i], columns[c] + (int64_t)draw(3),
                           types[draw(ARRAY_LEN(types))]);
            }
            forest_free(forest);
            threads_free(threads);
        }
    }
}

static void test_what_it_cannot(void) {
    AUTO(ml_trees_freep) struct ml_trees *trees = make(5, 0, false);
    int32_t branch = 0;
    while (trees->nodes[branch].mode == TREE_LEAF) {
        branch++;
    }
    trees->nodes[branch].mode = TREE_EQ;
    CHECK(forest_new(trees) == NULL);
    trees->nodes[branch].mode = TREE_LT;
    trees->nodes[branch].value = -INFINITY;
    CHECK(forest_new(trees) == NULL);
    trees->nodes[branch].value = 0;
    trees->aggregate = TREE_MAX;
    CHECK(forest_new(trees) == NULL);
}

int main(void) {
    TEST(test_the_same_bits);
    TEST(test_what_it_cannot);
    return TEST_END();
}
