/* ml_tree.h: compiles the attributes of TreeEnsembleRegressor, TreeEnsembleClassifier and, from
 * version 5 on, TreeEnsemble (ml_ensemble.h), which is a regressor here, to trees. All indices are
 * checked, and every node is reached exactly once from the root of its tree. */
#pragma once

#include "agent/engine/ops/ml/ml.h"

/* Which rows go to a node's first child. The other modes of the file become these with the children
 * exchanged. */
enum tree_mode { TREE_LEQ, TREE_LT, TREE_EQ, TREE_LEAF };

/* A tree's nodes are in breadth-first order, so the second child follows the first. */
struct tree_node {
    double value;       /* the feature is compared with it; not NaN */
    int32_t feature;    /* of a leaf: the number of its weights */
    int32_t child;      /* the first child; of a leaf: its first weight */
    uint8_t mode;       /* enum tree_mode */
    bool missing_first; /* NaN goes to the first child */
};

struct tree_weight {
    int32_t target;
    double value;
};

enum tree_aggregate { TREE_SUM, TREE_AVERAGE, TREE_MIN, TREE_MAX, TREE_AGGREGATE_COUNT };

struct ml_trees {
    int32_t tree_count, node_count, weight_count;
    int64_t target_count, feature_count; /* feature_count: the highest index that is read, plus 1 */
    int32_t *roots; /* [tree_count + 1]; index in nodes where each tree begins */
    struct tree_node *nodes;
    struct tree_weight *weights;
    enum tree_aggregate aggregate;
    enum ml_post post;
    double *base; /* [base_count] */
    size_t base_count;
    double row_steps; /* the maximum for one row: nodes visited plus weights added */
    /* For classifiers. */
    bool is_classifier;
    struct ml_labels labels; /* borrowed from the node */
    int32_t weighted_count;  /* the number of classes for which a leaf has a weight ... */
    bool is_second_weighted; /* ... and whether the second of two is one of them */
    bool is_positive;        /* no weight is below 0 */
    /* What a device made from the trees, once, and how to free it; NULL: nothing. */
    bool is_fast_tried;
    void *fast;
    void (*fast_free)(void *fast);
};

/* ERROR_INVALID says what is inconsistent. The caller owns *ret_trees; the node must outlive it. */
NODISCARD int ml_trees_read(const struct node *node, struct ml_trees **ret_trees,
                            struct error *err);
/* Returns the compiled trees of the node (node->made); if there are none, reads them now. Then the
 * caller must free *ret_own, which is otherwise NULL. */
NODISCARD int ml_trees_of(const struct node *node, struct ml_trees **ret_trees,
                          struct ml_trees **ret_own, struct error *err);
void ml_trees_free(struct ml_trees *trees);
void ml_trees_freep(struct ml_trees **trees);

/* The leaf that a row reaches; x: at least [feature_count]. */
const struct tree_node *ml_trees_leaf(const struct ml_trees *trees, int32_t tree, const double *x);
