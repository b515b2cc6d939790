// SPDX-License-Identifier: Apache-2.0
#include "agent/train/optimizer/optimizer.h"

#include "agent/engine/training.h"
#include "agent/train/optimizer/optimizer_settings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float lars_trust = 0.001f, lamb_trust = 1;
static const double clip_epsilon = 1e-6; /* as torch.nn.utils.clip_grad_norm_ */

/* What the engine computes for each kind, with a momentum, and its states. */
static const struct kind {
    enum optimizer_step_kind step;
    size_t count;
    const char *states[2];
    float trust;
} kinds[] = {
    [OPTIMIZER_SGD] = {OPTIMIZER_STEP_MOMENTUM, 1, {"momentum"}, 0},
    [OPTIMIZER_ADAM] = {OPTIMIZER_STEP_ADAM, 2, {"mean", "square"}, 0},
    [OPTIMIZER_ADAMW] = {OPTIMIZER_STEP_ADAM, 2, {"mean", "square"}, 0},
    [OPTIMIZER_LAMB] = {OPTIMIZER_STEP_LAMB, 2, {"mean", "square"}, lamb_trust},
    [OPTIMIZER_LARS] = {OPTIMIZER_STEP_MOMENTUM, 1, {"momentum"}, lars_trust},
    [OPTIMIZER_RMSPROP] = {OPTIMIZER_STEP_SQUARE, 1, {"square"}, 0},
    [OPTIMIZER_ADAGRAD] = {OPTIMIZER_STEP_SQUARE, 1, {"square"}, 0},
};

/* A graph of steps of several parameters, prepared. */
struct pass {
    struct graph graph;
    struct training *training;
    struct tensor *inputs, *outputs;
};

/* Parameters that are updated together. */
struct group {
    size_t first, count;
    struct pass update, average; /* average.training: NULL without one */
};

struct optimizer {
    struct optimizer_settings settings; /* without borrowed parts */
    enum optimizer_step_kind step;
    struct device *device;
    size_t count, state_count; /* state_count: with the average, which is the last */
    size_t own_count;          /* of the states: without it */
    bool has_average;
    struct optimizer_parameter *parameters; /* decays: after noDecay */
    float *factors;                         /* [count] */
    float **states;                         /* [count, state_count] */
    size_t group_count;
    struct group **groups;
    float numbers[OPTIMIZER_NUMBERS]; /* for this step */
    float average_numbers[OPTIMIZER_NUMBERS];
};

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

static void choose_states(struct optimizer *optimizer) {
    const struct optimizer_settings *settings = &optimizer->settings;
    const struct kind *kind = &kinds[settings->kind];
    bool is_plain = settings->kind == OPTIMIZER_SGD && settings->momentum == 0;
    optimizer->step = is_plain             ? OPTIMIZER_STEP_PLAIN
                      : settings->nesterov ? OPTIMIZER_STEP_NESTEROV
                                           : kind->step;
    optimizer->own_count = is_plain ? 0 : kind->count;
    optimizer->has_average = settings->average_decay >= 0;
    optimizer->state_count = optimizer->own_count + optimizer->has_average;
}

static int copy_parameters(struct optimizer *optimizer, const struct optimizer_options *options,
                           struct error *err) {
    const struct optimizer_settings *settings = &optimizer->settings;
    const char **names = x_calloc(options->count + 1, sizeof *names);
    optimizer->parameters = x_calloc(options->count + 1, sizeof *optimizer->parameters);
    optimizer->factors = x_calloc(options->count + 1, sizeof *optimizer->factors);
    for (size_t i = 0; i < options->count; i++) {
        struct optimizer_parameter *parameter = &optimizer->parameters[i];
        *parameter = options->parameters[i];
        names[i] = parameter->name ? parameter->name : "";
        parameter->decays = optimizer_settings_decays(settings, names[i], parameter->decays);
        optimizer->factors[i] = (float)optimizer_settings_factor(settings, names[i]);
    }
    int result = optimizer_settings_check_names(settings, names, options->count, err);
    free(names);
    return result;
}

