// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include "agent/train/applying.h"
#include "agent/train/fields.h"
#include "agent/train/order.h"
#include "lib/clock.h"
#include "lib/trace.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { APPLY_SHARED_BYTES = 1 << 20 }; /* of gradients: less is one thread's */

/* ---- preparing ------------------------------------------------------------------------------ */

static void bind(struct trainer *trainer, struct prepared *prepared) {
    const struct training_graph *graph = &trainer->graph;
    const struct buckets *buckets = &trainer->buckets;
    prepared->due = x_calloc(buckets->count + 1, sizeof *prepared->due);
    for (size_t i = 0; i < graph->variable_count; i++) {
        const struct bucket_place *place = &buckets->places[i];
        size_t output = graph->first_gradient + i;
        size_t made_at = training_made_at(prepared->training, output);
        training_bind(prepared->training, output, (char *)trainer->gradients + place->start);
        prepared->due[place->bucket] = MAX(prepared->due[place->bucket], made_at);
    }
}

/* For the inputs' shapes as they are now. */
static int open_prepared(struct trainer *trainer, struct prepared *prepared, struct error *err) {
    const struct graph *graph = &trainer->graph.graph;
    bool *is_bound = x_calloc(graph->output_count + 1, sizeof *is_bound);
    for (size_t i = 0; i < trainer->graph.variable_count; i++) {
        is_bound[trainer->graph.first_gradient + i] = true;
    }
    int result =
        training_open(trainer->device, graph, trainer->inputs, is_bound, &prepared->training, err);
    free(is_bound);
    return result;
}

/* The prepared graph for so many samples: whole batches have one, the epoch's last another. */
static int find_prepared(struct trainer *trainer, int64_t samples, struct prepared **ret_prepared,
                         struct error *err) {
    struct prepared *prepared = trainer->prepared;
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

/* Buckets as backward fills them, the parameters in their order. */
static int plan(struct trainer *trainer, const json_t *spec, struct error *err) {
    const struct training_graph *graph = &trainer->graph;
    size_t count = graph->variable_count;
    size_t *bytes = x_calloc(count + 1, sizeof *bytes);
    int *made_at = x_calloc(count + 1, sizeof *made_at);
    int64_t fusion_mib;
    int result = fields_integer(spec, "fusionBufferMB", (int64_t[]){1, 1024}, 64, &fusion_mib, err);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = variable_count_of(trainer, i) * sizeof(float);
        made_at[i] =
            (int)training_made_at(trainer->prepared[0].training, graph->first_gradient + i);
    }
    bytes[count] = RIDE_COUNT * sizeof(float);
    made_at[count] = INT_MAX;
    if (result == 0) {
        buckets_plan(bytes, made_at, count + 1, (size_t)fusion_mib << 20, &trainer->buckets);
        trainer->gradients = aligned_alloc(64, trainer->buckets.bytes);
        result = trainer->gradients
                     ? 0
                     : error_set(err, ERROR_EXHAUSTED, "no memory for %zu bytes of gradients",
                                 trainer->buckets.bytes);
    }
    free(bytes);
    free(made_at);
    return result;
}

static int by_place(const void *left, const void *right, void *context) {
    const struct buckets *buckets = context;
    size_t a = buckets->places[*(const size_t *)left].start;
    size_t b = buckets->places[*(const size_t *)right].start;
    return (a > b) - (a < b);
}

/* Parameters in the order of the buckets: each bucket's are neighbours. */
static int make_optimizer(struct trainer *trainer, const json_t *spec, double *ret_learning_rate,
                          struct error *err) {
    struct buckets *buckets = &trainer->buckets;
    size_t count = trainer->graph.variable_count;
    struct parameter *parameters = x_calloc(count + 1, sizeof *parameters);
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
        parameters[i] = (struct parameter){
            .name = value->name,
            .weights = trainer->weights[variable],
            .gradients = (float *)(void *)((char *)trainer->gradients + place->start),
            .count = (int64_t)variable_count_of(trainer, variable),
            .decays = value->shape.rank != 1};
        for (size_t k = place->bucket + 1; k <= buckets->count; k++) {
            trainer->first[k] = i + 1;
        }
    }
    int result = optimizer_new(json_object_get(spec, "optimizer"), parameters, count,
                               &trainer->optimizer, ret_learning_rate, err);
    free(parameters);
    return result;
}

