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
    int64_t correct, samples, bad;
};

/* One place, in the form of the network's output: logits, or the result of a softmax. */
static void add_place(struct sums *sums, const struct label_places *places, const float *scores,
                      int64_t label, enum training_scores ending) {
    int64_t step = places->class_step, best = 0;
    double sum = 0, own = scores[label * step];
    for (int64_t k = 0; k < places->classes; k++) {
        best = scores[k * step] > scores[best * step] ? k : best;
    }
    double most = scores[best * step];
    for (int64_t k = 0; k < places->classes; k++) {
        sum += exp(scores[k * step] - most);
    }
    sums->loss += ending == TRAINING_PROBABILITIES       ? -log(own < 1e-30 ? 1e-30 : own)
                  : ending == TRAINING_LOG_PROBABILITIES ? -own
                                                         : log(sum) + most - own;
    sums->correct += best == label;
    sums->samples++;
}

static int add_classes(struct trainer *trainer, struct sums *sums, const struct batch *batch,
                       struct error *err) {
    const struct tensor *scores = &trainer->evaluation_outputs[0];
    struct shape shape = trainer->inputs[trainer->graph.target].shape;
    struct label_places places;
    shape.dims[0] = batch->count;
    if (loss_places(&scores->shape, &shape, &places, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < places.samples * places.places; i++) {
        const float *from = (const float *)scores->data +
                            i / places.places * places.places * places.classes +
                            i % places.places * places.place_step;
        bool is_ignored = batch->labels[i] == trainer->test->ignored &&
                          (trainer->test->counted || trainer->test->is_late);
        bool counts = !is_ignored && !(batch->is_bad && batch->is_bad[i / places.places]);
        if (counts) {
            add_place(sums, &places, from, batch->labels[i],
                      training_graph_scores(trainer->network));
        }
    }
    return 0;
}

/* One element of an output y that shall be t. */
static double number_loss(enum training_loss loss, double y, double t) {
    double far = fabs(y - t), near = fmin(far, 1);
    switch (loss) {
    case TRAINING_BINARY_CROSS_ENTROPY:
        return fmax(y, 0) + log1p(exp(-fabs(y))) - t * y;
    case TRAINING_HUBER:
        return near * far - near * near / 2;
    default:
        return far * far;
    }
}

static int add_numbers(const struct trainer *trainer, struct sums *sums, const struct batch *batch,
                       struct error *err) {
    const struct tensor *seen = &trainer->evaluation_outputs[0];
    const struct shape target = {2, {batch->count, trainer->test->target_count}};
    enum training_loss loss = trainer->options.loss;
    int64_t count = shape_count(&seen->shape);
    double sum = 0;
    if (loss_check_target(&seen->shape, &target, err) < 0) {
        return -1;
    }
    int64_t each = count / batch->count, bad = 0;
    for (int64_t i = 0; i < count; i++) {
        bool is_bad = batch->is_bad && batch->is_bad[i / each];
        sum += is_bad ? 0 : number_loss(loss, ((const float *)seen->data)[i], batch->targets[i]);
    }
    for (int64_t i = 0; batch->is_bad && i < batch->count; i++) {
        bad += batch->is_bad[i];
    }
    sums->loss += sum / (double)each;
    sums->samples += batch->count - bad;
    return 0;
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
            training_bind_input(prepared->training, 1 + i, trainer->results[i]);
        }
        prepared->samples = batch->count;
    }
    if (training_run(prepared->training, trainer->evaluation_inputs, trainer->evaluation_outputs,
                     NULL, err) < 0) {
        return -1;
    }
    return batch->labels ? add_classes(trainer, sums, batch, err)
                         : add_numbers(trainer, sums, batch, err);
}

static int gather_sums(struct comm *comm, void *context, struct error *err) {
    struct sums *sums = context, total = {0};
    struct sums *all = x_calloc((size_t)comm->size, sizeof *all);
    int result = comm_gather(comm, sums, sizeof *sums, all, err);
    for (int i = 0; i < comm->size; i++) {
        total.loss += all[i].loss;
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
    struct sums sums = {0};
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
    if (sums.samples == 0) {
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
            sums.loss / (double)sums.samples, (long long)trainer->step);
    }
    *ret_loss = sums.loss / (double)sums.samples;
    *ret_accuracy = trainer->test->classes ? (double)sums.correct / (double)sums.samples : NAN;
    return 0;
}
