/* ml_tree.h: the attributes of TreeEnsembleRegressor and -Classifier -> trees that can be walked:
 * every index is checked, every node is reached from its tree's root, once. */
#pragma once

#include "agent/engine/ops/ml/ml.h"

/* Which rows go to a node's first child. The other modes are these with the children changed over.
 */
enum tree_mode { TREE_LEQ, TREE_LT, TREE_EQ, TREE_LEAF };

/* A tree's nodes are by breadth, so the second child follows the first. */
struct tree_node {
    double value;    /* the feature is compared to it; a number, or infinite */
    int32_t feature; /* of a leaf: how many weights it has */
    int32_t child;   /* the first one; of a leaf: its first weight */
    uint8_t mode;
    bool missing_first; /* NaN goes to the first child */
};

struct tree_weight {
    int32_t target;
    double value;
};

enum tree_aggregate { TREE_SUM, TREE_AVERAGE, TREE_MIN, TREE_MAX };

struct trees {
    int32_t tree_count, node_count, weight_count;
    int64_t target_count, feature_count; /* features: the highest that is read, and 1 */
    int32_t *roots;                      /* [tree_count + 1]; where each tree begins in nodes */
    struct tree_node *nodes;
    struct tree_weight *weights;
    enum tree_aggregate aggregate;
    enum ml_post post;
    double *base; /* [base_count] */
    size_t base_count;
    double row_steps; /* at most, for one row: nodes that are passed and weights that are added */
    /* Of a classifier. */
    bool is_classifier;
    struct ml_labels labels; /* borrowed from the node */
    int32_t weighed_count;   /* how many classes weights are for ... */
    bool is_second_weighed;  /* ... and whether the second of two is one of them */
    bool is_positive;        /* no weight is below 0 */
    /* What a device has made of all this, once, and how that ends; NULL: nothing. */
    bool is_fast_tried;
    void *fast;
    void (*fast_free)(void *fast);
};

/* ERROR_INVALID says what does not fit. *ret_trees is the caller's; the node must outlive it. */
NODISCARD int trees_read(const struct node *node, struct trees **ret_trees, struct error *err);
/* Those that the node has (node->made), else read now: *ret_own is the caller's to free then, and
 * NULL otherwise. */
NODISCARD int trees_of(const struct node *node, struct trees **ret_trees, struct trees **ret_own,
                       struct error *err);
void trees_free(struct trees *trees);
void trees_freep(struct trees **trees);

/* The leaf that a row comes to; x: [feature_count] at least. */
const struct tree_node *trees_leaf(const struct trees *trees, int32_t tree, const double *x);
