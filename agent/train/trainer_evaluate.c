// SPDX-License-Identifier: Apache-2.0
/* Evaluates the network in its inference form over the test data, in their order; each rank takes
 * its slice. Losses are summed in double precision, without label smoothing. */
#include "agent/train/trainer_state.h"

#include "agent/train/dataset/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct sums {
    double loss;
    int64_t correct, samples;
};

/* Scores [samples, classes] in the form of the network's output: logits, or the result of a
 * softmax. */
static void add_classes(struct sums *sums, const struct tensor *scores, const struct batch *batch,
                        enum training_scores ending) {
    int64_t classes = shape_count(&scores->shape) / batch->count;
    const float *row = scores->data;
    for (int64_t i = 0; i < batch->count; i++, row += classes) {
        double most = -INFINITY, sum = 0, own = row[batch->labels[i]];
        int64_t best = 0;
        for (int64_t k = 0; k < classes; k++) {
            best = row[k] > row[best] ? k : best;
        }
        most = row[best];
        for (int64_t k = 0; k < classes; k++) {
            sum += exp(row[k] - most);
        }
        sums->loss += ending == TRAINING_PROBABILITIES       ? -log(own < 1e-30 ? 1e-30 : own)
                      : ending == TRAINING_LOG_PROBABILITIES ? -own
                                                             : log(sum) + most - own;
        sums->correct += best == batch->labels[i];
    }
    sums->samples += batch->count;
}

static void add_numbers(struct sums *sums, const struct tensor *seen, const struct batch *batch) {
    int64_t count = shape_count(&seen->shape);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double far = ((const float *)seen->data)[i] - batch->targets[i];
        sum += far * far;
    }
    sums->loss += sum / ((double)count / (double)batch->count);
    sums->samples += batch->count;
}

static int score(struct trainer *trainer, const struct batch *batch, struct sums *sums,
                 struct error *err) {
    struct prepared_graph *prepared = trainer->evaluated;
    struct tensor *input = &trainer->evaluation_inputs[0];
    input->shape.dims[0] = batch->count;
    input->data = batch->samples;
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
            training_bind_input(prepared->training, 1 + i, trainer->weights[i]);
        }
        prepared->samples = batch->count;
    }
    if (training_run(prepared->training, trainer->evaluation_inputs, trainer->evaluation_outputs,
                     NULL, err) < 0) {
        return -1;
    }
    if (batch->labels) {
        add_classes(sums, &trainer->evaluation_outputs[0], batch,
                    training_graph_scores(trainer->network));
    } else {
        add_numbers(sums, &trainer->evaluation_outputs[0], batch);
    }
    return 0;
}

static int gather_sums(struct comm *comm, void *context, struct error *err) {
    struct sums *sums = context, total = {0};
    struct sums *all = x_calloc((size_t)comm->size, sizeof *all);
    int result = comm_gather(comm, sums, sizeof *sums, all, err);
    for (int i = 0; i < comm->size; i++) {
        total.loss += all[i].loss;
        total.correct += all[i].correct;
        total.samples += all[i].samples;
    }
    free(all);
    *sums = total;
    return result;
}

int trainer_evaluate(struct trainer *trainer, double *ret_loss, double *ret_accuracy,
                     struct error *err) {
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    struct sums sums = {0};
    *ret_loss = *ret_accuracy = NAN;
    if (!trainer->test) {
        return 0;
    }
    struct loader_options options = {.dataset = trainer->test,
                                     .augment = &trainer->augment,
                                     .batch_size = trainer->batch_size,
                                     .rank = trainer->comm->rank,
                                     .size = trainer->comm->size,
                                     .threads = trainer->job->threads};
    options.end_step = order_steps(trainer->test->count, trainer->batch_size);
    if (loader_open(&options, &loader, err) < 0) {
        return -1;
    }
    int more;
    while ((more = loader_take(loader, &batch, err)) > 0) {
        if (batch->count && score(trainer, batch, &sums, err) < 0) {
            return -1;
        }
    }
    if (more < 0 || reducer_call(trainer->reducer, gather_sums, &sums, err) < 0) {
        return -1;
    }
    /* Every rank has the same sums, so all ranks fail. */
    if (!isfinite(sums.loss)) {
        return error_set(
            err, ERROR_FAILED,
            "the loss over the test data is %g after step %lld, though that of the "
            "training is finite: a sample of data.test is not a number or far from the "
            "others (data.normalize), or the network's weights have grown too large (lower "
            "optimizer.learningRate)",
            sums.loss / (double)sums.samples, (long long)trainer->step);
    }
    *ret_loss = sums.loss / (double)sums.samples;
    *ret_accuracy = trainer->test->classes ? (double)sums.correct / (double)sums.samples : NAN;
    return 0;
}
