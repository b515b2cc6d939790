/* training.h: training a network: the graph of an optimizer step, and running it and the graph of a
 * training step (training_graph.h) repeatedly. Implemented in run/training.c and ops/training/. One
 * thread at a time. */
#pragma once

#include "agent/engine/device.h"
#include "agent/engine/training_graph.h"

/* w: weights, g: gradient, v: momentum, m and s: first and second moment; rate, beta1, ...: enum
 * optimizer_number. g is multiplied by `gradient` and then limited to -limit..limit; NaN stays NaN.
 * In all kinds d = g + decay w, and w is first multiplied by 1 - rate decoupled_decay; rate is that
 * of all parameters times the parameter's factor. */
enum optimizer_step_kind {
    OPTIMIZER_STEP_PLAIN,    /* w -= rate d */
    OPTIMIZER_STEP_MOMENTUM, /* v = beta1 v + d;  w -= rate v; LARS: d times its ratio */
    OPTIMIZER_STEP_NESTEROV, /* v = beta1 v + d;  w -= rate (d + beta1 v) */
    /* m = beta1 m + one_minus_beta1 d;  s = beta2 s + one_minus_beta2 d^2;
     * w -= rate bias_correction1 m / (sqrt(s) bias_correction2 + epsilon) */
    OPTIMIZER_STEP_ADAM,
    /* m = beta1 m + one_minus_beta1 g;  s = beta2 s + one_minus_beta2 g^2;
     * u = bias_correction1 m / (sqrt(s) bias_correction2 + epsilon) + decay w;
     * w -= rate ratio u (You et al., 2020, Algorithm 2) */
    OPTIMIZER_STEP_LAMB,
    OPTIMIZER_STEP_SQUARE /* s = beta2 s + one_minus_beta2 d^2;
                             w -= rate d / (sqrt(s) + epsilon) */
};

/* The numbers that all parameters share. They are inputs, because they change from step to step. */
enum optimizer_number {
    OPTIMIZER_RATE,  /* the learning rate */
    OPTIMIZER_BETA1, /* or the momentum */
    OPTIMIZER_ONE_MINUS_BETA1,
    OPTIMIZER_BETA2,
    OPTIMIZER_ONE_MINUS_BETA2,  /* 1 where squares are summed (Adagrad) */
    OPTIMIZER_BIAS_CORRECTION1, /* 1 / (1 - beta1^step) */
    OPTIMIZER_BIAS_CORRECTION2, /* 1 / sqrt(1 - beta2^step) */
    OPTIMIZER_EPSILON,
    OPTIMIZER_GRADIENT, /* factor of gradients: of clipping by their norm; else 1 */
    OPTIMIZER_LIMIT,    /* of a gradient's element; INFINITY: none */
    OPTIMIZER_NUMBERS
};

/* One parameter: a tensor of weights. */
struct optimizer_step {
    const char *name; /* borrowed */
    int64_t count;    /* elements */
    float decay;      /* weight decay, in the gradient */
    float decoupled_decay;
    float factor; /* of the rate */
    float trust;  /* LARS: the ratio is trust |w| / (|g| + decay |w|); LAMB: trust |w| / |u|;
                     1 where a norm is 0. 0: the ratio is 1 */
};

/* Makes the graph of an optimizer step. Inputs: the numbers, float32 [OPTIMIZER_NUMBERS]; then for
 * each parameter weights, gradient, and the kind's states (v, or m and s), each float32 [count].
 * Outputs: for each parameter the new weights and states. The caller owns *ret_graph
 * (graph_release). */
void training_optimizer_graph(enum optimizer_step_kind kind, const struct optimizer_step *steps,
                              size_t count, struct graph *ret_graph);

/* Makes the graph of the Euclidean norm of count numbers: one input, float32 [count], one output,
 * float32 [1]. Its sum is in double precision. */
void training_optimizer_norm_graph(int64_t count, struct graph *ret_graph);
/* Makes the graph that adds: inputs a and b, float32 [count], one output, a + b. */
void training_optimizer_sum_graph(int64_t count, struct graph *ret_graph);

/* Finds where the samples are in what each dropout reads (sequences first, heads of attention), and
 * notes it in its nodes. To be called once, before training_open, with the types and shapes of the
 * network's inputs; their first axis is the samples', of the size that a step has: it matters only
 * for networks that run with no other. ERROR_UNSUPPORTED: names a
 * dropout of which the graph does not show this. */
NODISCARD int training_place_samples(struct training_graph *training, const struct tensor *samples,
                                     struct error *err);

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
NODISCARD int training_open(struct device *device, struct graph *graph, const struct tensor *inputs,
                            const bool *is_bound, struct training **ret_training,
                            struct error *err);
void training_free(struct training *training);
void training_freep(struct training **training);

/* Type and shape of an output, without data. */
struct tensor training_output(const struct training *training, size_t output);
/* The same of the scores that a loss reads, which need not be an output; loss: the loss's output.
 */
struct tensor training_scores(const struct training *training, size_t loss);
/* The index of the step that completes a bound output: after that step a gradient can be sent to
 * other ranks. */
size_t training_ready_step(const struct training *training, size_t output);
/* The (first) node that a step computes, for measurements: its operator and its name in the model,
 * which may be NULL; both are borrowed. False: the step was fused into another one and is not run.
 */
bool training_step_node(const struct training *training, size_t step, const char **ret_operator,
                        const char **ret_name);
/* The number of steps. */
size_t training_step_count(const struct training *training);
/* Whether a step makes one of the sums over ranks (training_options.is_synced): *ret_sum is then
 * this rank's part, in device memory, and the hook must replace it by the sum of all ranks' parts
 * before the next step. Every rank has these steps in the same order, with the same sizes. */
bool training_is_rank_sum(const struct training *training, size_t step, struct tensor *ret_sum);
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
