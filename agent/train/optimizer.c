// SPDX-License-Identifier: Apache-2.0
#include "agent/train/optimizer.h"

#include "agent/engine/training.h"
#include "agent/train/dataset/fields.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 2 };

static const float lars_trust = 0.001f;

/* Parameters that are updated together. */
struct group {
    size_t first, count;
    struct graph graph;
    struct training *training;
    struct tensor *inputs, *outputs;
};

struct optimizer {
    enum optimizer_kind kind;
    double momentum, decay, beta1, beta2, epsilon;
    bool nesterov;
    struct device *device;
    size_t count, state_count;
    struct optimizer_parameter *parameters;
    float **states; /* [count, state_count] */
    size_t group_count;
    struct group **groups;
    float numbers[OPTIMIZER_NUMBERS]; /* for this step */
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

/* ---- life ----------------------------------------------------------------------------------- */

static int make_states(struct optimizer *optimizer, struct error *err) {
    const struct device_ops *ops = optimizer->device ? optimizer->device->ops : NULL;
    for (size_t i = 0; i < optimizer->count * optimizer->state_count; i++) {
        size_t bytes = (size_t)optimizer->parameters[i / optimizer->state_count].count * 4;
        void *memory;
        if (ops->alloc(optimizer->device, bytes, &memory, err) < 0) {
            return -1;
        }
        optimizer->states[i] = memory;
        if (ops->zero(optimizer->device, memory, bytes, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int optimizer_new(const struct optimizer_options *options, struct optimizer **ret_optimizer,
                  double *ret_learning_rate, struct error *err) {
    struct optimizer read = {.count = options->count, .device = options->device};
    double learning_rate;
    if (read_fields(options->spec, &read, &learning_rate, err) < 0) {
        return -1;
    }
    bool has_momentum = read.kind == OPTIMIZER_LARS || read.momentum > 0;
    read.state_count = read.kind == OPTIMIZER_ADAM ? 2 : has_momentum;
    AUTO(optimizer_freep) struct optimizer *optimizer = x_malloc(sizeof *optimizer);
    *optimizer = read;
    optimizer->parameters = x_calloc(read.count + 1, sizeof *optimizer->parameters);
    if (read.count) {
        memcpy(optimizer->parameters, options->parameters,
               read.count * sizeof *options->parameters);
    }
    optimizer->states = x_calloc(read.count * read.state_count + 1, sizeof *optimizer->states);
    if (make_states(optimizer, err) < 0) {
        return -1;
    }
    *ret_optimizer = TAKE(optimizer);
    *ret_learning_rate = learning_rate;
    return 0;
}

static void group_free(struct group *group) {
    training_free(group->training);
    graph_release(&group->graph);
    free(group->inputs);
    free(group->outputs);
    free(group);
}

void optimizer_free(struct optimizer *optimizer) {
    if (!optimizer) {
        return;
    }
    for (size_t i = 0; i < optimizer->group_count; i++) {
        group_free(optimizer->groups[i]);
    }
    for (size_t i = 0; i < optimizer->count * optimizer->state_count; i++) {
        if (optimizer->states[i]) {
            optimizer->device->ops->free(optimizer->device, optimizer->states[i]);
        }
    }
    free(optimizer->groups);
    free(optimizer->states);
    free(optimizer->parameters);
    free(optimizer);
}

void optimizer_freep(struct optimizer **optimizer) {
    optimizer_free(TAKE(*optimizer));
}

/* ---- groups --------------------------------------------------------------------------------- */

static enum optimizer_step_kind kind_of(const struct optimizer *optimizer) {
    return optimizer->kind == OPTIMIZER_ADAM ? OPTIMIZER_STEP_ADAM
           : optimizer->state_count == 0     ? OPTIMIZER_STEP_PLAIN
           : optimizer->nesterov             ? OPTIMIZER_STEP_NESTEROV
                                             : OPTIMIZER_STEP_MOMENTUM;
}

/* The memory of weights (0), gradients (1) and states (2...) of a parameter. */
static void *memory_of(const struct optimizer *optimizer, size_t index, size_t which) {
    const struct optimizer_parameter *parameter = &optimizer->parameters[index];
    return which == 0   ? parameter->weights
           : which == 1 ? parameter->gradients
                        : optimizer->states[index * optimizer->state_count + which - 2];
}

static void build(struct optimizer *optimizer, struct group *group) {
    struct optimizer_step *steps = x_calloc(group->count + 1, sizeof *steps);
    for (size_t i = 0; i < group->count; i++) {
        const struct optimizer_parameter *parameter = &optimizer->parameters[group->first + i];
        steps[i] = (struct optimizer_step){.name = parameter->name, .count = parameter->count};
        if (parameter->decays) {
            steps[i].decay = (float)optimizer->decay;
            steps[i].trust = optimizer->kind == OPTIMIZER_LARS ? lars_trust : 0;
        }
    }
    training_optimizer_graph(kind_of(optimizer), steps, group->count, &group->graph);
    free(steps);
    group->inputs = x_calloc(group->graph.input_count, sizeof *group->inputs);
    group->outputs = x_calloc(group->graph.output_count + 1, sizeof *group->outputs);
    for (size_t i = 0; i < group->graph.input_count; i++) {
        group->inputs[i].shape = group->graph.values[group->graph.inputs[i]].shape;
    }
    group->inputs[0].data = optimizer->numbers;
}

/* Each output shares its input's memory, so weights and states are updated in place. */
static int prepare(struct optimizer *optimizer, struct group *group, struct error *err) {
    size_t states = optimizer->state_count;
    bool *is_bound = x_malloc(group->graph.output_count + 1);
    memset(is_bound, true, group->graph.output_count);
    int result = training_open(optimizer->device, &group->graph, group->inputs, is_bound,
                               &group->training, err);
    free(is_bound);
    for (size_t i = 0; result == 0 && i < group->count; i++) {
        for (size_t k = 0; k < 2 + states; k++) {
            void *memory = memory_of(optimizer, group->first + i, k);
            training_bind_input(group->training, 1 + i * (2 + states) + k, memory);
            if (k != 1) {
                training_bind(group->training, i * (1 + states) + (k ? k - 1 : 0), memory);
            }
        }
    }
    return result;
}

static int find_group(struct optimizer *optimizer, size_t first, size_t count,
                      struct group **ret_group, struct error *err) {
    for (size_t i = 0; i < optimizer->group_count; i++) {
        struct group *group = optimizer->groups[i];
        if (group->first == first && group->count == count) {
            *ret_group = group;
            return 0;
        }
    }
    struct group *group = x_calloc(1, sizeof *group);
    group->first = first;
    group->count = count;
    build(optimizer, group);
    if (prepare(optimizer, group, err) < 0) {
        group_free(group);
        return -1;
    }
    optimizer->groups =
        x_realloc_array(optimizer->groups, optimizer->group_count + 1, sizeof(struct group *));
    optimizer->groups[optimizer->group_count++] = *ret_group = group;
    return 0;
}

/* In double precision, because powers of numbers near 1 need it. */
static void set_numbers(struct optimizer *optimizer, int64_t step, double rate) {
    float *numbers = optimizer->numbers;
    bool is_adam = optimizer->kind == OPTIMIZER_ADAM;
    double number = (double)(step + 1);
    double first = is_adam ? optimizer->beta1 : optimizer->momentum;
    numbers[OPTIMIZER_RATE] = (float)(is_adam ? rate / (1 - pow(first, number)) : rate);
    numbers[OPTIMIZER_FIRST] = (float)first;
    numbers[OPTIMIZER_REST_FIRST] = (float)(1 - first);
    numbers[OPTIMIZER_SECOND] = (float)optimizer->beta2;
    numbers[OPTIMIZER_REST_SECOND] = (float)(1 - optimizer->beta2);
    numbers[OPTIMIZER_UNBIAS] = (float)(1 / sqrt(1 - pow(optimizer->beta2, number)));
    numbers[OPTIMIZER_EPSILON] = (float)optimizer->epsilon;
}

int optimizer_apply(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                    double rate, struct error *err) {
    struct group *group;
    assert(first + count <= optimizer->count);
    if (count == 0) {
        return 0;
    }
    set_numbers(optimizer, step, rate);
    if (find_group(optimizer, first, count, &group, err) < 0 ||
        training_run(group->training, group->inputs, group->outputs, NULL, err) < 0) {
        return error_context(err, "the optimizer");
    }
    return 0;
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
