// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_gradients.h"

#include "agent/comm/compare.h"
#include "agent/train/trainer_state.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- the same bits on all ranks ----------------------------------------------------------------
 */

struct comparing {
    const uint32_t *sums;    /* gradients, statistics, weights, and the instructions */
    size_t exact, variables; /* gradients and statistics; weights */
    bool is_same;
    struct compare_found found;
};

/* Called by the reducer's thread. */
static int compare_sums(struct comm *comm, void *context, struct error *err) {
    struct comparing *comparing = context;
    size_t exact = comparing->exact, last = exact + comparing->variables, count = last + 1;
    struct compare_found ignored;
    uint32_t *all = NULL;
    int result = compare_gather(comm, comparing->sums, count, &all, err);
    if (result == 0) {
        bool is_alike = compare_find(all, comm->size, count, last, count, &ignored);
        comparing->is_same =
            compare_find(all, comm->size, count, 0, is_alike ? last : exact, &comparing->found);
        result = comparing->is_same ? 0 : compare_host(comm, &comparing->found, err);
    }
    free(all);
    return result;
}

static int sum_of(const struct trainer *trainer, const float *data, size_t count, float *copy,
                  uint32_t *ret_sum, struct error *err) {
    if (copy && trainer_device_read(trainer, copy, data, count, err) < 0) {
        return -1;
    }
    *ret_sum = digest_crc32c(0, copy ? copy : data, count * sizeof *data);
    return 0;
}

/* copy: host memory for the largest variable; NULL: the device's is the host's. Gradients of a
 * trainer that has made no step are nothing yet. */
static int sum_variables(const struct trainer *trainer, float *copy, uint32_t *gradients,
                         uint32_t *weights, struct error *err) {
    bool has_gradients = trainer->step > trainer->block.begun_step;
    for (size_t i = 0; i < trainer->graph.variable_count; i++) {
        size_t size = trainer_variable_size(trainer, i);
        const float *gradient =
            trainer->gradients + trainer->buckets.places[i].start / sizeof(float);
        if ((has_gradients && sum_of(trainer, gradient, size, copy, &gradients[i], err) < 0) ||
            sum_of(trainer, trainer->weights[i], size, copy, &weights[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static const char *name_of_part(const struct trainer *trainer, size_t part) {
    size_t variables = trainer->graph.variable_count,
           exact = variables + 2 * trainer->graph.norm_count;
    int value = part < variables ? trainer->graph.variables[part]
                : part < exact   ? trainer_statistic_constant(trainer, part - variables)
                                 : trainer->graph.variables[part - exact];
    return trainer->network->values[value].name;
}

static int report_other(const struct trainer *trainer, const struct comparing *comparing,
                        struct error *err) {
    const struct compare_found *found = &comparing->found;
    const char *name = name_of_part(trainer, found->part);
    const char *what = found->part < comparing->variables ? "summed gradients"
                       : found->part < comparing->exact   ? "averages"
                                                          : "weights";
    if (found->rank < 0) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "step %lld: the ranks have different %s of %.120s, no more than %d of %d "
                         "the same: one of their machines computes or sends wrong numbers",
                         (long long)trainer->step, what, name, found->alike, trainer->comm->size);
    }
    return error_set(err, ERROR_UNAVAILABLE,
                     "step %lld: rank %d on %s has other %s of %.120s than %d of the %d ranks: its "
                     "machine computes or sends wrong numbers",
                     (long long)trainer->step, found->rank, found->host, what, name, found->alike,
                     trainer->comm->size);
}

bool trainer_compare_is_due(const struct trainer *trainer) {
    return trainer->step % MAX(trainer->block.check_every, 1) == 0 ||
           trainer->step == trainer->total_steps;
}

int trainer_compare(struct trainer *trainer, bool is_averaged, struct error *err) {
    size_t variables = trainer->graph.variable_count, largest = 1;
    size_t statistics = 2 * trainer->graph.norm_count, exact = variables + statistics;
    if (trainer->comm->size == 1 || trainer->block.check_every == 0 ||
        exact + variables + 1 > COMPARE_PARTS_MAX) {
        return 0;
    }
    for (size_t i = 0; i < variables; i++) {
        largest = MAX(largest, trainer_variable_size(trainer, i));
    }
    uint32_t *sums = x_calloc(exact + variables + 1, sizeof *sums);
    float *copy = trainer->device->is_host ? NULL : x_calloc(largest, sizeof *copy);
    struct comparing comparing = {.sums = sums, .exact = exact, .variables = variables};
    for (size_t i = 0; is_averaged && i < statistics; i++) {
        sums[variables + i] = digest_crc32c(0, trainer->statistics[i],
                                            trainer_statistic_size(trainer, i) * sizeof(float));
    }
    sums[exact + variables] = trainer->device->is_host ? compare_processor() : 0;
    int result = sum_variables(trainer, copy, sums, sums + exact, err);
    result = result < 0 ? result : reducer_call(trainer->reducer, compare_sums, &comparing, err);
    if (result == 0 && !comparing.is_same) {
        result = report_other(trainer, &comparing, err);
    }
    free(copy);
    free(sums);
    return result;
}
