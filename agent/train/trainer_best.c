// SPDX-License-Identifier: Apache-2.0
/* The network of the best epoch (best.h), in the memory of rank 0 and, as further tensors, in each
 * checkpoint. So the state from which a restart continues and the best network until then are one
 * object, and neither can be newer than the other. Without an objective there is none. */
#include "agent/train/trainer_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(struct best) % sizeof(float) == 0, "a record is a tensor in a checkpoint");

/* Pieces of the network: variables, then statistics; their elements are concatenated in this
 * order. */
static size_t piece_count(const struct trainer *trainer) {
    return trainer->graph.variable_count + 2 * trainer->graph.norm_count;
}

static int piece_value(const struct trainer *trainer, size_t piece) {
    size_t variables = trainer->graph.variable_count;
    return piece < variables ? trainer->graph.variables[piece]
                             : trainer_statistic_constant(trainer, piece - variables);
}

static size_t piece_numbers(const struct trainer *trainer, size_t piece) {
    return (size_t)shape_count(&trainer->network->values[piece_value(trainer, piece)].shape);
}

static float *new_numbers(const struct trainer *trainer) {
    size_t count = 1;
    for (size_t i = 0; i < piece_count(trainer); i++) {
        count += piece_numbers(trainer, i);
    }
    return x_calloc(count, sizeof(float));
}

static void numbers_freep(float **numbers) {
    free(*numbers);
}

/* Copies the present network. *ret_is_finite: whether all of its elements are finite. */
static int copy_network(const struct trainer *trainer, float *to, bool *ret_is_finite,
                        struct error *err) {
    size_t variables = trainer->graph.variable_count;
    *ret_is_finite = true;
    for (size_t i = 0; i < piece_count(trainer); i++) {
        size_t count = piece_numbers(trainer, i);
        if (i >= variables) {
            memcpy(to, trainer->statistics[i - variables], count * sizeof *to);
        } else if (trainer_device_read(trainer, to, trainer->results[i], count, err) < 0) {
            return -1;
        }
        for (size_t k = 0; k < count; k++) {
            *ret_is_finite &= isfinite(to[k]);
        }
        to += count;
    }
    return 0;
}

int trainer_best_offer(struct trainer *trainer, const double values[static BEST_METRIC_COUNT],
                       struct error *err) {
    const struct best_goal *goal = &trainer->best_goal;
    bool is_finite;
    if (goal->metric < 0 || trainer->comm->rank != 0 ||
        !best_is_beaten(&trainer->best, goal, values[goal->metric])) {
        return 0;
    }
    AUTO(numbers_freep) float *numbers = new_numbers(trainer);
    if (copy_network(trainer, numbers, &is_finite, err) < 0) {
        return -1;
    }
    if (!is_finite) {
        return 0; /* the next step, or the end of the training, fails because of it */
    }
    free(trainer->best_numbers);
    trainer->best_numbers = TAKE(numbers);
    trainer->best = (struct best){.value = values[goal->metric],
                                  .epoch = trainer->step / trainer->epoch_steps,
                                  .step = trainer->step};
    return 0;
}

/* ---- in checkpoints ------------------------------------------------------------------------- */

size_t trainer_best_tensor_count(const struct trainer *trainer) {
    return trainer->best.epoch > 0 ? 1 + piece_count(trainer) : 0;
}

static void record_tensor(struct trainer *trainer, struct best *record,
                          struct trainer_tensor *tensor) {
    char name[BEST_NAME_MAX];
    best_record_name(&trainer->best_goal, name);
    *tensor = (struct trainer_tensor){.shape = {1, {sizeof *record / sizeof(float)}},
                                      .data = (float *)(void *)record};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

void trainer_best_tensor(struct trainer *trainer, size_t i, struct trainer_tensor *tensor) {
    if (i == 0) {
        record_tensor(trainer, &trainer->best, tensor);
        return;
    }
    const struct value *value = &trainer->network->values[piece_value(trainer, i - 1)];
    *tensor = (struct trainer_tensor){.shape = value->shape, .data = trainer->best_numbers};
    snprintf(tensor->name, sizeof tensor->name, "windlass:best/%s", value->name);
    for (size_t k = 0; k + 1 < i; k++) {
        tensor->data += piece_numbers(trainer, k);
    }
}

/* False: a tensor is missing. */
static bool take_network(struct trainer *trainer, const struct checkpoint *checkpoint) {
    for (size_t i = 1; i < 1 + piece_count(trainer); i++) {
        struct trainer_tensor tensor;
        trainer_best_tensor(trainer, i, &tensor);
        const struct checkpoint_tensor *found = trainer_find_tensor(checkpoint, &tensor);
        if (!found) {
            return false;
        }
        memcpy(tensor.data, found->data, (size_t)shape_count(&tensor.shape) * sizeof *tensor.data);
    }
    return true;
}

void trainer_best_take(struct trainer *trainer, const struct checkpoint *checkpoint) {
    struct best record = {0};
    struct trainer_tensor tensor;
    if (trainer->best_goal.metric < 0) {
        return;
    }
    record_tensor(trainer, &record, &tensor);
    const struct checkpoint_tensor *found = trainer_find_tensor(checkpoint, &tensor);
    if (!found) {
        return;
    }
    memcpy(&record, found->data, sizeof record);
    free(trainer->best_numbers);
    trainer->best_numbers = new_numbers(trainer);
    bool is_it = best_is_plausible(&record, checkpoint->step, trainer->epoch_steps) &&
                 take_network(trainer, checkpoint);
    trainer->best = is_it ? record : (struct best){0};
}

/* ---- at the end ----------------------------------------------------------------------------- */

void trainer_best_weights(const struct trainer *trainer, const void **weights) {
    const float *numbers = trainer->best_numbers;
    for (size_t i = 0; trainer->best.epoch > 0 && i < piece_count(trainer); i++) {
        weights[piece_value(trainer, i)] = numbers;
        numbers += piece_numbers(trainer, i);
    }
}

void trainer_best_report(const struct trainer *trainer) {
    const struct best *best = &trainer->best;
    if (trainer->best_goal.metric < 0) {
        return;
    }
    const char *name = best_metric_name((enum best_metric)trainer->best_goal.metric);
    if (best->epoch == 0) {
        trainer_say(trainer,
                    "metrics.objective: no epoch has reported %s: the result is the network of the "
                    "last epoch",
                    name);
        return;
    }
    trainer_say(trainer,
                "the best %s is %.9g, of epoch %lld of %lld, step %lld: its network is the result",
                name, best->value, (long long)best->epoch, (long long)trainer->epochs,
                (long long)best->step);
}
