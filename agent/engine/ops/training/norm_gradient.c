// SPDX-License-Identifier: Apache-2.0
/* Gradients of normalisations, dropout and softmax. */
#include "agent/engine/ops/training/gradient.h"

static int add_norm(struct gradient *gradient, const struct node *node, int mean, int variance) {
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0];
    if (dy < 0) {
        return 0;
    }
    int made =
        gradient_node_of(gradient, OP_NORM_GRADIENT, V(dy, x, node->inputs[1], mean, variance), 3);
    for (int i = 0; i < 3; i++) {
        gradient_add(gradient, node->inputs[i], made + i);
    }
    return 0;
}

/* Only y has a gradient, not the statistics. */
int gradient_norm_training(struct gradient *gradient, const struct node *node, struct error *err) {
    if (gradient_of(gradient, node->outputs[1]) >= 0 ||
        gradient_of(gradient, node->outputs[2]) >= 0) {
        return error_set(err, ERROR_UNSUPPORTED, "the statistics have a gradient");
    }
    return add_norm(gradient, node, node->outputs[1], node->outputs[2]);
}

int gradient_batch_normalization(struct gradient *gradient, const struct node *node,
                                 struct error *err) {
    if (gradient_wants(gradient, node->inputs[3]) || gradient_wants(gradient, node->inputs[4])) {
        return error_set(err, ERROR_UNSUPPORTED, "the statistics are variables");
    }
    return add_norm(gradient, node, node->inputs[3], node->inputs[4]);
}

int gradient_instance_normalization(struct gradient *gradient, const struct node *node,
                                    struct error *err UNUSED) {
    return add_norm(gradient, node, -1, -1);
}

/* The loss is the sum of the ranks' losses, and each of them reads the whole sum. */
int gradient_rank_sum(struct gradient *gradient, const struct node *node,
                      struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    gradient_add(gradient, node->inputs[0], gradient_node(gradient, OP_RANK_SUM, V(dy)));
    return 0;
}

/* The same keys drop the same elements of dy. */
int gradient_dropout_training(struct gradient *gradient, const struct node *node,
                              struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), keys = node->inputs[1];
    gradient_add(gradient, node->inputs[0],
                 gradient_node_of(gradient, OP_DROPOUT_TRAINING, V(dy, keys), 1));
    return 0;
}

int gradient_lrn(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0];
    gradient_add(gradient, x, gradient_node_of(gradient, OP_LRN_GRADIENT, V(dy, x), 1));
    return 0;
}

/* Softmax and LogSoftmax. */
int gradient_softmax(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    gradient_add(gradient, node->inputs[0],
                 gradient_node_of(gradient, OP_SOFTMAX_GRADIENT, V(dy, node->outputs[0]), 1));
    return 0;
}
