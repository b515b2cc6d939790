// SPDX-License-Identifier: Apache-2.0
/* Evaluates the network in its inference form over the test data, in their order; each rank takes
 * its slice. */
#include "agent/train/trainer_inputs.h"

#include "agent/train/dataset/order.h"
#include "agent/train/loss/host_loss.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What the network's output for the batch is compared with. */
static struct host_loss_batch compared(const struct trainer *trainer, const struct batch *batch) {
    struct shape target = trainer->inputs[trainer->graph.target].shape;
    const struct dataset *test = trainer->test;
    target.dims[0] = batch->count;
    return (struct host_loss_batch){
        .settings = &trainer->loss,
        .labels = {.samples = batch->count,
                   .places = shape_count(&trainer->augment.places),
                   .labels = batch->labels,
                   .has_ignored = test->counted || test->is_late || trainer->augment.moves_places,
                   .ignored = test->ignored},
        .target = target,
        .numbers = batch->targets,
        .is_bad = batch->is_bad,
        .ending = training_graph_scores(trainer->network)};
}

static int score(struct trainer *trainer, const struct batch *batch, struct host_loss_sums *sums,
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
        return -1;
    }
    const struct host_loss_batch against = compared(trainer, batch);
    return host_loss_add(&against, &trainer->evaluation_outputs[0], sums, err);
}

static int gather_sums(struct comm *comm, void *context, struct error *err) {
    struct host_loss_sums *sums = context, total = {0};
    struct host_loss_sums *all = x_calloc((size_t)comm->size, sizeof *all);
    int result = comm_gather(comm, sums, sizeof *sums, all, err);
    for (int i = 0; i < comm->size; i++) {
        total.loss += all[i].loss;
        total.weight += all[i].weight;
        total.correct += all[i].correct;
        total.samples += all[i].samples;
        total.bad += all[i].bad;
    }
    free(all);
    *sums = total;
    return result;
}

int trainer_evaluate(struct trainer *trainer, double *ret_loss, double *ret_accuracy,
                     struct error *err) {
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    struct host_loss_sums sums = {0};
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
        sums.bad += batch->bad;
        if (batch->count && score(trainer, batch, &sums, err) < 0) {
            return -1;
        }
    }
    if (more < 0 || reducer_call(trainer->reducer, gather_sums, &sums, err) < 0) {
        return -1;
    }
    /* Every rank has the same sums, so all ranks fail. */
    sums.bad += trainer->test->damaged;
    trainer->bad_sums.most_test = (float)sums.bad;
    if (bad_samples_check(trainer->bad_test, sums.bad, err) < 0) {
        return -1;
    }
    if (!(sums.weight > 0)) {
        return error_set(err, ERROR_INVALID, "data.test: no sample counts; %lld are bad",
                         (long long)sums.bad);
    }
    if (!isfinite(sums.loss)) {
        return error_set(
            err, ERROR_FAILED,
            "the loss over the test data is %g after step %lld, though that of the "
            "training and all numbers of data.test are finite: a sample of data.test is far from "
            "the others (data.normalize), or the network's weights have grown too large (lower "
            "optimizer.learningRate)",
            sums.loss / sums.weight, (long long)trainer->step);
    }
    *ret_loss = sums.loss / sums.weight;
    *ret_accuracy = trainer->test->classes ? (double)sums.correct / (double)sums.samples : NAN;
    return 0;
}