int optimizer_new(const struct optimizer_options *options, struct optimizer **ret_optimizer,
                  double *ret_learning_rate, struct error *err) {
    struct optimizer_settings settings;
    if (optimizer_settings_read(options->spec, options->ema, &settings, err) < 0) {
        return -1;
    }
    AUTO(optimizer_freep) struct optimizer *optimizer = x_calloc(1, sizeof *optimizer);
    optimizer->settings = settings;
    optimizer->count = options->count;
    optimizer->device = options->device;
    optimizer->numbers[OPTIMIZER_GRADIENT] = 1;
    choose_states(optimizer);
    optimizer->states =
        x_calloc(optimizer->count * optimizer->state_count + 1, sizeof *optimizer->states);
    if (copy_parameters(optimizer, options, err) < 0 || make_states(optimizer, err) < 0) {
        return -1;
    }
    optimizer->settings.no_decay = optimizer->settings.rates = NULL;
    *ret_optimizer = TAKE(optimizer);
    *ret_learning_rate = settings.learning_rate;
    return 0;
}

static void pass_release(struct pass *pass) {
    training_free(pass->training);
    graph_release(&pass->graph);
    free(pass->inputs);
    free(pass->outputs);
}

static void group_free(struct group *group) {
    pass_release(&group->update);
    pass_release(&group->average);
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
    free(optimizer->factors);
    free(optimizer);
}

void optimizer_freep(struct optimizer **optimizer) {
    optimizer_free(TAKE(*optimizer));
}

/* ---- groups --------------------------------------------------------------------------------- */

/* The step of a parameter. */
static struct optimizer_step step_of(const struct optimizer *optimizer, size_t index) {
    const struct optimizer_settings *settings = &optimizer->settings;
    const struct optimizer_parameter *parameter = &optimizer->parameters[index];
    struct optimizer_step step = {
        .name = parameter->name, .count = parameter->count, .factor = optimizer->factors[index]};
    if (parameter->decays) {
        step.decay = settings->is_decoupled ? 0 : (float)settings->decay;
        step.decoupled_decay = settings->is_decoupled ? (float)settings->decay : 0;
        step.trust = kinds[settings->kind].trust;
    }
    return step;
}

/* The average a of weights w as a plain step: a -= rate (-w + a), rate being 1 - decay. So the
 * weights are its gradient, times -1, and its weight decay is 1. */
static struct optimizer_step average_of(const struct optimizer *optimizer, size_t index) {
    const struct optimizer_parameter *parameter = &optimizer->parameters[index];
    return (struct optimizer_step){
        .name = parameter->name, .count = parameter->count, .factor = 1, .decay = 1};
}

/* The memory of input k of a parameter: of an update weights, gradient and states; of an average
 * itself and the weights. */
static void *memory_of(const struct optimizer *optimizer, bool is_average, size_t index, size_t k) {
    const struct optimizer_parameter *parameter = &optimizer->parameters[index];
    float *const *states = optimizer->states + index * optimizer->state_count;
    if (is_average) {
        return k == 0 ? states[optimizer->own_count] : parameter->weights;
    }
    return k == 0 ? parameter->weights : k == 1 ? parameter->gradients : states[k - 2];
}

/* Each output shares its input's memory, so weights and states are updated in place. */
static void bind(const struct optimizer *optimizer, const struct group *group, bool is_average) {
    struct training *training = is_average ? group->average.training : group->update.training;
    size_t states = is_average ? 0 : optimizer->own_count;
    for (size_t i = 0; i < group->count; i++) {
        for (size_t k = 0; k < 2 + states; k++) {
            void *memory = memory_of(optimizer, is_average, group->first + i, k);
            training_bind_input(training, 1 + i * (2 + states) + k, memory);
            if (k != 1) {
                training_bind(training, i * (1 + states) + (k ? k - 1 : 0), memory);
            }
        }
    }
}