int trainer_prepare(struct trainer *trainer, struct error *err) {
    const json_t *spec = trainer->job->trainer;
    int64_t whole = MIN(trainer->batch_size, trainer->train->count);
    int64_t samples = MAX(order_slice(whole, trainer->comm->rank, trainer->comm->size).count, 1);
    struct tensor *input = &trainer->inputs[0], *target = &trainer->inputs[trainer->graph.target];
    struct rate_options options = {.batch_size = trainer->batch_size,
                                   .epoch_steps = trainer->epoch_steps,
                                   .epochs = trainer->epochs};
    input->shape.dims[0] = target->shape.dims[0] = samples;
    size_t input_count = (size_t)shape_count(&input->shape);
    void *zeros = x_calloc(input_count + 1, sizeof(float));
    void *targets = x_calloc((size_t)shape_count(&target->shape) + 1, sizeof(int64_t));
    input->data = zeros;
    target->data = targets;
    if (trainer->graph.keys) {
        trainer->keys = x_calloc((size_t)samples, sizeof *trainer->keys);
        trainer->inputs[trainer->graph.keys] =
            (struct tensor){.type = TENSOR_INT64, .shape = {1, {samples}}, .data = trainer->keys};
    }
    int result = open_prepared(trainer, &trainer->prepared[0], err);
    free(zeros);
    free(targets);
    if (result < 0 || plan(trainer, spec, err) < 0 ||
        make_optimizer(trainer, spec, &options.learning_rate, err) < 0) {
        return -1;
    }
    memset(trainer->gradients, 0, trainer->buckets.bytes);
    bind(trainer, &trainer->prepared[0]);
    trainer->prepared[0].samples = samples;
    return rate_read(json_object_get(spec, "schedule"), &options, &trainer->rate, err);
}

/* ---- computing ------------------------------------------------------------------------------ */

struct computing {
    struct trainer *trainer;
    const struct prepared *prepared;
    bool is_recorded;
    int64_t since_ns; /* the node before has ended */
};

/* How long a node took; on a host a step that was started has ended (device.h). */
static void record_node(struct computing *computing, size_t step) {
    const struct node *node = training_node(computing->prepared->training, step);
    int64_t now_ns = clock_monotonic_ns();
    if (node) {
        char name[TRACE_NAME_MAX];
        snprintf(name, sizeof name, "%s %s", node->op->name, node->name ? node->name : "");
        timeline_add(computing->trainer->timeline, TIMELINE_COMPUTE, name, computing->since_ns,
                     now_ns);
    }
    computing->since_ns = clock_monotonic_ns();
}

/* All buckets but the last, which waits for what rides in it. */
static int after_step(void *context, size_t step, struct error *err UNUSED) {
    struct computing *computing = context;
    const struct trainer *trainer = computing->trainer;
    if (computing->is_recorded) {
        record_node(computing, step);
    }
    for (size_t i = 0; i + 1 < trainer->buckets.count; i++) {
        if (computing->prepared->due[i] == step) {
            reducer_due(trainer->reducer, i);
        }
    }
    return 0;
}

static double first_number(const struct tensor *tensor) {
    return tensor->type == TENSOR_FLOAT32 ? (double)*(const float *)tensor->data
           : tensor->type == TENSOR_INT64 ? (double)*(const int64_t *)tensor->data
                                          : (double)*(const int32_t *)tensor->data;
}

static void average_norms(struct trainer *trainer) {
    const struct training_graph *graph = &trainer->graph;
    for (size_t i = 0; i < 2 * graph->norm_count; i++) {
        const struct training_norm *norm = &graph->norms[i / 2];
        const struct tensor *seen = &trainer->outputs[norm->output + i % 2];
        const float *batch = seen->data;
        float *running = trainer->statistics[i];
        int64_t count = shape_count(&seen->shape);
        for (int64_t k = 0; k < count; k++) {
            running[k] = norm->momentum * running[k] + (1 - norm->momentum) * batch[k];
        }
    }
}

/* A function of the sample and its epoch: the same elements go, whoever computes them. */
static void set_keys(struct trainer *trainer, const struct batch *batch) {
    trainer->inputs[trainer->graph.keys].shape.dims[0] = batch->count;
    for (int64_t i = 0; i < batch->count; i++) {
        trainer->keys[i] =
            (int64_t)chance(trainer->seed, batch->epoch, batch->indices[i], DRAW_DROPOUT);
    }
}

static void set_inputs(struct trainer *trainer, const struct batch *batch) {
    const struct training_graph *graph = &trainer->graph;
    struct tensor *input = &trainer->inputs[0], *target = &trainer->inputs[graph->target];
    input->shape.dims[0] = target->shape.dims[0] = batch->count;
    input->data = batch->samples;
    target->data = batch->labels ? (void *)batch->labels : (void *)batch->targets;
    trainer->scale = 1 / (float)batch->total;
    if (graph->keys) {
        set_keys(trainer, batch);
    }
}

