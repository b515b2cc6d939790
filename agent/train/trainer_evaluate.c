// SPDX-License-Identifier: Apache-2.0
/* Evaluates the network in its inference form over the test data, in their order; each rank takes
 * its slice. */
#include "agent/train/trainer_blame.h"
#include "agent/train/trainer_inputs.h"

#include "agent/train/dataset/order.h"
#include "agent/train/loss/host_loss.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Of each loss. */
struct sums {
    struct host_loss_sums heads[HEADS_MAX];
};

static int score(struct trainer *trainer, const struct batch *batch, struct sums *sums,
                 struct error *err) {
    struct prepared_graph *prepared = trainer->evaluated;
    const struct order_slice all = {0, batch->count};
    size_t own = trainer->network->input_count;
    trainer_set_inputs(trainer, batch, all, trainer->evaluation_inputs);
    while (prepared->samples && prepared->samples != batch->count) {
        prepared++;
        assert(prepared < trainer->evaluated + PREPARED_MAX);
    }
    if (prepared->samples == 0) {
        bool *is_bound = x_calloc(trainer->evaluation.output_count + 1, sizeof *is_bound);
        int result = training_open(trainer->device, &trainer->evaluation,
                                   trainer->evaluation_inputs, is_bound, &prepared->training, err);
        free(is_bound);
        if (result < 0) {
            return -1;
        }
        for (size_t i = 0; i < trainer->graph.variable_count; i++) {
            training_bind_input(prepared->training, own + i, trainer->results[i]);
        }
        prepared->samples = batch->count;
    }
    if (training_run(prepared->training, trainer->evaluation_inputs, trainer->evaluation_outputs,
                     NULL, err) < 0) {
        return trainer_blame(trainer, trainer->test, batch, all, err);
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        const struct host_loss_batch against = trainer_head_compared(trainer, i, batch);
        const char *name = trainer->heads[i].name;
        if (host_loss_add(&against, &trainer->evaluation_outputs[i], &sums->heads[i], err) < 0) {
            if (name) {
                error_context(err, "output \"%.64s\"", name);
            }
            return trainer_blame(trainer, trainer->test, batch, all, err);
        }
    }
    return 0;
}

static int gather_sums(struct comm *comm, void *context, struct error *err) {
    struct sums *sums = context, total = {0};
    struct sums *all = x_calloc((size_t)comm->size, sizeof *all);
    int result = comm_gather(comm, sums, sizeof *sums, all, err);
    for (size_t i = 0; i < (size_t)comm->size * HEADS_MAX; i++) {
        const struct host_loss_sums *one = &all[i / HEADS_MAX].heads[i % HEADS_MAX];
        struct host_loss_sums *to = &total.heads[i % HEADS_MAX];
        to->loss += one->loss;
        to->weight += one->weight;
        to->correct += one->correct;
        to->samples += one->samples;
        to->bad += one->bad;
    }
    free(all);
    *sums = total;
    return result;
}

/* The sum of all losses, by their weights. */
static double total_of(const struct trainer *trainer, const struct sums *sums) {
    double total = 0;
    for (size_t i = 0; i < trainer->head_count; i++) {
        total += trainer->heads[i].weight * sums->heads[i].loss / sums->heads[i].weight;
    }
    return total;
}

static void print_heads(const struct trainer *trainer, const struct sums *sums) {
    struct head_sums heads[HEADS_MAX] = {{0}};
    char text[HEAD_TEXT_MAX];
    for (size_t i = 0; i < trainer->head_count; i++) {
        const struct host_loss_sums *from = &sums->heads[i];
        heads[i] = (struct head_sums){from->loss, from->weight, (double)from->correct,
                                      (double)from->samples};
    }
    if (trainer->head_count > 1) {
        trainer_format_heads(trainer, heads, text);
        trainer_say(trainer, "test losses of the outputs: %s", text);
    }
}

static int check_sums(const struct trainer *trainer, const struct sums *sums, struct error *err) {
    for (size_t i = 0; i < trainer->head_count; i++) {
        const char *name = trainer->heads[i].name;
        if (!(sums->heads[i].weight > 0)) {
            error_set(err, ERROR_INVALID, "data.test: no sample can be used; %lld are bad",
                      (long long)sums->heads[0].bad);
            return name ? error_context(err, "output \"%.64s\"", name) : -1;
        }
    }
    double total = total_of(trainer, sums);
    return isfinite(total)
               ? 0
               : error_set(err, ERROR_FAILED,
                           "the loss over the test data is %g after step %lld, though that of the "
                           "training and all numbers of data.test are finite: a sample of "
                           "data.test is far from the others (data.normalize), or the network's "
                           "weights have grown too large (lower optimizer.learningRate)",
                           total, (long long)trainer->step);
}

int trainer_evaluate(struct trainer *trainer, double *ret_loss, double *ret_accuracy,
                     struct error *err) {
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    struct sums sums = {0};
    int64_t *bad = &sums.heads[0].bad;
    *ret_loss = *ret_accuracy = NAN;
    if (!trainer->test) {
        return 0;
    }
    struct loader_options options = {.dataset = trainer->test,
                                     .augment = &trainer->augment,
                                     .bad = trainer->bad_test,
                                     .batch_size = trainer->batch_size,
                                     .rank = trainer->comm->rank,
                                     .size = trainer->comm->size,
                                     .threads = MIN(trainer->job->threads, LOADER_THREADS_MAX)};
    options.end_step = order_steps(trainer->test->count, trainer->batch_size);
    if (loader_open(&options, &loader, err) < 0) {
        return -1;
    }
    int more;
    while ((more = loader_take(loader, &batch, err)) > 0) {
        *bad += batch->bad;
        if (batch->count && score(trainer, batch, &sums, err) < 0) {
            return -1;
        }
    }
    if (more < 0 || reducer_call(trainer->reducer, gather_sums, &sums, err) < 0) {
        return -1;
    }
    /* Every rank has the same sums, so all ranks fail. */
    *bad += trainer->test->damaged;
    trainer->bad_sums.most_test = (float)*bad;
    if (bad_samples_check(trainer->bad_test, *bad, err) < 0 ||
        check_sums(trainer, &sums, err) < 0) {
        return -1;
    }
    print_heads(trainer, &sums);
    const struct host_loss_sums *first = &sums.heads[MAX(trainer->accuracy_head, 0)];
    bool has_accuracy =
        trainer->accuracy_head >= 0 && trainer->graph.losses[trainer->accuracy_head].correct;
    *ret_loss = total_of(trainer, &sums);
    *ret_accuracy = has_accuracy ? (double)first->correct / (double)first->samples : NAN;
    return 0;
}
