// SPDX-License-Identifier: Apache-2.0
/* Prepares the graphs for the batch sizes that occur. */
#include "agent/train/trainer_state.h"

#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/order.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

static void bind(struct trainer *trainer, struct prepared_graph *prepared) {
    const struct training_graph *graph = &trainer->graph;
    const struct buckets *buckets = &trainer->buckets;
    prepared->due = x_calloc(buckets->count + 1, sizeof *prepared->due);
    for (size_t i = 0; i < graph->variable_count; i++) {
        const struct bucket_place *place = &buckets->places[i];
        size_t output = graph->first_gradient + i;
        size_t ready_after_step = training_ready_step(prepared->training, output);
        training_bind_input(prepared->training, graph->first_variable + i, trainer->weights[i]);
        training_bind(prepared->training, output, (char *)trainer->gradients + place->start);
        prepared->due[place->bucket] = MAX(prepared->due[place->bucket], ready_after_step);
    }
}

/* Prepares for the present shapes of the inputs. */
static int open_prepared(struct trainer *trainer, struct prepared_graph *prepared,
                         struct error *err) {
    struct graph *graph = &trainer->graph.graph;
    bool *is_bound = x_calloc(graph->output_count + 1, sizeof *is_bound);
    for (size_t i = 0; i < trainer->graph.variable_count; i++) {
        is_bound[trainer->graph.first_gradient + i] = true;
    }
    int result =
        training_open(trainer->device, graph, trainer->inputs, is_bound, &prepared->training, err);
    free(is_bound);
    return result;
}

int trainer_find_prepared(struct trainer *trainer, int64_t samples,
                          struct prepared_graph **ret_prepared, struct error *err) {
    struct prepared_graph *prepared = trainer->prepared;
    while (prepared->samples && prepared->samples != samples) {
        prepared++;
        assert(prepared < trainer->prepared + PREPARED_MAX);
    }
    if (prepared->samples == 0) {
        if (open_prepared(trainer, prepared, err) < 0) {
            return -1;
        }
        bind(trainer, prepared);
        prepared->samples = samples;
    }
    *ret_prepared = prepared;
    return 0;
}

/* Makes the buckets in the order in which the backward pass fills them, and orders the parameters
 * as the buckets. */
static int plan(struct trainer *trainer, const json_t *spec, struct error *err) {
    const struct training_graph *graph = &trainer->graph;
    size_t count = graph->variable_count;
    size_t *bytes = x_calloc(count + 1, sizeof *bytes);
    int *ready_after_step = x_calloc(count + 1, sizeof *ready_after_step);
    int64_t fusion_mib;
    int result =
        fields_integer(spec, "fusionBufferMB", (int64_t[]){1, INT32_MAX}, &fusion_mib, err);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = trainer_variable_size(trainer, i) * sizeof(float);
        ready_after_step[i] =
            (int)training_ready_step(trainer->prepared[0].training, graph->first_gradient + i);
    }
    bytes[count] = trainer_scalar_count(trainer) * sizeof(float);
    ready_after_step[count] = INT_MAX;
    if (result == 0) {
        buckets_plan(bytes, ready_after_step, count + 1, (size_t)fusion_mib << 20,
                     &trainer->buckets);
        result = trainer_device_floats(trainer, trainer->buckets.bytes / sizeof(float),
                                       &trainer->gradients, err);
    }
    free(bytes);
    free(ready_after_step);
    return result;
}

static int by_place(const void *left, const void *right, void *context) {
    const struct buckets *buckets = context;
    size_t a = buckets->places[*(const size_t *)left].start;
    size_t b = buckets->places[*(const size_t *)right].start;
    return (a > b) - (a < b);
}

