// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_norms.h"

#include "agent/train/dataset/order.h"
#include "agent/train/trainer_state.h"

#include <stdlib.h>

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