/* Gradients, loss and correct ones of this rank's samples; their buckets become due. */
static int compute(struct trainer *trainer, const struct batch *batch, bool is_recorded,
                   float *rides, struct error *err) {
    if (batch->count == 0) { /* fewer samples than ranks: nothing to add */
        memset(trainer->gradients, 0, trainer->buckets.bytes);
        for (size_t i = 0; i + 1 < trainer->buckets.count; i++) {
            reducer_due(trainer->reducer, i);
        }
        return 0;
    }
    struct prepared *prepared;
    set_inputs(trainer, batch);
    if (find_prepared(trainer, batch->count, &prepared, err) < 0) {
        return -1;
    }
    struct computing computing = {trainer, prepared, is_recorded, clock_monotonic_ns()};
    struct plan_hook hook = {after_step, &computing};
    if (training_run(prepared->training, trainer->inputs, trainer->outputs, &hook, err) < 0) {
        return -1;
    }
    rides[RIDE_LOSS] = (float)first_number(&trainer->outputs[0]);
    size_t correct = trainer->graph.correct;
    rides[RIDE_CORRECT] = correct ? (float)first_number(&trainer->outputs[correct]) : 0;
    average_norms(trainer);
    return 0;
}

/* Waits for the sums, bucket by bucket, and moves the weights by them. */
static int apply(struct trainer *trainer, int64_t step, double rate, bool is_recorded,
                 struct error *err) {
    for (size_t i = 0; i < trainer->buckets.count; i++) {
        size_t bucket;
        int64_t began_ns = clock_monotonic_ns();
        if (reducer_wait(trainer->reducer, &bucket, err) < 0) {
            return -1;
        }
        int64_t summed_ns = clock_monotonic_ns();
        size_t count = trainer->first[bucket + 1] - trainer->first[bucket];
        bool is_much = trainer->buckets.all[bucket].bytes >= APPLY_SHARED_BYTES;
        applying_run(trainer->optimizer, trainer->first[bucket], count, step, rate,
                     is_much ? trainer->job->threads : 1);
        if (is_recorded) {
            char name[TRACE_NAME_MAX];
            struct reducer_span span = reducer_span(trainer->reducer, bucket);
            double megabytes = (double)trainer->buckets.all[bucket].bytes / 1e6;
            timeline_add(trainer->timeline, TIMELINE_COMPUTE, "wait for a sum", began_ns,
                         summed_ns);
            timeline_add(trainer->timeline, TIMELINE_COMPUTE, "optimizer", summed_ns,
                         clock_monotonic_ns());
            snprintf(name, sizeof name, "bucket %zu, %.1f MB", bucket + 1, megabytes);
            timeline_add(trainer->timeline, TIMELINE_SUMS, name, span.began_ns, span.ended_ns);
        }
    }
    return 0;
}

int trainer_step(struct trainer *trainer, const struct batch *batch, const struct step_wish *wish,
                 struct error *err) {
    size_t place = trainer->buckets.places[trainer->graph.variable_count].start;
    float *rides = (float *)(void *)((char *)trainer->gradients + place);
    double rate = rate_at(&trainer->rate, batch->step);
    float mine[RIDE_COUNT] = {0};
    if (compute(trainer, batch, wish->is_recorded, mine, err) < 0) {
        return -1;
    }
    mine[RIDE_SAVE] = wish->saves;
    mine[RIDE_LEAVE] = wish->leaves;
    memcpy(rides, mine, sizeof mine);
    reducer_due(trainer->reducer, trainer->buckets.count - 1);
    if (apply(trainer, batch->step, rate, wish->is_recorded, err) < 0) {
        return -1;
    }
    memcpy(trainer->rides, rides, sizeof trainer->rides);
    trainer->step = batch->step + 1;
    if (!isfinite(trainer->rides[RIDE_LOSS])) {
        return error_set(err, ERROR_FAILED,
                         "the loss of step %lld is %g, at a learning rate of %g: lower it, or warm "
                         "up for longer",
                         (long long)trainer->step, (double)trainer->rides[RIDE_LOSS], rate);
    }
    return 0;
}

/* ---- statistics ----------------------------------------------------------------------------- */

static int average(struct comm *comm, void *context, struct error *err) {
    struct trainer *trainer = context;
    for (size_t i = 0; i < 2 * trainer->graph.norm_count; i++) {
        size_t count = statistic_count_of(trainer, i);
        if (comm_reduce(comm, trainer->statistics[i], count, err) < 0) {
            return -1;
        }
        for (size_t k = 0; k < count; k++) {
            trainer->statistics[i][k] /= (float)comm->size;
        }
    }
    return 0;
}

int trainer_average(struct trainer *trainer, struct error *err) {
    bool has_any = trainer->comm->size > 1 && trainer->graph.norm_count > 0;
    return has_any ? reducer_call(trainer->reducer, average, trainer, err) : 0;
}