/* Parameters are in the order of the buckets, so those of a bucket are adjacent. */
static int make_optimizer(struct trainer *trainer, const json_t *spec, double *ret_learning_rate,
                          struct error *err) {
    struct buckets *buckets = &trainer->buckets;
    size_t count = trainer->graph.variable_count;
    struct optimizer_parameter *parameters = x_calloc(count + 1, sizeof *parameters);
    trainer->in_order = x_calloc(count + 1, sizeof *trainer->in_order);
    trainer->first = x_calloc(buckets->count + 1, sizeof *trainer->first);
    for (size_t i = 0; i < count; i++) {
        trainer->in_order[i] = i;
    }
    qsort_r(trainer->in_order, count, sizeof *trainer->in_order, by_place, buckets);
    for (size_t i = 0; i < count; i++) {
        size_t variable = trainer->in_order[i];
        const struct value *value = &trainer->network->values[trainer->graph.variables[variable]];
        const struct bucket_place *place = &buckets->places[variable];
        parameters[i] = (struct optimizer_parameter){
            .name = value->name,
            .weights = trainer->weights[variable],
            .gradients = (float *)(void *)((char *)trainer->gradients + place->start),
            .count = (int64_t)trainer_variable_size(trainer, variable),
            .decays = value->shape.rank != 1};
        for (size_t k = place->bucket + 1; k <= buckets->count; k++) {
            trainer->first[k] = i + 1;
        }
    }
    const struct optimizer_options options = {.spec = json_object_get(spec, "optimizer"),
                                              .ema = json_object_get(spec, "ema"),
                                              .device = trainer->device,
                                              .parameters = parameters,
                                              .count = count};
    int result = optimizer_new(&options, &trainer->optimizer, ret_learning_rate, err);
    for (size_t i = 0; result == 0 && i < count; i++) {
        float *average = optimizer_average(trainer->optimizer, i);
        trainer->results[trainer->in_order[i]] = average ? average : parameters[i].weights;
    }
    free(parameters);
    return result;
}

/* Scores of a square, such as 256 bytes at 256 places, do not show their axis of classes. */
static void print_axis(const struct trainer *trainer, size_t head) {
    const struct shape *labels = &trainer->inputs[trainer->graph.losses[head].target].shape;
    if (trainer->heads[head].criterion.loss != TRAINING_CROSS_ENTROPY) {
        return;
    }
    struct tensor scores =
        training_scores(trainer->prepared[0].training, trainer->graph.losses[head].loss);
    if (host_loss_fits_both(&scores.shape, labels)) {
        char text[128];
        shape_format(&scores.shape, text);
        trainer_say(trainer,
                    "the scores are %s: axis 1 and the last one both fit the labels; axis 1 is "
                    "taken for the classes, as in PyTorch. If the last one has them, put a "
                    "Transpose at the end of the network",
                    text);
    }
}

int64_t trainer_part_samples(const struct trainer *trainer) {
    int64_t whole = MIN(trainer->batch_size, trainer->train->count);
    int64_t mine = order_find_slice(whole, trainer->comm->rank, trainer->comm->size).count;
    return MAX(order_find_slice(mine, 0, (int)trainer->parts).count, 1);
}

int trainer_prepare(struct trainer *trainer, struct error *err) {
    const json_t *spec = trainer->job->trainer;
    int64_t samples = trainer_part_samples(trainer);
    struct rate_options options = {.batch_size = trainer->batch_size,
                                   .epoch_steps = trainer->epoch_steps,
                                   .epochs = trainer->epochs};
    size_t most = 0, own = trainer->network->input_count;
    for (size_t i = 0; i < own; i++) {
        trainer->inputs[i].shape.dims[0] = samples;
        most = MAX(most, (size_t)shape_count(&trainer->inputs[i].shape));
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        struct tensor *target = &trainer->inputs[trainer->graph.losses[i].target];
        target->shape.dims[0] = samples;
        most = MAX(most, (size_t)shape_count(&target->shape));
    }
    void *zeros = x_calloc(most + 1, sizeof(int64_t));
    for (size_t i = 0; i < own; i++) {
        trainer->inputs[i].data = zeros;
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        trainer->inputs[trainer->graph.losses[i].target].data = zeros;
    }
    if (trainer->graph.keys) {
        trainer->keys = x_calloc((size_t)samples, sizeof *trainer->keys);
        trainer->inputs[trainer->graph.keys] =
            (struct tensor){.type = TENSOR_INT64, .shape = {1, {samples}}, .data = trainer->keys};
    }
    int result = open_prepared(trainer, &trainer->prepared[0], err);
    free(zeros);
    if (result < 0 || plan(trainer, spec, err) < 0 ||
        make_optimizer(trainer, spec, &options.learning_rate, err) < 0) {
        return -1;
    }
    if (trainer->device->ops->zero(trainer->device, trainer->gradients, trainer->buckets.bytes,
                                   err) < 0) {
        return -1;
    }
    bind(trainer, &trainer->prepared[0]);
    trainer->prepared[0].samples = samples;
    for (size_t i = 0; i < trainer->head_count; i++) {
        print_axis(trainer, i);
    }
    return rate_read(json_object_get(spec, "schedule"), &options, &trainer->rate, err);
}
