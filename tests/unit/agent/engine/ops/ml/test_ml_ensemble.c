// SPDX-License-Identifier: Apache-2.0
/* TreeEnsemble of ai.onnx.ml 5: leaves apart, sets of members, numbered modes; and hostile lists.
 */
#include "agent/engine/ops/ml/ml_tree.h"
#include "tests/test.h"

#include <math.h>

enum { NODES = 3, LEAVES = 4, INTEGERS = 9, ENTRIES = 4 };

/* x0 <= 1 ? 10 : (x1 in {2, 5} ? 20 : 30); and a tree of one leaf, 40. */
static const struct {
    const char *name;
    size_t count;
    int64_t integers[ENTRIES];
} sound[INTEGERS] = {
    {"nodes_featureids", NODES, {0, 1, 0}},
    {"nodes_truenodeids", NODES, {0, 1, 3}},
    {"nodes_trueleafs", NODES, {1, 1, 1}},
    {"nodes_falsenodeids", NODES, {1, 2, 3}},
    {"nodes_falseleafs", NODES, {0, 1, 1}},
    {"nodes_missing_value_tracks_true", NODES, {0, 1, 0}},
    {"leaf_targetids", LEAVES, {0, 0, 0, 1}},
    {"tree_roots", 2, {0, 2}},
    {"n_targets", 1, {2}},
};

struct ensemble {
    struct node node;
    struct attribute attributes[INTEGERS + 5];
    int64_t integers[INTEGERS][ENTRIES];
    uint8_t modes[NODES];
    float splits[NODES], weights[LEAVES], members[3];
};

static struct attribute tensor_of(const char *name, enum tensor_type type, int64_t count,
                                  void *data) {
    return (struct attribute){
        .name = name, .kind = ATTRIBUTE_TENSOR, .tensor = {type, {1, {count}}, data, false}};
}

static void make(struct ensemble *ensemble) {
    size_t count = 0;
    *ensemble = (struct ensemble){.modes = {0, 6, 0},
                                  .splits = {1, 0, 0},
                                  .weights = {10, 20, 30, 40},
                                  .members = {2, 5, NAN}};
    for (size_t i = 0; i < INTEGERS; i++) {
        memcpy(ensemble->integers[i], sound[i].integers, sizeof sound[i].integers);
        ensemble->attributes[count++] = (struct attribute){.name = sound[i].name,
                                                           .kind = ATTRIBUTE_INTEGERS,
                                                           .count = sound[i].count,
                                                           .integers = ensemble->integers[i]};
    }
    ensemble->attributes[INTEGERS - 1] =
        (struct attribute){.name = "n_targets", .kind = ATTRIBUTE_INTEGER, .integer = 2};
    ensemble->attributes[count++] = tensor_of("nodes_modes", TENSOR_UINT8, NODES, ensemble->modes);
    ensemble->attributes[count++] =
        tensor_of("nodes_splits", TENSOR_FLOAT32, NODES, ensemble->splits);
    ensemble->attributes[count++] =
        tensor_of("leaf_weights", TENSOR_FLOAT32, LEAVES, ensemble->weights);
    ensemble->attributes[count++] =
        tensor_of("membership_values", TENSOR_FLOAT32, 3, ensemble->members);
    ensemble->attributes[count++] =
        (struct attribute){.name = "post_transform", .kind = ATTRIBUTE_INTEGER, .integer = 0};
    ensemble->node = (struct node){.op = ml_table_find("TreeEnsemble", 5),
                                   .name = "forest",
                                   .opset = 5,
                                   .input_count = 1,
                                   .output_count = 1,
                                   .attribute_count = count,
                                   .attributes = ensemble->attributes};
}

static struct attribute *list(struct ensemble *ensemble, const char *name) {
    size_t i = 0;
    while (strcmp(ensemble->attributes[i].name, name) != 0) {
        i++;
    }
    return &ensemble->attributes[i];
}

