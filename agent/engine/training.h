/* training.h: training a network. Three parts: the graph of one training step (forward, loss,
 * backward), the graph of one optimizer step, and such graphs prepared to be run again and again.
 * One thread at a time. */
#pragma once

#include "agent/engine/device.h"
#include "agent/engine/graph.h"

/* ---- the graph of a training step ----------------------------------------------------------- */

/* Made of a network. Values of the network keep their indices. Its weights become inputs
 * (variables), batch normalization takes its training form, and what is asked for becomes outputs.
 * What cannot be trained is refused by name. */
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
 * weights are not variables. Weights are the constants read as such by Conv, ConvTranspose, Gemm,
 * MatMul, PRelu and normalizations, the embeddings of Gather, and what is added behind products, as
 * far as the loss depends on them. A softmax that the network ends with is the cross entropy's.
 * ERROR_UNSUPPORTED or ERROR_INVALID name the node. */
NODISCARD int training_graph_build(const struct graph *network,
                                   const struct training_options *options,
                                   struct training_graph *ret_training, struct error *err);
void training_graph_release(struct training_graph *training);
/* The network with the variables and the norms' means and variances as inputs, in this order (of
 * each norm: mean, variance), behind its own: for evaluation with weights that change. `network`
 * must outlive the result, which is the caller's (graph_release). */
void training_graph_evaluation(const struct training_graph *training, const struct graph *network,
                               struct graph *ret_graph);

/* What a classifier ends with. */
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

/* One parameter: so many weights, moved at once. */
struct optimizer_step {
    const char *name; /* borrowed */
    int64_t count;
    float decay; /* of weights */
    float trust; /* LARS' factor of |w| / |g|; 0: none */
};

/* Inputs: the numbers (OPTIMIZER_NUMBERS floats), then weights, gradients and the kind's vectors of
 * each parameter. Outputs: weights and vectors of each. The graph is the caller's (graph_release).
 */
void training_optimizer_graph(enum optimizer_step_kind kind, const struct optimizer_step *steps,
                              size_t count, struct graph *ret_graph);

/* ---- running -------------------------------------------------------------------------------- */

/* A graph prepared for one combination of input shapes, some of whose outputs, the gradients, are
 * made in memory of the caller's: straight into the buffers that are sent. */
struct training;

/* Called after each step that has been started, with its index. */
struct plan_hook {
    int (*after)(void *context, size_t step, struct error *err);
    void *context;
};

/* inputs: as training_run's; here their shapes count, and the numbers of small ones that shapes
 * depend on. is_bound: one entry per output. `graph` and `device` outlive the training. */
NODISCARD int training_open(struct device *device, const struct graph *graph,
                            const struct tensor *inputs, const bool *is_bound,
                            struct training **ret_training, struct error *err);
void training_free(struct training *training);
void training_freep(struct training **training);

/* What an output is: type and shape; no data. */
struct tensor training_output(const struct training *training, size_t output);
/* The index of the step that completes a bound output: what is made early is sent early. */
size_t training_made_at(const struct training *training, size_t output);
/* What a step computes, for who measures; NULL: nothing, its work was taken over by another. */
const struct node *training_node(const struct training *training, size_t step);
/* For each bound output before the first run: device memory of its size, 64-byte aligned, which
 * stays until the end or until another is bound. */
void training_bind(struct training *training, size_t output, void *memory);
/* An input that is in device memory and is read there: weights, say (an output may be bound to
 * the same memory: it is changed in place). */
void training_bind_input(struct training *training, size_t input, void *memory);

/* inputs[i] belongs to input i (borrowed, not changed). outputs[i] are filled: bound ones with
 * their memory, others with host memory of the training's, valid until its next run. hook (NULL:
 * none) is called as the steps are started, in their order, the same in every run. */
NODISCARD int training_run(struct training *training, const struct tensor *inputs,
                           struct tensor *outputs, const struct plan_hook *hook, struct error *err);
