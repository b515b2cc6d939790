// SPDX-License-Identifier: Apache-2.0
#include "agent/train/optimizer.h"

#include "agent/train/fields.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 2 };

static const double lars_trust = 0.001;

struct optimizer {
    enum optimizer_kind kind;
    double momentum, decay, beta1, beta2, epsilon;
    bool nesterov;
    size_t count, state_count;
    struct parameter *parameters;
    float **states; /* [count, state_count] */
};

static int read_fields(const json_t *spec, struct optimizer *optimizer, double *ret_learning_rate,
                       struct error *err) {
    static const char *const kinds[] = {"SGD", "Adam", "LARS", NULL};
    int kind;
    if (fields_choice(spec, "kind", kinds, OPTIMIZER_SGD, &kind, err) < 0 ||
        fields_number(spec, "learningRate", (double[]){1e-12, 1e6}, 0, ret_learning_rate, err) <
            0 ||
        fields_number(spec, "momentum", (double[]){0, 0.9999}, kind ? 0.9 : 0, &optimizer->momentum,
                      err) < 0 ||
        fields_flag(spec, "nesterov", &optimizer->nesterov, err) < 0 ||
        fields_number(spec, "weightDecay", (double[]){0, 1}, 0, &optimizer->decay, err) < 0 ||
        fields_number(spec, "beta1", (double[]){0, 0.9999}, 0.9, &optimizer->beta1, err) < 0 ||
        fields_number(spec, "beta2", (double[]){0, 0.999999}, 0.999, &optimizer->beta2, err) < 0 ||
        fields_number(spec, "epsilon", (double[]){1e-12, 1}, 1e-8, &optimizer->epsilon, err) < 0) {
        return error_context(err, "optimizer");
    }
    optimizer->kind = (enum optimizer_kind)kind;
    if (optimizer->nesterov && (kind != OPTIMIZER_SGD || optimizer->momentum == 0)) {
        return error_set(err, ERROR_INVALID, "optimizer.nesterov: SGD with a momentum is expected");
    }
    return 0;
}

int optimizer_new(const json_t *spec, const struct parameter *parameters, size_t count,
                  struct optimizer **ret_optimizer, double *ret_learning_rate, struct error *err) {
    struct optimizer read = {.count = count};
    double learning_rate;
    if (read_fields(spec, &read, &learning_rate, err) < 0) {
        return -1;
    }
    bool has_momentum = read.kind == OPTIMIZER_LARS || read.momentum > 0;
    read.state_count = read.kind == OPTIMIZER_ADAM ? 2 : has_momentum;
    struct optimizer *optimizer = x_malloc(sizeof *optimizer);
    *optimizer = read;
    optimizer->parameters = x_calloc(count + 1, sizeof *optimizer->parameters);
    memcpy(optimizer->parameters, parameters, count * sizeof *parameters);
    optimizer->states = x_calloc(count * read.state_count + 1, sizeof *optimizer->states);
    for (size_t i = 0; i < count * read.state_count; i++) {
        optimizer->states[i] =
            x_calloc((size_t)parameters[i / read.state_count].count, sizeof(float));
    }
    *ret_optimizer = optimizer;
    *ret_learning_rate = learning_rate;
    return 0;
}

void optimizer_free(struct optimizer *optimizer) {
    if (optimizer) {
        for (size_t i = 0; i < optimizer->count * optimizer->state_count; i++) {
            free(optimizer->states[i]);
        }
        free(optimizer->states);
        free(optimizer->parameters);
        free(optimizer);
    }
}

void optimizer_freep(struct optimizer **optimizer) {
    optimizer_free(TAKE(*optimizer));
}

static void apply_plain(const struct parameter *parameter, float decay, float rate) {
    float *w = parameter->weights;
    const float *g = parameter->gradients;
#pragma omp simd
    for (int64_t i = 0; i < parameter->count; i++) {
        w[i] -= rate * (g[i] + decay * w[i]);
    }
}

/* ratio: LARS' q; 1 for SGD. */
static void apply_momentum(const struct optimizer *optimizer, const struct parameter *parameter,
                           float *v, float decay, float ratio, float rate) {
    float *w = parameter->weights;
    const float *g = parameter->gradients;
    float momentum = (float)optimizer->momentum;
    float ahead = optimizer->nesterov ? momentum : 1, own = optimizer->nesterov ? 1 : 0;
#pragma omp simd
    for (int64_t i = 0; i < parameter->count; i++) {
        float d = ratio * (g[i] + decay * w[i]);
        v[i] = momentum * v[i] + d;
        w[i] -= rate * (own * d + ahead * v[i]);
    }
}

static void apply_adam(const struct optimizer *optimizer, const struct parameter *parameter,
                       float *m, float *s, int64_t step, float decay, double rate) {
    float *w = parameter->weights;
    const float *g = parameter->gradients;
    double number = (double)(step + 1);
    float beta1 = (float)optimizer->beta1, rest1 = (float)(1 - optimizer->beta1);
    float beta2 = (float)optimizer->beta2, rest2 = (float)(1 - optimizer->beta2);
    float step_size = (float)(rate / (1 - pow(optimizer->beta1, number)));
    float unbias = (float)(1 / sqrt(1 - pow(optimizer->beta2, number)));
    float epsilon = (float)optimizer->epsilon;
#pragma omp simd
    for (int64_t i = 0; i < parameter->count; i++) {
        float d = g[i] + decay * w[i];
        m[i] = beta1 * m[i] + rest1 * d;
        s[i] = beta2 * s[i] + rest2 * d * d;
        w[i] -= step_size * m[i] / (sqrtf(s[i]) * unbias + epsilon);
    }
}

static double norm(const float *values, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)values[i] * values[i];
    }
    return sqrt(sum);
}

static double lars_ratio(const struct parameter *parameter, double decay) {
    double w = norm(parameter->weights, parameter->count);
    double g = norm(parameter->gradients, parameter->count);
    return parameter->decays && w > 0 && g > 0 ? lars_trust * w / (g + decay * w) : 1;
}

static void apply(struct optimizer *optimizer, size_t index, int64_t step, double rate) {
    const struct parameter *parameter = &optimizer->parameters[index];
    double decay = parameter->decays ? optimizer->decay : 0;
    float **states = optimizer->states + index * optimizer->state_count;
    if (optimizer->kind == OPTIMIZER_ADAM) {
        apply_adam(optimizer, parameter, states[0], states[1], step, (float)decay, rate);
    } else if (optimizer->state_count) {
        double ratio = optimizer->kind == OPTIMIZER_LARS ? lars_ratio(parameter, decay) : 1;
        apply_momentum(optimizer, parameter, states[0], (float)decay, (float)ratio, (float)rate);
    } else {
        apply_plain(parameter, (float)decay, (float)rate);
    }
}

void optimizer_apply(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                     double rate) {
    assert(first + count <= optimizer->count);
    for (size_t i = first; i < first + count; i++) {
        apply(optimizer, i, step, rate);
    }
}

size_t optimizer_state_count(const struct optimizer *optimizer) {
    return optimizer->state_count;
}

const char *optimizer_state_name(const struct optimizer *optimizer, size_t which) {
    static const char *const adam[STATES_MAX] = {"mean", "square"};
    assert(which < optimizer->state_count);
    return optimizer->kind == OPTIMIZER_ADAM ? adam[which] : "momentum";
}

float *optimizer_state(struct optimizer *optimizer, size_t parameter, size_t which) {
    assert(parameter < optimizer->count && which < optimizer->state_count);
    return optimizer->states[parameter * optimizer->state_count + which];
}
