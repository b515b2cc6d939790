/* optimizer.h: gradients -> new weights, in one pass over the weights. In the spec:
 *
 *   optimizer: {kind: SGD | Adam | AdamW | LAMB | LARS | RMSprop | Adagrad, learningRate: "0.05",
 *               momentum: "0.9", nesterov: true, weightDecay: "5e-5", beta1: "0.9", beta2: "0.999",
 *               epsilon: "1e-8", decoupledWeightDecay: true, noDecay: ["*.bias"],
 *               layerRates: [{weights: "encoder.*", factor: "0.1"}], clipNorm: "1", clipValue: "1"}
 *   ema: {decay: "0.999"}
 *
 * The fields of the first two lines are expected, the others may be absent; crds/disttrain.yaml has
 * bounds and defaults. g is the gradient after clipping.
 *
 *   SGD      d = g + decay w;  v = momentum v + d;  w -= rate v  (nesterov: rate (d + momentum v);
 *            Sutskever et al., 2013, in PyTorch's form)
 *   Adam     d = g + decay w;  m = beta1 m + (1 - beta1) d;  s = beta2 s + (1 - beta2) d^2;
 *            w -= rate m' / (sqrt(s') + epsilon);  m', s': divided by 1 - beta^step, the first
 *            being 1 (Kingma, Ba, 2015)
 *   AdamW    as Adam with decoupled decay (Loshchilov, Hutter, "Decoupled Weight Decay
 *            Regularization", 2019)
 *   LAMB     m, s, m', s' as Adam's, with d = g;  u = m' / (sqrt(s') + epsilon) + decay w;
 *            w -= rate (|w| / |u|) u, |.| being the Euclidean norm of a tensor (You et al., "Large
 *            Batch Optimization for Deep Learning", 2020, Algorithm 2, with its scaling function
 *            the identity, and the ratio 1 where |w| or |u| is 0, which the paper leaves open)
 *   LARS     d = q (g + decay w), q = 0.001 |w| / (|g| + decay |w|), 1 where |w| or |g| is 0 (You,
 *            Gitman, Ginsburg, 2017); then as SGD without nesterov
 *   RMSprop  d = g + decay w;  s = beta2 s + (1 - beta2) d^2;  w -= rate d / (sqrt(s) + epsilon)
 *            (Tieleman, Hinton, 2012)
 *   Adagrad  d = g + decay w;  s = s + d^2;  w -= rate d / (sqrt(s) + epsilon) (Duchi, Hazan,
 *            Singer, 2011)
 *
 * decoupledWeightDecay: d = g, and w is first multiplied by 1 - rate decay, as PyTorch's AdamW
 * does.
 *
 * Weights that match noDecay, without it tensors of rank 1 (biases, shifts and scales of norms),
 * do not decay, and their ratio in LARS and LAMB is 1. The rate of a weight is multiplied by the
 * factor of the first of layerRates that matches its name (Howard, Ruder, 2018).
 *
 * clipNorm: all gradients are multiplied by min(1, clipNorm / (norm + 1e-6)), norm being that of
 * all of them together, summed over the ranks (Pascanu, Mikolov, Bengio, 2013): the caller computes
 * the factor (optimizer_scale). clipValue: each element is limited to -clipValue..clipValue.
 *
 * ema: a moving average of the weights, which begins with those after the first step:
 * a += (1 - decay) (w - a) (Polyak, Juditsky, 1992; torch.optim.swa_utils).
 *
 * Norms are sums in double precision and in a fixed order: the same bits in every run.
 *
 * The device does the work: one graph of OptimizerStep nodes
 * (agent/engine/ops/infer/optimizer_step.h) for each group of parameters that is updated together.
 */
#pragma once

#include "agent/engine/device.h"

#include <jansson.h>

struct optimizer_parameter {
    const char *name; /* for noDecay, layerRates and messages; borrowed */
    float *weights;   /* of the device, as the gradients */
    float *gradients; /* of the gang's mean loss */
    int64_t count;
    bool decays; /* without noDecay; true unless its rank is 1 */
};

struct optimizer;

struct optimizer_options {
    const json_t *spec;    /* spec.trainer.optimizer, read in optimizer_new only */
    const json_t *ema;     /* spec.trainer.ema, too; NULL: no average */
    struct device *device; /* borrowed; not used before the first parameter */
    const struct optimizer_parameter
        *parameters; /* [count], copied; the memory they point to is borrowed */
    size_t count;
};

/* *ret_learning_rate is for the schedule (rate.h). INVALID names a field that is missing or wrong,
 * or a pattern that matches no name; other errors are the device's, such as EXHAUSTED. */
NODISCARD int optimizer_new(const struct optimizer_options *options,
                            struct optimizer **ret_optimizer, double *ret_learning_rate,
                            struct error *err);
void optimizer_free(struct optimizer *optimizer); /* accepts NULL */
void optimizer_freep(struct optimizer **optimizer);

/* clipNorm; 0: none. With it the caller calls optimizer_scale in each step before the first
 * optimizer_apply. */
double optimizer_clip_norm(const struct optimizer *optimizer);
/* Sets by what gradients are multiplied, from the norm of all of them. FAILED: it is not finite. */
NODISCARD int optimizer_scale(struct optimizer *optimizer, double norm, struct error *err);

/* Updates the parameters first..first + count - 1 from their gradients, synchronously, and then
 * their averages. step: of the training, from 0. Every step must use the same groups: each is
 * prepared once. */
NODISCARD int optimizer_apply(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                              double rate, struct error *err);

/* The number of state vectors per parameter, each of the parameter's size and 0 at the start:
 * "momentum", "mean", "square", "average". Checkpoints store them with the weights. */
size_t optimizer_state_count(const struct optimizer *optimizer);
const char *optimizer_state_name(const struct optimizer *optimizer, size_t which);
/* The address of a state vector, in device memory. */
float *optimizer_state(struct optimizer *optimizer, size_t parameter, size_t which);
/* The average of a parameter's weights, in device memory; NULL: there is none. */
float *optimizer_average(struct optimizer *optimizer, size_t parameter);