static void test_rows_reach_their_leaves(void) {
    static const struct {
        double x[2], wanted;
    } rows[] = {{{1, 2}, 10},   {{1.5, 2}, 20}, {{1.5, 5}, 20},
                {{1.5, 3}, 30}, {{2, NAN}, 20}, {{NAN, 5}, 20}};
    struct ensemble ensemble;
    struct error err = {0};
    AUTO(ml_trees_freep) struct ml_trees *trees = NULL;
    make(&ensemble);
    CHECK_OK(ml_trees_read(&ensemble.node, &trees, &err), &err);
    for (size_t i = 0; trees && i < ARRAY_LEN(rows); i++) {
        const struct tree_node *leaf = ml_trees_leaf(trees, 0, rows[i].x);
        CHECK_INT(leaf->feature, 1);
        CHECK(trees->weights[leaf->child].value == rows[i].wanted);
        leaf = ml_trees_leaf(trees, 1, rows[i].x);
        CHECK(trees->weights[leaf->child].value == 40 && trees->weights[leaf->child].target == 1);
    }
    CHECK(trees && trees->feature_count == 2 && trees->tree_count == 2);
    CHECK(trees && !trees->is_classifier && trees->target_count == 2);
}

/* Changes one entry; with at = -1 the list gets `value` entries. */
static const struct {
    const char *list;
    int at;
    int64_t value;
    const char *said;
} broken[] = {
    {"nodes_truenodeids", 0, 4, "tree 0: there is no leaf 4 of 4"},
    {"nodes_falsenodeids", 0, 3, "tree 0: there is no node 3 of 3"},
    {"nodes_falsenodeids", 0, -1, "tree 0: there is no node -1 of 3"},
    {"nodes_falsenodeids", 0, 0, "or a branch that leads to itself"},
    {"tree_roots", 1, 9, "tree 1: there is no node 9 of 3"},
    {"leaf_targetids", 1, 2, "is for target or class 2 of 2"},
    {"nodes_featureids", 0, -1, "invalid feature id -1"},
    {"nodes_trueleafs", -1, 2, "\"nodes_trueleafs\" has 2 entries, 3 are expected"},
    {"nodes_featureids", -1, 0, "\"nodes_featureids\" has 0 entries, 1 to"},
    {"leaf_targetids", -1, 3, "\"leaf_weights\" has 4 entries, 3 are expected"},
    {"tree_roots", -1, 0, "at least one of each is expected"},
};

static void check_said(const struct ensemble *ensemble, const char *said) {
    struct error err = {0};
    AUTO(ml_trees_freep) struct ml_trees *trees = NULL;
    CHECK_INT(ml_trees_read(&ensemble->node, &trees, &err), -1);
    CHECK(strstr(err.text, said));
    error_clear(&err);
}

static void test_broken_lists(void) {
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct ensemble ensemble;
        make(&ensemble);
        struct attribute *attribute = list(&ensemble, broken[i].list);
        if (broken[i].at < 0) {
            attribute->count = (size_t)broken[i].value;
        } else {
            ensemble.integers[attribute - ensemble.attributes][broken[i].at] = broken[i].value;
        }
        check_said(&ensemble, broken[i].said);
    }
}

static void test_what_is_not_supported(void) {
    struct ensemble ensemble;
    make(&ensemble);
    ensemble.modes[0] = 7;
    check_said(&ensemble, "node 0: mode 7 is not known");
    make(&ensemble);
    ensemble.members[0] = NAN;
    check_said(&ensemble, "node 1: attribute \"membership_values\" has no set for it");
    make(&ensemble);
    list(&ensemble, "nodes_splits")->tensor.type = TENSOR_FLOAT64;
    check_said(&ensemble, "attribute \"nodes_splits\" is float64, only float32 is supported");
    make(&ensemble);
    list(&ensemble, "post_transform")->integer = 1;
    check_said(&ensemble, "is 1, which is softmax to the standard and logistic to ONNX Runtime");
}

int main(void) {
    TEST(test_rows_reach_their_leaves);
    TEST(test_broken_lists);
    TEST(test_what_is_not_supported);
    return TEST_END();
}
