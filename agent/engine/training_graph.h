/* training_graph.h: what is trained, and the graph of a step: forward, loss, backward. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/loss.h"

/* ---- which constants are trained ---- */

/* What becomes of a constant of floats on which the network's output depends, through any
 * operators. The graph decides; names are only a hint, and only for single numbers. */
enum role {
    ROLE_VARIABLE,  /* trained */
    ROLE_FROZEN,    /* a weight that a pattern of role_options names */
    ROLE_STATISTIC, /* running mean or variance of a batch normalization */
    ROLE_LITERAL,   /* of a Constant node: written into the formula; a buffer; frozen statistics;
                       ones and zeros that an exporter has put where a norm without them has scale
                       and shift. (If no initializer has more than one number these are weights.) */
    ROLE_NUMBER,    /* one number, named by an exporter, that no operator reads as its weight; an
                       exponent or epsilon. Not "onnx::Mul_12", of a parameter or buffer. */
    ROLE_MASK,      /* holds infinities, or the largest float32: it hides what it is added to */
    ROLE_SETTING,   /* only read as an operator's setting: limits of Clip, scales of Resize, the
                       padded number; or only its shape is read */
    ROLE_COUNT
};
struct role_of_constant {
    int value;
    enum role role;
};
struct roles { /* in the order of the values */
    size_t count;
    struct role_of_constant *constants;
};

struct role_amount {
    size_t tensors;
    int64_t elements; /* of these */
};
struct role_amount roles_amount(const struct roles *roles, const struct graph *network,
                                enum role role);

struct forms_list {
    size_t count;
    const char **names; /* borrowed from the network, in the made graph's memory; NULL: none */
};
/* What forms_normalize has changed or noticed, for people. */
struct forms {
    size_t norms, dropouts;     /* nodes that were in the form of training */
    size_t outputs;             /* of the network that were statistics of a batch, or masks */
    struct forms_list folded;   /* convolutions into which the exporter has folded a norm */
    struct forms_list tied;     /* weights that are one with another, or are read several times */
    struct forms_list kept;     /* norms in eval() among others in train(): statistics stay */
    struct forms_list computed; /* from weights by the exporter, and read as none */
    struct forms_list buffers;  /* look like a module's buffers, and are trained as weights */
};

/* Copies the network in the form of inference, in which a row does not depend on the other rows of
 * its batch: BatchNormalization that returns or uses statistics of the batch, Dropout with
 * training_mode, mask, or ratio 0. Each tensor that was written once because several were equal
 * (zeros, statistics) is a constant of its own; tied weights stay one, or are made one again where
 * the exporter has written one of them transposed. Buffers become literals (ROLE_LITERAL). Values
 * keep their indices. `network` must outlive *ret_graph (graph_release). UNSUPPORTED: another node
 * reads statistics of the batch. */
NODISCARD int forms_normalize(const struct graph *network, struct graph *ret_graph,
                              struct forms *ret_forms, struct error *err);

/* ---- the graph of a step ---- */

enum training_loss {
    TRAINING_CROSS_ENTROPY,
    TRAINING_MEAN_SQUARED,
    TRAINING_BINARY_CROSS_ENTROPY, /* of logits or sigmoids; targets from 0 to 1 */
    TRAINING_HUBER,                /* squared / 2 up to 1, linear beyond (SmoothL1) */
    TRAINING_CTC,                  /* sequences of labels (ctc_loss) */
    TRAINING_LOSS_COUNT
};
bool training_graph_has_classes(enum training_loss loss); /* targets are classes, not numbers */
enum { TRAINING_LOSSES_MAX = 8 };
struct training_options {
    enum training_loss loss;
    bool is_bfloat;   /* mixed precision: products read bfloat16 (ops/rewrite/bfloat.h) */
    bool is_synced;   /* norms use the statistics of all ranks' samples (RankSum, training.h) */
    float smoothing;  /* label smoothing, 0 to 1; only for cross entropy */
    bool has_ignored; /* cross entropy: places with this label do not count; CTC: it fills rows */
    int64_t ignored;
    int64_t blank;              /* CTC: the class of blanks */
    const float *class_weights; /* cross entropy: a factor for each class; borrowed; NULL: 1 */
    size_t class_weight_count;
    /* The losses of the network's further outputs, in their order (borrowed; of each only `loss`
     * and its fields count). They are summed, each with a scale of its own, in which a weight can
     * be. */
    const struct training_options *further;
    size_t further_count;
    /* Patterns (fnmatch) of the names of weights that are not trained; each must match a constant.
     * A norm whose scale or statistics are frozen, or literals, uses and keeps the running ones. */
    const char *const *freeze;
    size_t freeze_count;
    const char *const *keep; /* names of values that become outputs, too; for tests */
    size_t keep_count;
};

/* A batch normalization that uses the statistics of the batch. */
struct training_norm {
    int mean, variance; /* the network's constants (values) with the running statistics */
    size_t output;  /* the output with the batch's mean; the next one is its variance (biased) */
    float momentum; /* running = momentum * running + (1 - momentum) * batch, as in ONNX */
    const char *name;
};

/* The graph of a training step. Values have the same indices as in the network. Its inputs are, in
 * this order: those of the network; the variables (trained weights); target: int64 labels [n], or
 * for mean squared error the expected output; scale, one float32: the factor of loss and gradients,
 * 1 / (batch size of all ranks); target and scale of each further loss; and, only if the network
 * has dropout, keys, int64 [n]: a random number per sample and epoch; and, only if norms are
 * synced, share, one float32: 1 / (number of samples that all ranks compute at once). Its outputs
 * are: the loss, of several their sum; for cross entropy, the number of correct samples; of several
 * losses each one, and its number of correct samples (`losses`; the first one's comes once); one
 * gradient per variable; mean and variance of each norm; the values of training_options.keep. */
struct training_graph {
    struct graph graph;
    /* The network with composite operators written as others, and that with its roundings to
     * bfloat16, if there are any; `graph` was built from it. */
    struct graph decomposed, rounded;
    size_t variable_count, norm_count;
    int *variables; /* values; in the network they are constants with the initial weights */
    struct training_norm *norms;
    struct roles roles; /* of all constants */
    size_t loss_count;  /* one for each output of the network */
    struct {
        size_t target, scale, loss, correct; /* indices of inputs, of outputs; correct 0: none */
        enum training_ending ending;         /* of the network's output */
    } losses[TRAINING_LOSSES_MAX];
    size_t first_variable, target, scale;       /* indices of inputs; of the first loss */
    size_t keys, share;                         /* the same; 0: there is none */
    size_t first_gradient, correct, first_kept; /* indices of outputs; correct 0: there is none */
};

/* Builds the graph of a training step. enum role says what is trained; a weight that no gradient
 * can reach is refused, never left out. A softmax at the end becomes a part of the cross entropy,
 * and a sigmoid of the binary one, also behind nodes that only move their numbers. `network` must
 * outlive the result, and its constants must not have been folded (shape_fold_constants). The
 * caller releases *ret_training. UNSUPPORTED, INVALID: the network cannot be trained; the message
 * names the weight and the node. */
NODISCARD int training_graph_build(const struct graph *network,
                                   const struct training_options *options,
                                   struct training_graph *ret_training, struct error *err);
void training_graph_release(struct training_graph *training);
/* Makes the graph of an evaluation: the network with the variables, then mean and variance of each
 * norm, as further inputs, so that they can change. `training` must outlive *ret_graph, which the
 * caller owns (graph_release). */
void training_graph_evaluation(const struct training_graph *training, struct graph *ret_graph);
