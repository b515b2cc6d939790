// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include "agent/train/dataset/order.h"

#include <stdlib.h>

/* ---- memory of the device ------------------------------------------------------------------- */

int trainer_device_floats(struct trainer *trainer, size_t count, float **ret, struct error *err) {
    void *memory;
    if (trainer->device->ops->alloc(trainer->device, count * sizeof(float), &memory, err) < 0) {
        return -1;
    }
    *ret = memory;
    return 0;
}

int trainer_device_write(const struct trainer *trainer, float *to, const float *from, size_t count,
                         struct error *err) {
    return trainer->device->ops->copy(trainer->device, COPY_TO_DEVICE, to, from,
                                      count * sizeof(float), err);
}

int trainer_device_read(const struct trainer *trainer, float *to, const float *from, size_t count,
                        struct error *err) {
    return trainer->device->ops->copy(trainer->device, COPY_TO_HOST, to, from,
                                      count * sizeof(float), err);
}

/* ---- sums ----------------------------------------------------------------------------------- */

int trainer_bucket_due(struct trainer *trainer, size_t bucket, struct error *err) {
    if (trainer->events &&
        trainer->device->training->record(trainer->device, trainer->events[bucket], err) < 0) {
        return -1;
    }
    reducer_due(trainer->reducer, bucket);
    return 0;
}

/* The reducer's thread calls these two. */
static int await_bucket(void *context, size_t bucket, struct error *err) {
    struct trainer *trainer = context;
    return trainer->device->training->await(trainer->device, trainer->events[bucket], err);
}

static int sum_bucket(struct comm *comm, void *context, size_t bucket, struct error *err) {
    struct trainer *trainer = context;
    struct device *device = trainer->device;
    size_t bytes = trainer->buckets.all[bucket].bytes, count = bytes / sizeof(float);
    float *values = trainer->gradients + trainer->buckets.all[bucket].start / sizeof(float);
    if (comm->ops->reduce_device) {
        return comm_reduce_device(comm, values, count, err);
    }
    float *staging = trainer->staging;
    if (device->training->copy_concurrent(device, COPY_TO_HOST, staging, values, bytes, err) < 0 ||
        comm_reduce(comm, staging, count, err) < 0) {
        return -1;
    }
    return device->training->copy_concurrent(device, COPY_TO_DEVICE, values, staging, bytes, err);
}

int trainer_make_reducer_ops(struct trainer *trainer, struct reducer_ops *ret_ops,
                             struct error *err) {
    struct device *device = trainer->device;
    size_t count = trainer->buckets.count, most = 0;
    *ret_ops = (struct reducer_ops){0};
    if (device->is_host) {
        return 0;
    }
    trainer->events = x_calloc(count + 1, sizeof(struct device_event *));
    for (size_t i = 0; i < count; i++) {
        most = MAX(most, trainer->buckets.all[i].bytes);
        if (device->training->event_new(device, &trainer->events[i], err) < 0) {
            return -1;
        }
    }
    if (!trainer->comm->ops->reduce_device) {
        trainer->staging = x_malloc(most);
    }
    *ret_ops = (struct reducer_ops){await_bucket, sum_bucket, trainer};
    return 0;
}

void trainer_free_memory(struct trainer *trainer) {
    struct device *device = trainer->device;
    for (size_t i = 0; trainer->weights && i < trainer->graph.variable_count; i++) {
        if (trainer->weights[i]) {
            device->ops->free(device, trainer->weights[i]);
        }
    }
    for (size_t i = 0; trainer->events && i < trainer->buckets.count; i++) {
        if (trainer->events[i]) {
            device->training->event_free(device, trainer->events[i]);
        }
    }
    if (trainer->gradients) {
        device->ops->free(device, trainer->gradients);
    }
    free(trainer->weights);
    free(trainer->results);
    free(trainer->events);
    free(trainer->staging);
}

/* ---- the block of all gradients ------------------------------------------------------------- */

/* The elements of the block. The gaps between gradients are 0 (buckets.h) and do not matter. */
static size_t block_count(const struct trainer *trainer) {
    return trainer->buckets.places[trainer->graph.variable_count].start / sizeof(float);
}

static struct tensor vector(size_t count, float *data) {
    return (struct tensor){TENSOR_FLOAT32, {1, {(int64_t)count}}, data, false};
}

/* Inputs and outputs of the sum are bound; it is in place. */
static int open_sum(struct trainer *trainer, struct error *err) {
    struct gradient_block *block = &trainer->block;
    size_t count = block_count(trainer);
    const struct tensor inputs[] = {vector(count, NULL), vector(count, NULL)};
    if (trainer_device_floats(trainer, count, &block->kept, err) < 0) {
        return -1;
    }
    training_optimizer_sum_graph((int64_t)count, &block->sum.graph);
    if (training_open(trainer->device, &block->sum.graph, inputs, (const bool[]){true},
                      &block->sum.training, err) < 0) {
        return -1;
    }
    training_bind_input(block->sum.training, 0, block->kept);
    training_bind_input(block->sum.training, 1, trainer->gradients);
    return 0;
}

