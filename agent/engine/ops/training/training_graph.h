/* training_graph.h: a network -> the graph of one training step: forward, loss, backward. Values of
 * the network keep their indices. Its weights become inputs (variables), batch normalization its
 * training form, and what is asked for becomes outputs. What it cannot train is refused by name. */
#pragma once

#include "agent/engine/graph/graph.h"

enum training_loss { TRAINING_CROSS_ENTROPY, TRAINING_MEAN_SQUARED };

struct training_options {
    enum training_loss loss;
    bool is_bfloat;            /* bfloat.h */
    float smoothing;           /* of labels, 0 to 1; cross entropy alone */
    const char *const *freeze; /* patterns (fnmatch) of weights that stay as they are; a batch
                                  normalization whose scale stays keeps its statistics, too */
    size_t freeze_count;
    const char *const *keep; /* names of values that shall be outputs, for tests */
    size_t keep_count;
};

/* A batch normalization in training form. mean, variance: the network's constants, which the
 * batches' are to be averaged into; output: index of the outputs of the batch's mean, followed by
 * that of its variance (not corrected: divided by n). */
struct training_norm {
    int mean, variance;
    size_t output;
    float momentum; /* ONNX's: what stays of the old statistics in a step */
    const char *name;
};

/* inputs: the network's own, the variables, then target (labels int64 [n], or what the output shall
 * be) and scale (a number that loss and gradients are multiplied with: 1 / the gang's batch), and
 * where there is dropout keys (int64 [n]: a random number for each sample, another in each epoch).
 * outputs: loss, correct (of a cross entropy: how many samples), one gradient per variable, the
 * norms' statistics, what was to be kept. */
struct training_graph {
    struct graph graph;
    struct graph rounded; /* the network with bfloat.h's marks, of which `graph` was made */
    size_t variable_count, norm_count;
    int *variables; /* values; constants in the network, which holds what they begin with */
    struct training_norm *norms;
    size_t first_variable, target, scale, keys; /* indices of inputs; keys 0: none */
    size_t first_gradient, correct, first_kept; /* of outputs; correct 0: there is none */
};

/* `network` must outlive the result. It must not have been folded (shape_fold_constants): folded
 * weights are no variables. Weights are the constants read as such by Conv, ConvTranspose, Gemm,
 * MatMul, PRelu and normalizations, the embeddings of Gather, and what is added behind products, as
 * far as the loss depends on them. A softmax that the network ends with is the cross entropy's.
 * ERROR_UNSUPPORTED or ERROR_INVALID name the node. */
NODISCARD int training_graph_build(const struct graph *network,
                                   const struct training_options *options,
                                   struct training_graph *ret_training, struct error *err);
void training_graph_release(struct training_graph *training);