static int prepare(struct optimizer *optimizer, struct group *group, bool is_average,
                   struct error *err) {
    struct pass *pass = is_average ? &group->average : &group->update;
    struct optimizer_step *steps = x_calloc(group->count + 1, sizeof *steps);
    for (size_t i = 0; i < group->count; i++) {
        steps[i] = is_average ? average_of(optimizer, group->first + i)
                              : step_of(optimizer, group->first + i);
    }
    training_optimizer_graph(is_average ? OPTIMIZER_STEP_PLAIN : optimizer->step, steps,
                             group->count, &pass->graph);
    free(steps);
    pass->inputs = x_calloc(pass->graph.input_count, sizeof *pass->inputs);
    pass->outputs = x_calloc(pass->graph.output_count + 1, sizeof *pass->outputs);
    for (size_t i = 0; i < pass->graph.input_count; i++) {
        pass->inputs[i].shape = pass->graph.values[pass->graph.inputs[i]].shape;
    }
    pass->inputs[0].data = is_average ? optimizer->average_numbers : optimizer->numbers;
    bool *is_bound = x_malloc(pass->graph.output_count + 1);
    memset(is_bound, true, pass->graph.output_count);
    int result = training_open(optimizer->device, &pass->graph, pass->inputs, is_bound,
                               &pass->training, err);
    free(is_bound);
    if (result == 0) {
        bind(optimizer, group, is_average);
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
    if (prepare(optimizer, group, false, err) < 0 ||
        (optimizer->has_average && prepare(optimizer, group, true, err) < 0)) {
        group_free(group);
        return -1;
    }
    optimizer->groups =
        x_realloc_array(optimizer->groups, optimizer->group_count + 1, sizeof(struct group *));
    optimizer->groups[optimizer->group_count++] = *ret_group = group;
    return 0;
}

/* ---- the step ------------------------------------------------------------------------------- */

/* In double precision, because powers of numbers near 1 need it. */
static void set_numbers(struct optimizer *optimizer, int64_t step, double rate) {
    const struct optimizer_settings *settings = &optimizer->settings;
    float *numbers = optimizer->numbers, *average = optimizer->average_numbers;
    enum optimizer_kind kind = settings->kind;
    bool has_mean = kinds[kind].count == 2, is_sum = kind == OPTIMIZER_ADAGRAD;
    double number = (double)(step + 1);
    double beta1 = has_mean ? settings->beta1 : settings->momentum;
    double beta2 = is_sum ? 1 : settings->beta2, one_minus_beta2 = is_sum ? 1 : 1 - settings->beta2;
    numbers[OPTIMIZER_RATE] = (float)rate;
    numbers[OPTIMIZER_BETA1] = (float)beta1;
    numbers[OPTIMIZER_ONE_MINUS_BETA1] = (float)(1 - beta1);
    numbers[OPTIMIZER_BETA2] = (float)beta2;
    numbers[OPTIMIZER_ONE_MINUS_BETA2] = (float)one_minus_beta2;
    numbers[OPTIMIZER_BIAS_CORRECTION1] = (float)(1 / (1 - pow(beta1, number)));
    numbers[OPTIMIZER_BIAS_CORRECTION2] = (float)(1 / sqrt(1 - pow(settings->beta2, number)));
    numbers[OPTIMIZER_EPSILON] = (float)settings->epsilon;
    numbers[OPTIMIZER_LIMIT] = (float)settings->clip_value;
    average[OPTIMIZER_RATE] = (float)(step == 0 ? 1 : 1 - settings->average_decay);
    average[OPTIMIZER_GRADIENT] = -1;
    average[OPTIMIZER_LIMIT] = INFINITY;
}

double optimizer_clip_norm(const struct optimizer *optimizer) {
    return optimizer->settings.clip_norm;
}

int optimizer_scale(struct optimizer *optimizer, double norm, struct error *err) {
    if (!isfinite(norm)) {
        return error_set(err, ERROR_FAILED, "the norm of all gradients is %g", norm);
    }
    double factor = optimizer->settings.clip_norm / (norm + clip_epsilon);
    optimizer->numbers[OPTIMIZER_GRADIENT] = (float)fmin(factor, 1);
    return 0;
}

static int run(struct pass *pass, struct error *err) {
    return training_run(pass->training, pass->inputs, pass->outputs, NULL, err);
}

int optimizer_apply(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                    double rate, struct error *err) {
    struct group *group;
    assert(first + count <= optimizer->count);
    if (count == 0) {
        return 0;
    }
    set_numbers(optimizer, step, rate);
    if (find_group(optimizer, first, count, &group, err) < 0 || run(&group->update, err) < 0 ||
        (optimizer->has_average && run(&group->average, err) < 0)) {
        return error_context(err, "the optimizer");
    }
    return 0;
}

/* ---- states --------------------------------------------------------------------------------- */

size_t optimizer_state_count(const struct optimizer *optimizer) {
    return optimizer->state_count;
}

const char *optimizer_state_name(const struct optimizer *optimizer, size_t which) {
    assert(which < optimizer->state_count);
    return which < optimizer->own_count ? kinds[optimizer->settings.kind].states[which] : "average";
}

float *optimizer_state(struct optimizer *optimizer, size_t parameter, size_t which) {
    assert(parameter < optimizer->count && which < optimizer->state_count);
    return optimizer->states[parameter * optimizer->state_count + which];
}

float *optimizer_average(struct optimizer *optimizer, size_t parameter) {
    return optimizer->has_average ? optimizer_state(optimizer, parameter, optimizer->own_count)
                                  : NULL;
}
