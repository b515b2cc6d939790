/* training.h: training a network: the graph of a training step (forward pass, loss, backward pass),
 * the graph of an optimizer step, and running such graphs repeatedly. One thread at a time. */
#pragma once

#include "agent/engine/device.h"
#include "agent/engine/roles.h"

enum training_loss { TRAINING_CROSS_ENTROPY, TRAINING_MEAN_SQUARED };

struct training_options {
    enum training_loss loss;
    bool is_bfloat;  /* mixed precision: products read bfloat16 (ops/rewrite/bfloat.h) */
    float smoothing; /* label smoothing, 0 to 1; only for cross entropy */
    /* Patterns (fnmatch) of the names of weights that are not trained; each must match a constant.
     * A batch normalization whose scale is frozen uses its running statistics and does not change
     * them. */
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
 * 1 / (batch size of all ranks); and, only if the network has dropout, keys, int64 [n]: a random
 * number per sample and epoch. Its outputs are: the loss; for cross entropy, the number of correct
 * samples; one gradient per variable; mean and variance of each norm; the values of
 * training_options.keep. */
struct training_graph {
    struct graph graph;
    struct graph
        rounded; /* the network with its roundings to bfloat16; `graph` was built from it */
    size_t variable_count, norm_count;
    int *variables; /* values; in the network they are constants with the initial weights */
    struct training_norm *norms;
    struct roles roles;                         /* of all constants */
    size_t first_variable, target, scale, keys; /* indices of inputs; keys 0: there is none */
    size_t first_gradient, correct, first_kept; /* indices of outputs; correct 0: there is none */
};

/* Builds the graph of a training step. Variables are all float32 constants from which the loss is
 * reached, through whatever operators; roles.h has the exceptions. A weight that no gradient can
 * reach is refused, never left out. A softmax at the end of the network becomes a part of the cross
 * entropy. `network` must outlive the result, and its constants must not have been
 * folded (shape_fold_constants). The caller releases *ret_training. ERROR_UNSUPPORTED,
 * ERROR_INVALID: the network cannot be trained; the message names the weight and the node. */
NODISCARD int training_graph_build(const struct graph *network,
                                   const struct training_options *options,
                                   struct training_graph *ret_training, struct error *err);
void training_graph_release(struct training_graph *training);
/* Makes the graph of an evaluation: the network with the variables, then mean and variance of each
 * norm, as further inputs, so that they can change. `network` must outlive *ret_graph, which the
 * caller owns (graph_release). */
void training_graph_evaluation(const struct training_graph *training, const struct graph *network,
                               struct graph *ret_graph);

/* What a classifier's output is, judged by its last node. */
enum training_scores { TRAINING_LOGITS, TRAINING_PROBABILITIES, TRAINING_LOG_PROBABILITIES };
enum training_scores training_graph_scores(const struct graph *network);

/* w: weights, g: gradient, v: momentum, m and s: first and second moment; rate, first, ...: enum
 * optimizer_number. In all kinds d = g + decay w. */
enum optimizer_step_kind {
    OPTIMIZER_STEP_PLAIN,    /* w -= rate d */
    OPTIMIZER_STEP_MOMENTUM, /* v = first v + d;  w -= rate v; LARS: d times its ratio */
    OPTIMIZER_STEP_NESTEROV, /* likewise;  w -= rate (d + first v) */
    OPTIMIZER_STEP_ADAM      /* m = first m + rest_first d;  s = second s + rest_second d^2;
                                w -= rate m / (sqrt(s) unbias + epsilon) */
};

/* The numbers that all parameters share. They are inputs, because they change from step to step. */
enum optimizer_number {
    OPTIMIZER_RATE, /* the learning rate; for Adam divided by 1 - beta1^step */
    OPTIMIZER_FIRST,
    OPTIMIZER_REST_FIRST,
    OPTIMIZER_SECOND,
    OPTIMIZER_REST_SECOND,
    OPTIMIZER_UNBIAS,
    OPTIMIZER_EPSILON,
    OPTIMIZER_NUMBERS
};

/* One parameter: a tensor of weights. */
struct optimizer_step {
    const char *name; /* borrowed */
    int64_t count;    /* elements */
    float decay;      /* weight decay */
    float trust;      /* LARS: the ratio is trust |w| / (|g| + decay |w|); 0: no LARS */
};

/* Makes the graph of an optimizer step. Inputs: the numbers, float32 [OPTIMIZER_NUMBERS]; then for
 * each parameter weights, gradient, and the kind's states (v, or m and s), each float32 [count].
 * Outputs: for each parameter the new weights and states. The caller owns *ret_graph
 * (graph_release). */
void training_optimizer_graph(enum optimizer_step_kind kind, const struct optimizer_step *steps,
                              size_t count, struct graph *ret_graph);

/* A graph prepared for one combination of input shapes. Outputs can be bound to memory of the
 * caller: gradients are computed directly in the buffers that are sent to other ranks. A step is
 * one kernel call. */
struct training;

/* Called with the index of each step when it was started. A result of -1 ends the run. */
struct training_hook {
    int (*after)(void *context, size_t step, struct error *err);
    void *context;
};

/* inputs: as for training_run, but only types and shapes are used, and the elements of inputs on
 * which shapes depend. is_bound: for each output, whether it will be bound. `graph` and `device`
 * must outlive *ret_training, which the caller owns (training_free). Errors are those of
 * device_ops.prepare and alloc, and ERROR_INVALID: types or shapes do not fit. */
NODISCARD int training_open(struct device *device, const struct graph *graph,
                            const struct tensor *inputs, const bool *is_bound,
                            struct training **ret_training, struct error *err);
void training_free(struct training *training);
void training_freep(struct training **training);

/* Type and shape of an output, without data. */
struct tensor training_output(const struct training *training, size_t output);
/* The index of the step that completes a bound output: after it, a gradient can be sent to other
 * ranks. */
size_t training_made_at(const struct training *training, size_t output);
/* The (first) node that a step computes, for measurements; NULL: the step was fused into another
 * one and is not run. */
const struct node *training_node(const struct training *training, size_t step);
/* Binds an output; to be called for each one with is_bound before the first run. memory: device
 * memory of the output's size, 64-byte aligned; borrowed until the training is freed or the output
 * is bound again. */
void training_bind(struct training *training, size_t output, void *memory);
/* Binds an input to device memory, borrowed in the same way; inputs[input].data of training_run is
 * ignored then. An output may be bound to the same memory: it is updated in place (weights). */
void training_bind_input(struct training *training, size_t input, void *memory);

/* Runs all steps and waits for them. inputs: one tensor per input, in host memory; borrowed, not
 * changed. outputs: one tensor per output, filled in order: bound ones in device memory, others in
 * host memory that the training owns, valid until its next run. hook (NULL: none) is called for the
 * steps in the same order in every run. */
NODISCARD int training_run(struct training *training, const struct tensor *inputs,
                           struct tensor *outputs, const struct training_hook *hook,
                           struct error *err);
