/* optimizer.h: gradients -> new weights, in one pass over the weights. In the spec:
 *
 *   optimizer: {kind: SGD | Adam | LARS, learningRate: "0.05", momentum: "0.9", nesterov: true,
 *               weightDecay: "5e-5", beta1: "0.9", beta2: "0.999", epsilon: "1e-8"}
 *
 *   SGD   d = g + decay w;  v = momentum v + d;  w -= rate v  (nesterov: rate (d + momentum v))
 *   Adam  d = g + decay w;  m = beta1 m + (1 - beta1) d;  s = beta2 s + (1 - beta2) d^2;
 *         w -= rate m' / (sqrt(s') + epsilon);  m', s': divided by 1 - beta^step, the first being 1
 *         (Kingma, Ba, 2015)
 *   LARS  d = q (g + decay w), q = 0.001 |w| / (|g| + decay |w|), 1 where |w| or |g| is 0 (You,
 *         Gitman, Ginsburg, 2017); then as SGD without nesterov
 *
 * Tensors of rank 1 (shifts, scales of norms) neither decay nor have a q other than 1. Sums of |w|
 * and |g| are in double precision and in a fixed order: the same bits in every run.
 *
 * The device does the work: one graph of OptimizerStep nodes
 * (agent/engine/ops/infer/optimizer_step.h) for each group of parameters that is updated together.
 */
#pragma once

#include "agent/engine/device.h"

#include <jansson.h>

struct optimizer_parameter {
    const char *name;
    float *weights;   /* of the device, as the gradients */
    float *gradients; /* of the gang's mean loss */
    int64_t count;
    bool decays; /* true unless its rank is 1 */
};

enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_LARS };

struct optimizer;

struct optimizer_options {
    const json_t *spec;    /* the object */
    struct device *device; /* borrowed; not used before the first parameter */
    const struct optimizer_parameter
        *parameters; /* [count], copied; the memory they point to is borrowed */
    size_t count;
};

/* *ret_learning_rate (positive) is for the schedule. INVALID names the field; other errors are the
 * device's. */
NODISCARD int optimizer_new(const struct optimizer_options *options,
                            struct optimizer **ret_optimizer, double *ret_learning_rate,
                            struct error *err);
void optimizer_free(struct optimizer *optimizer); /* NULL is fine */
void optimizer_freep(struct optimizer **optimizer);

/* Updates the parameters first..first + count - 1 from their gradients, synchronously. step: of the
 * training, from 0. Every step must use the same groups: each is prepared once. */
NODISCARD int optimizer_apply(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                              double rate, struct error *err);

/* The number of state vectors per parameter, each of the parameter's size and 0 at the start:
 * "momentum", "mean", "square". Checkpoints store them with the weights. */
size_t optimizer_state_count(const struct optimizer *optimizer);
const char *optimizer_state_name(const struct optimizer *optimizer, size_t which);
/* The address of a state vector, in device memory. */
float *optimizer_state(struct optimizer *optimizer, size_t parameter, size_t which);
