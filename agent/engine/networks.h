/* networks.h: built-in networks with random weights, for training from scratch. The input is
 * "input", float32 [n, channels, height, width]; the output is "logits", [n, classes], without a
 * softmax, which is part of the loss. Weights have the names that PyTorch uses (conv1.weight,
 * layer1.0.conv2.weight, fc.bias), so that users of PyTorch can select them by patterns.
 *
 *   cnn       3x3 16, 3x3 32 (each: norm, relu, 2x2 maximum), dense 128 (norm, relu), dense
 *   mlp       dense 256, 128 (relu), dense
 *   resnet18, resnet50   He et al., "Deep Residual Learning", 2015, the stride of a bottleneck in
 *             its 3x3; inputs with a side below 64 begin with 3x3 at stride 1 and without a pool
 *
 * Weights are uniformly distributed in +-sqrt(6 / fan-in) in front of relus (He et al., "Delving
 * Deep into Rectifiers", 2015), else in +-sqrt(3 / fan-in); the same seed gives the same bits on
 * every machine. Norms begin with scale 1, shift 0, mean 0, variance 1. */
#pragma once

#include "agent/engine/graph.h"

enum { NETWORKS_OPSET = 13, NETWORKS_CLASSES_MAX = 1 << 20, NETWORKS_SIDE_MAX = 4096 };

enum network_kind {
    NETWORK_CNN,
    NETWORK_MLP,
    NETWORK_RESNET18,
    NETWORK_RESNET50,
    NETWORK_KIND_COUNT
};

/* The enum network_kind of "CNN", "MLP", "ResNet18" or "ResNet50", ignoring case; -1: unknown. */
int network_kind_find(const char *name);

struct network_options {
    int64_t classes;  /* 1..NETWORKS_CLASSES_MAX */
    int64_t shape[3]; /* channels, height, width */
    uint64_t seed;    /* of the random weights */
    /* For tests; only cnn and mlp: tanh instead of relu, average instead of maximum pools, no
     * normalization. Then the network is a smooth function, so rounding differences between devices
     * do not grow during training. */
    bool is_smooth;
};

/* The caller owns *ret_graph (graph_release). ERROR_INVALID: the kind does not support these
 * options, or the input is too small for it. */
NODISCARD int network_new(enum network_kind kind, const struct network_options *options,
                          struct graph *ret_graph, struct error *err);
