/* training.h: training a network. Three parts: the graph of one training step (forward, loss,
 * backward), the graph of one optimizer step, and such graphs prepared to be run again and again.
 * One thread at a time. */
#pragma once

#include "agent/engine/device.h"
#include "agent/engine/graph.h"

/* ---- the graph of a training step ----------------------------------------------------------- */

/* Built from a network. Values keep their indices. Weights become inputs (variables), batch
 * normalization takes its training form, and losses, gradients and statistics become outputs. A
 * network that cannot be trained is refused; the error names the node. */
enum training_loss { TRAINING_CROSS_ENTROPY, TRAINING_MEAN_SQUARED };

struct training_options {
    enum training_loss loss;
    bool is_bfloat;            /* bfloat.h */
    float smoothing;           /* of labels, 0 to 1; only for cross entropy */
    const char *const *freeze; /* patterns (fnmatch) of weights that are not trained; a batch
                                  normalization whose scale is frozen keeps its statistics, too */
    size_t freeze_count;
    const char *const *keep; /* names of values that become outputs, for tests */
    size_t keep_count;
};

/* A batch normalization in training form. mean, variance: the network's constants that hold the
 * running statistics; output: index of the output with the batch's mean, which is followed by its
 * variance (not corrected: divided by n). */
struct training_norm {
    int mean, variance;
    size_t output;
    float momentum; /* as in ONNX: the share of the old statistics that a step keeps */
    const char *name;
};

/* inputs: those of the network, the variables, target (labels int64 [n], or the expected output),
 * scale (a factor for loss and gradients: 1 / batch size of the gang) and, with dropout, keys
 * (int64 [n]: a random number per sample, which differs in each epoch). outputs: loss, correct (for
 * cross entropy: number of correct samples), one gradient per variable, the norms' statistics, the
 * values of `keep`. */
struct training_graph {
    struct graph graph;
    struct graph rounded; /* the network with the marks of bfloat.h, from which `graph` was built */
    size_t variable_count, norm_count;
    int *variables; /* values; in the network they are constants with the initial weights */
    struct training_norm *norms;
    size_t first_variable, target, scale, keys; /* indices of inputs; keys 0: none */
    size_t first_gradient, correct, first_kept; /* of outputs; correct 0: none */
};

/* `network` must outlive the result. It must not have been folded (shape_fold_constants): folded
 * weights are not variables. Weights are the constants that Conv, ConvTranspose, Gemm, MatMul,
 * PRelu and normalizations read as weights, the embeddings of Gather, and biases added after
 * products, if the loss depends on them. A softmax at the end of the network becomes a part of the
 * cross entropy. ERROR_UNSUPPORTED and ERROR_INVALID name the node. */
NODISCARD int training_graph_build(const struct graph *network,
                                   const struct training_options *options,
                                   struct training_graph *ret_training, struct error *err);
void training_graph_release(struct training_graph *training);
/* The network with further inputs: the variables, then mean and variance of each norm. For
 * evaluation with weights that change. `network` must outlive the result, which the caller owns
 * (graph_release). */
void training_graph_evaluation(const struct training_graph *training, const struct graph *network,
                               struct graph *ret_graph);

/* What the last node of a classifier computes. */
enum training_scores { TRAINING_LOGITS, TRAINING_PROBABILITIES, TRAINING_LOG_PROBABILITIES };
enum training_scores training_graph_scores(const struct graph *network);

/* ---- the graph of an optimizer step --------------------------------------------------------- */

enum optimizer_step_kind {
    OPTIMIZER_STEP_PLAIN,    /* w -= rate d;  d = g + decay w */
    OPTIMIZER_STEP_MOMENTUM, /* v = first v + d;  w -= rate v; LARS: d times its ratio */
    OPTIMIZER_STEP_NESTEROV, /* likewise;  w -= rate (d + first v) */
    OPTIMIZER_STEP_ADAM      /* m = first m + rest_first d;  s = second s + rest_second d^2;
                                w -= rate m / (sqrt(s) unbias + epsilon) */
};

enum optimizer_number {
    OPTIMIZER_RATE, /* of Adam: divided by 1 - beta1^step */
    OPTIMIZER_FIRST,
    OPTIMIZER_REST_FIRST,
    OPTIMIZER_SECOND,
    OPTIMIZER_REST_SECOND,
    OPTIMIZER_UNBIAS,
    OPTIMIZER_EPSILON,
    OPTIMIZER_NUMBERS
};

/* One parameter: a tensor of weights that is updated at once. */
struct optimizer_step {
    const char *name; /* borrowed */
    int64_t count;
    float decay; /* of weights */
    float trust; /* LARS' factor of |w| / |g|; 0: none */
};

/* Inputs: the numbers (OPTIMIZER_NUMBERS floats), then weights, gradients and the kind's vectors
 * of each parameter. Outputs: weights and vectors of each. The caller owns the graph
 * (graph_release). */
void training_optimizer_graph(enum optimizer_step_kind kind, const struct optimizer_step *steps,
                              size_t count, struct graph *ret_graph);

/* ---- running -------------------------------------------------------------------------------- */

/* A graph prepared for one combination of input shapes. Some outputs, the gradients, are made in
 * the caller's memory: directly in the buffers that are sent to other ranks. */
struct training;

/* Called with the index of each step after it was started. */
struct training_hook {
    int (*after)(void *context, size_t step, struct error *err);
    void *context;
};

/* inputs: as for training_run; here only their shapes matter, and the elements of small ones that
 * shapes depend on. is_bound: one entry per output. `graph` and `device` outlive the training. */
NODISCARD int training_open(struct device *device, const struct graph *graph,
                            const struct tensor *inputs, const bool *is_bound,
                            struct training **ret_training, struct error *err);
void training_free(struct training *training);
void training_freep(struct training **training);

/* Type and shape of an output, without data. */
struct tensor training_output(const struct training *training, size_t output);
/* The index of the step that completes a bound output, so that early gradients can be sent
 * early. */
size_t training_made_at(const struct training *training, size_t output);
/* The node that a step computes, for measurements; NULL: none, another step has taken over its
 * work. */
const struct node *training_node(const struct training *training, size_t step);
/* To be called for each bound output before the first run. memory: device memory of its size,
 * 64-byte aligned, which must stay valid until the training is closed or other memory is bound. */
void training_bind(struct training *training, size_t output, void *memory);
/* Binds an input to device memory, such as weights. An output may be bound to the same memory: then
 * it is updated in place. */
void training_bind_input(struct training *training, size_t input, void *memory);

/* inputs[i] belongs to input i (borrowed, not changed). outputs[i] are filled: bound ones with
 * their memory, others with host memory that the training owns, valid until its next run. hook
 * (NULL: none) is called as each step is started, in the same order in every run. */
NODISCARD int training_run(struct training *training, const struct tensor *inputs,
                           struct tensor *outputs, const struct training_hook *hook,
                           struct error *err);
