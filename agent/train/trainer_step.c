// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include "agent/train/dataset/order.h"
#include "lib/time/clock.h"
#include "lib/trace.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- computing ------------------------------------------------------------------------------ */

struct computing {
    struct trainer *trainer;
    const struct prepared_graph *prepared;
    bool is_recorded;
    int64_t since_ns; /* when the previous node ended */
};

/* Records how long a node took; on a host device a step has ended when it was started
 * (device.h). */
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

/* Only for buckets before the last, which waits for the piggybacked scalars. */
static int after_step(void *context, size_t step, struct error *err) {
    struct computing *computing = context;
    struct trainer *trainer = computing->trainer;
    if (computing->is_recorded) {
        record_node(computing, step);
    }
    for (size_t i = 0; i + 1 < trainer->buckets.count; i++) {
        if (computing->prepared->due[i] == step && trainer_bucket_due(trainer, i, err) < 0) {
            return -1;
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

/* A key depends only on the sample and its epoch, so the rank does not matter. */
static void set_keys(struct trainer *trainer, const struct batch *batch) {
    trainer->inputs[trainer->graph.keys].shape.dims[0] = batch->count;
    for (int64_t i = 0; i < batch->count; i++) {
        trainer->keys[i] =
            (int64_t)philox_bits(trainer->seed, batch->epoch, batch->indices[i], DRAW_DROPOUT);
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

/* Computes gradients, loss and the number of correct samples for this rank's samples; the buckets
 * become due. */
static int compute(struct trainer *trainer, const struct batch *batch, bool is_recorded,
                   float *scalars, struct error *err) {
    if (batch->count == 0) { /* fewer samples than ranks: this rank adds nothing */
        int result = trainer->device->ops->zero(trainer->device, trainer->gradients,
                                                trainer->buckets.bytes, err);
        for (size_t i = 0; result == 0 && i + 1 < trainer->buckets.count; i++) {
            result = trainer_bucket_due(trainer, i, err);
        }
        return result;
    }
    struct prepared_graph *prepared;
    set_inputs(trainer, batch);
    if (trainer_find_prepared(trainer, batch->count, &prepared, err) < 0) {
        return -1;
    }
    struct computing computing = {trainer, prepared, is_recorded, clock_monotonic_ns()};
    struct training_hook hook = {after_step, &computing};
    if (training_run(prepared->training, trainer->inputs, trainer->outputs, &hook, err) < 0) {
        return -1;
    }
    scalars[SCALAR_LOSS] = (float)first_number(&trainer->outputs[0]);
    size_t correct = trainer->graph.correct;
    scalars[SCALAR_CORRECT] = correct ? (float)first_number(&trainer->outputs[correct]) : 0;
    average_norms(trainer);
    return 0;
}

/* Waits for the sums, bucket by bucket, and updates the weights. */
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
        if (optimizer_apply(trainer->optimizer, trainer->first[bucket], count, step, rate, err) <
            0) {
            return -1;
        }
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

int trainer_step(struct trainer *trainer, const struct batch *batch,
                 const struct step_request *request, struct error *err) {
    size_t place = trainer->buckets.places[trainer->graph.variable_count].start;
    float *scalars = trainer->gradients + place / sizeof(float);
    double rate = rate_at(&trainer->rate, batch->step);
    float mine[SCALAR_COUNT] = {0};
    if (compute(trainer, batch, request->is_recorded, mine, err) < 0) {
        return -1;
    }
    mine[SCALAR_SAVE] = request->saves;
    mine[SCALAR_LEAVE] = request->leaves;
    if (trainer_device_write(trainer, scalars, mine, SCALAR_COUNT, err) < 0 ||
        trainer_bucket_due(trainer, trainer->buckets.count - 1, err) < 0 ||
        apply(trainer, batch->step, rate, request->is_recorded, err) < 0 ||
        trainer_device_read(trainer, trainer->scalars, scalars, SCALAR_COUNT, err) < 0) {
        return -1;
    }
    trainer->step = batch->step + 1;
    if (!isfinite(trainer->scalars[SCALAR_LOSS])) {
        return error_set(err, ERROR_FAILED,
                         "the loss of step %lld is %g, at a learning rate of %g: lower it, or warm "
                         "up for longer",
                         (long long)trainer->step, (double)trainer->scalars[SCALAR_LOSS], rate);
    }
    return 0;
}

/* ---- statistics ----------------------------------------------------------------------------- */

static int average(struct comm *comm, void *context, struct error *err) {
    struct trainer *trainer = context;
    for (size_t i = 0; i < 2 * trainer->graph.norm_count; i++) {
        size_t count = trainer_statistic_size(trainer, i);
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