int trainer_sum_part(struct trainer *trainer, bool is_first, bool is_last, struct error *err) {
    struct gradient_block *block = &trainer->block;
    size_t count = block_count(trainer);
    const struct tensor inputs[] = {vector(count, NULL), vector(count, NULL)};
    struct tensor output;
    if (!block->sum.training && open_sum(trainer, err) < 0) {
        return -1;
    }
    if (is_first &&
        trainer->device->ops->zero(trainer->device, block->kept, count * sizeof(float), err) < 0) {
        return -1;
    }
    training_bind(block->sum.training, 0, is_last ? trainer->gradients : block->kept);
    return training_run(block->sum.training, inputs, &output, NULL, err);
}

int trainer_clip(struct trainer *trainer, struct error *err) {
    struct block_pass *norm = &trainer->block.norm;
    size_t count = block_count(trainer);
    const struct tensor input = vector(count, NULL);
    struct tensor output;
    if (!norm->training) {
        training_optimizer_norm_graph((int64_t)count, &norm->graph);
        if (training_open(trainer->device, &norm->graph, &input, (const bool[]){false},
                          &norm->training, err) < 0) {
            return -1;
        }
        training_bind_input(norm->training, 0, trainer->gradients);
    }
    if (training_run(norm->training, &input, &output, NULL, err) < 0) {
        return -1;
    }
    return optimizer_scale(trainer->optimizer, (double)*(const float *)output.data, err);
}

void trainer_free_block(struct trainer *trainer) {
    struct block_pass *passes[] = {&trainer->block.norm, &trainer->block.sum};
    for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
        training_free(passes[i]->training);
        graph_release(&passes[i]->graph);
    }
    if (trainer->block.kept) {
        trainer->device->ops->free(trainer->device, trainer->block.kept);
    }
}

/* ---- batch normalizations over several ranks ------------------------------------------------ */

/* Batch normalizations over several ranks: with spec.trainer.syncBatchNorm the graph has sums over
 * the ranks, which are added here, between its steps; without, each rank has its own statistics. */

int64_t trainer_part_total(const struct trainer *trainer, int64_t total, int64_t index) {
    int64_t sum = 0;
    for (int rank = 0; rank < trainer->comm->size; rank++) {
        int64_t own = order_find_slice(total, rank, trainer->comm->size).count;
        int64_t parts = MIN(trainer->parts, own);
        sum += index < parts ? order_find_slice(own, (int)index, (int)parts).count : 0;
    }
    return sum;
}

struct numbers {
    float *values;
    size_t count;
};

static int sum_numbers(struct comm *comm, void *context, struct error *err) {
    const struct numbers *numbers = context;
    return comm_reduce(comm, numbers->values, numbers->count, err);
}

/* Through host memory: the vectors are as long as a layer has channels. */
int trainer_sum_ranks(struct trainer *trainer, const struct tensor *sum, struct error *err) {
    struct numbers numbers = {.count = (size_t)shape_count(&sum->shape)};
    float *copy = numbers.values = x_malloc((numbers.count + 1) * sizeof *copy);
    int result = trainer_device_read(trainer, copy, sum->data, numbers.count, err) < 0 ||
                         reducer_call(trainer->reducer, sum_numbers, &numbers, err) < 0
                     ? -1
                     : trainer_device_write(trainer, sum->data, copy, numbers.count, err);
    free(copy);
    return result;
}

/* The sums' order and sizes do not depend on the number of samples. */
int trainer_join(struct trainer *trainer, struct error *err) {
    const struct training *training = trainer->prepared[0].training;
    for (size_t step = 0; step < training_step_count(training); step++) {
        struct tensor sum;
        if (!training_is_rank_sum(training, step, &sum)) {
            continue;
        }
        struct numbers zeros = {.count = (size_t)shape_count(&sum.shape)};
        zeros.values = x_calloc(zeros.count + 1, sizeof *zeros.values);
        int result = reducer_call(trainer->reducer, sum_numbers, &zeros, err);
        free(zeros.values);
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}

/* Rank 0 has a sample in every part, so it has seen the statistics of all: with sums over ranks
 * these are the ranks'. */
static int average(struct comm *comm, void *context, struct error *err) {
    struct trainer *trainer = context;
    for (size_t i = 0; i < 2 * trainer->graph.norm_count; i++) {
        size_t count = trainer_statistic_size(trainer, i);
        float *values = trainer->statistics[i];
        if ((trainer->is_synced ? comm_broadcast(comm, values, count * sizeof *values, err)
                                : comm_reduce(comm, values, count, err)) < 0) {
            return -1;
        }
        for (size_t k = 0; !trainer->is_synced && k < count; k++) {
            values[k] /= (float)comm->size;
        }
    }
    return 0;
}

int trainer_average(struct trainer *trainer, struct error *err) {
    bool has_any = trainer->comm->size > 1 && trainer->graph.norm_count > 0;
    return has_any ? reducer_call(trainer->reducer, average, trainer, err) : 0;
}

void trainer_say_norms(const struct trainer *trainer) {
    size_t count = trainer->graph.norm_count;
    if (count > 0 && trainer->comm->size > 1 && !trainer->is_synced) {
        trainer_say(trainer,
                    "%zu batch normalization%s the statistics of each rank's own samples: the "
                    "result depends on the number of ranks, here %d; with syncBatchNorm: true it "
                    "does not",
                    count, count == 1 ? " uses" : "s use", trainer->comm->size);
    }
}
