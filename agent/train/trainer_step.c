// SPDX-License-Identifier: Apache-2.0
/* One step: samples, forward and backward, sums over ranks, new weights. */
#include "agent/train/trainer_blame.h"
#include "agent/train/trainer_inputs.h"

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

/* A step of the training. */
struct moment {
    int64_t step;
    double rate;
    bool is_recorded;
};

struct computing {
    struct trainer *trainer;
    const struct prepared_graph *prepared;
    bool is_recorded;
    bool is_whole;    /* the only part of the step, after which no gradient changes */
    int64_t since_ns; /* when the previous node ended */
};

/* Records how long a node took; on a host device a step has ended when it was started
 * (device.h). */
static void record_node(struct computing *computing, size_t step) {
    const char *operator= NULL, *node = NULL;
    int64_t now_ns = clock_monotonic_ns();
    if (training_step_node(computing->prepared->training, step, &operator, & node)) {
        char name[TRACE_NAME_MAX];
        snprintf(name, sizeof name, "%s %s", operator, node ? node : "");
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
    struct tensor sum;
    if (trainer->is_synced && training_is_rank_sum(computing->prepared->training, step, &sum) &&
        trainer_sum_ranks(trainer, &sum, err) < 0) {
        return -1;
    }
    for (size_t i = 0; computing->is_whole && i + 1 < trainer->buckets.count; i++) {
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
static void set_keys(struct trainer *trainer, const struct batch *batch, struct order_slice part) {
    trainer->inputs[trainer->graph.keys].shape.dims[0] = part.count;
    for (int64_t i = 0; i < part.count; i++) {
        trainer->keys[i] = (int64_t)philox_bits(trainer->seed, batch->epoch,
                                                batch->indices[part.first + i], DRAW_DROPOUT);
    }
}

/* The first sample of a tensor's part. */
static void *part_of(const struct tensor *tensor, void *data, struct order_slice part) {
    int64_t bytes =
        shape_count(&tensor->shape) / part.count * (int64_t)tensor_type_size(tensor->type);
    return (char *)data + part.first * bytes;
}

/* The scale is that of the whole batch, so the parts' losses and gradients are summed as they
 * are. */
static void set_inputs(struct trainer *trainer, const struct batch *batch,
                       struct order_slice part) {
    const struct training_graph *graph = &trainer->graph;
    trainer_set_inputs(trainer, batch, part, trainer->inputs);
    for (size_t i = 0; i < trainer->head_count; i++) {
        struct trainer_head *head = &trainer->heads[i];
        struct tensor *target = &trainer->inputs[graph->losses[i].target];
        target->shape.dims[0] = part.count;
        target->data = part_of(target, trainer_head_data(trainer, i, batch), part);
        /* With label smoothing, places of weight 0 have gradients, too: a batch of these counts for
         * nothing. */
        head->scale = (float)(head->counted.weight > 0 ? head->weight / head->counted.weight : 0);
    }
    if (graph->keys) {
        set_keys(trainer, batch, part);
    }
}

static int make_due(struct trainer *trainer, struct error *err) {
    for (size_t i = 0; i + 1 < trainer->buckets.count; i++) {
        if (trainer_bucket_due(trainer, i, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static float correct_of(const struct trainer *trainer, int head) {
    size_t output = head < 0 ? 0 : trainer->graph.losses[head].correct;
    return output ? (float)first_number(&trainer->outputs[output]) : 0;
}

static void add_scalars(const struct trainer *trainer, float *scalars) {
    scalars[SCALAR_LOSS] += (float)first_number(&trainer->outputs[0]);
    scalars[SCALAR_CORRECT] += correct_of(trainer, trainer->accuracy_head);
    for (size_t i = 0; trainer->head_count > 1 && i < trainer->head_count; i++) {
        const struct tensor *loss = &trainer->outputs[trainer->graph.losses[i].loss];
        scalars[SCALAR_COUNT + 2 * i] += (float)first_number(loss);
        scalars[SCALAR_COUNT + 2 * i + 1] += correct_of(trainer, (int)i);
    }
}

/* Buckets become due while the only part of a step is computed. */
static int compute_part(struct trainer *trainer, const struct batch *batch, struct order_slice part,
                        bool is_recorded, float *scalars, struct error *err) {
    struct prepared_graph *prepared;
    set_inputs(trainer, batch, part);
    if (trainer_find_prepared(trainer, part.count, &prepared, err) < 0) {
        return -1;
    }
    struct computing computing = {.trainer = trainer,
                                  .prepared = prepared,
                                  .is_recorded = is_recorded,
                                  .is_whole = part.count == batch->count && !trainer->is_synced,
                                  .since_ns = clock_monotonic_ns()};
    struct training_hook hook = {after_step, &computing};
    if (training_run(prepared->training, trainer->inputs, trainer->outputs, &hook, err) < 0) {
        return trainer_blame(trainer, trainer->train, batch, part, err);
    }
    add_scalars(trainer, scalars);
    average_norms(trainer);
    return 0;
}

/* Computes gradients, loss and the number of correct samples for this rank's samples, in parts; the
 * buckets become due. */
static int compute(struct trainer *trainer, const struct batch *batch, bool is_recorded,
                   float *scalars, struct error *err) {
    /* Fewer samples than ranks: this rank adds nothing. */
    if (batch->count == 0 && trainer->device->ops->zero(trainer->device, trainer->gradients,
                                                        trainer->buckets.bytes, err) < 0) {
        return -1;
    }
    int64_t parts = MIN(trainer->parts, batch->count);
    for (int64_t i = 0; i < parts; i++) {
        struct order_slice part = order_find_slice(batch->count, (int)i, (int)parts);
        trainer->share = 1 / (float)MAX(trainer_part_total(trainer, batch->total, i), 1);
        if (compute_part(trainer, batch, part, is_recorded, scalars, err) < 0 ||
            (parts > 1 && trainer_sum_part(trainer, i == 0, i == parts - 1, err) < 0)) {
            return -1;
        }
    }
    for (int64_t i = parts; trainer->is_synced && i < trainer->parts; i++) {
        if (trainer_part_total(trainer, batch->total, i) > 0 && trainer_join(trainer, err) < 0) {
            return -1;
        }
    }
    return parts == 1 && !trainer->is_synced ? 0 : make_due(trainer, err);
}

static void record_sum(struct trainer *trainer, size_t bucket, int64_t began_ns) {
    char name[TRACE_NAME_MAX];
    struct reducer_span span = reducer_bucket_span(trainer->reducer, bucket);
    double megabytes = (double)trainer->buckets.all[bucket].bytes / 1e6;
    timeline_add(trainer->timeline, TIMELINE_COMPUTE, "wait for a sum", began_ns,
                 clock_monotonic_ns());
    snprintf(name, sizeof name, "bucket %zu, %.1f MB", bucket + 1, megabytes);
    timeline_add(trainer->timeline, TIMELINE_SUMS, name, span.began_ns, span.ended_ns);
}

/* Updates the weights whose gradients are in the bucket. */
static int update(struct trainer *trainer, size_t bucket, const struct moment *moment,
                  struct error *err) {
    int64_t began_ns = clock_monotonic_ns();
    size_t first = trainer->first[bucket], count = trainer->first[bucket + 1] - first;
    if (optimizer_apply(trainer->optimizer, first, count, moment->step, moment->rate, err) < 0) {
        return -1;
    }
    if (moment->is_recorded) {
        timeline_add(trainer->timeline, TIMELINE_COMPUTE, "optimizer", began_ns,
                     clock_monotonic_ns());
    }
    return 0;
}

/* Waits for the sums, bucket by bucket, and updates the weights. The norm of all gradients is known
 * only when all are summed. */
static int apply(struct trainer *trainer, const struct moment *moment, struct error *err) {
    bool is_clipped = optimizer_clip_norm(trainer->optimizer) > 0;
    for (size_t i = 0; i < trainer->buckets.count; i++) {
        size_t bucket;
        int64_t began_ns = clock_monotonic_ns();
        if (reducer_wait(trainer->reducer, &bucket, err) < 0) {
            return -1;
        }
        if (moment->is_recorded) {
            record_sum(trainer, bucket, began_ns);
        }
        if (!is_clipped && update(trainer, bucket, moment, err) < 0) {
            return -1;
        }
    }
    if (is_clipped && trainer_clip(trainer, err) < 0) {
        return error_context(
            err, "step %lld, at a learning rate of %g (lower it, or warm up for longer)",
            (long long)moment->step + 1, moment->rate);
    }
    for (size_t i = 0; is_clipped && i < trainer->buckets.count; i++) {
        if (update(trainer, i, moment, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* How much a batch counts for each loss. */
struct head_counts {
    struct criterion_count counts[HEADS_MAX];
};

static int gather_counts(struct comm *comm, void *context, struct error *err) {
    struct head_counts *count = context, sum = {0};
    struct head_counts *all = x_calloc((size_t)comm->size, sizeof *all);
    int result = comm_gather(comm, count, sizeof *count, all, err);
    for (size_t i = 0; i < (size_t)comm->size * HEADS_MAX; i++) {
        const struct criterion_count *one = &all[i / HEADS_MAX].counts[i % HEADS_MAX];
        sum.counts[i % HEADS_MAX].weight += one->weight;
        sum.counts[i % HEADS_MAX].places += one->places;
    }
    free(all);
    *count = sum;
    return result;
}

static struct criterion_count count_only(const struct trainer *trainer, const struct batch *batch) {
    const struct criterion_labels labels = {.samples = batch->count,
                                            .places = shape_count(&trainer->augment.places),
                                            .labels = batch->labels,
                                            .has_ignored = trainer->options.has_ignored,
                                            .ignored = trainer->train->ignored};
    const struct criterion *criterion = &trainer->heads[0].criterion;
    double counted = (double)batch->counted;
    return criterion_weighs(criterion) ? criterion_count_batch(criterion, &labels)
                                       : (struct criterion_count){counted, counted};
}

static int count_places(struct trainer *trainer, const struct batch *batch, struct error *err) {
    struct head_counts own = {0};
    bool is_only = trainer->head_count == 1;
    bool is_own = !is_only || batch->counts_own || criterion_weighs(&trainer->heads[0].criterion);
    for (size_t i = 0; i < trainer->head_count; i++) {
        own.counts[i] =
            is_only ? count_only(trainer, batch) : trainer_head_count(trainer, i, batch);
    }
    if (is_own && trainer->comm->size > 1 &&
        reducer_call(trainer->reducer, gather_counts, &own, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        trainer->heads[i].counted = own.counts[i];
    }
    return 0;
}

int trainer_step(struct trainer *trainer, const struct batch *batch,
                 const struct step_request *request, struct error *err) {
    size_t place = trainer->buckets.places[trainer->graph.variable_count].start;
    float *scalars = trainer->gradients + place / sizeof(float);
    double rate = rate_at(&trainer->rate, batch->step);
    const struct moment moment = {batch->step, rate, request->is_recorded};
    float mine[SCALARS_MAX] = {0};
    size_t count = trainer_scalar_count(trainer);
    if (count_places(trainer, batch, err) < 0 ||
        compute(trainer, batch, request->is_recorded, mine, err) < 0) {
        return -1;
    }
    mine[SCALAR_BAD] = (float)batch->bad;
    mine[SCALAR_SAVE] = request->saves;
    mine[SCALAR_LEAVE] = request->leaves;
    if (trainer_device_write(trainer, scalars, mine, count, err) < 0 ||
        trainer_bucket_due(trainer, trainer->buckets.count - 1, err) < 0 ||
        apply(trainer, &moment, err) < 0 ||
        trainer_device_read(trainer, trainer->scalars, scalars, count, err) < 0) {
        return -1;
    }
    trainer->step = batch->step + 1;
    trainer->first_loss = batch->step == 0 ? trainer->scalars[SCALAR_LOSS] : trainer->first_loss;
    trainer->bad_sums.train += trainer->scalars[SCALAR_BAD];
    int64_t bad = (int64_t)trainer->bad_sums.train + trainer->train->damaged;
    if (bad_samples_check(trainer->bad_train, bad, err) < 0) {
        return -1;
    }
    if (!isfinite(trainer->scalars[SCALAR_LOSS])) {
        return error_set(err, ERROR_FAILED,
                         "the loss of step %lld is %g though all numbers of its samples are "
                         "finite: the training diverges at a learning rate of %g; lower it, or "
                         "warm up for longer",
                         (long long)trainer->step, (double)trainer->scalars[SCALAR_LOSS], rate);
    }
    return 0;
}
