/* ml_ensemble.h: reads the attributes of TreeEnsemble (ai.onnx.ml 5), whose leaves, membership
 * tests and numbered modes differ, as the lists of the older operators (ml_tree.h). */
#pragma once

#include "agent/engine/graph/node.h"

/* Numbers of modes. In the file LEAF is MEMBER, which is unfolded here. */
enum ensemble_mode {
    ENSEMBLE_LEQ,
    ENSEMBLE_LT,
    ENSEMBLE_GTE,
    ENSEMBLE_GT,
    ENSEMBLE_EQ,
    ENSEMBLE_NEQ,
    ENSEMBLE_LEAF
};

/* One entry for each node, leaves included, or for each weight. */
struct ensemble_lists {
    size_t nodes, weights;
    int64_t *trees, *ids, *features, *yes, *no, *missing;
    uint8_t *modes;
    double *values;
    int64_t *weight_trees, *weight_ids, *weight_targets;
    double *weight_values;
};

bool ml_is_ensemble(const struct node *node);
/* INVALID: what is inconsistent; UNSUPPORTED: other numbers than float32. The caller releases
 * *ret_lists. */
NODISCARD int ensemble_lists_read(const struct node *node, struct ensemble_lists *ret_lists,
                                  struct error *err);
void ensemble_lists_release(struct ensemble_lists *lists); /* for AUTO, too */
