// SPDX-License-Identifier: Apache-2.0
#include "agent/train/loss/host_loss.h"

#include "agent/engine/loss.h"

#include <math.h>
#include <stdlib.h>

static bool is_bad(const struct host_loss_batch *batch, int64_t sample) {
    return batch->is_bad && batch->is_bad[sample];
}

static double log_of_probability(double probability) {
    return log(probability < 1e-30 ? 1e-30 : probability);
}

/* ---- a class for each place ----------------------------------------------------------------- */

/* One place, in the form of the network's output: logits, or the result of a softmax. */
static void add_place(const struct host_loss_batch *batch, const struct label_places *places,
                      const float *scores, int64_t label, struct host_loss_sums *sums) {
    const float *weights = batch->settings->class_weights;
    int64_t step = places->class_step, best = 0;
    double sum = 0, own = scores[label * step];
    double weight = weights ? (double)weights[label] : 1;
    for (int64_t k = 0; k < places->classes; k++) {
        best = scores[k * step] > scores[best * step] ? k : best;
    }
    double most = scores[best * step];
    for (int64_t k = 0; k < places->classes; k++) {
        sum += exp(scores[k * step] - most);
    }
    sums->loss += weight * (batch->ending == TRAINING_PROBABILITIES       ? -log_of_probability(own)
                            : batch->ending == TRAINING_LOG_PROBABILITIES ? -own
                                                                          : log(sum) + most - own);
    sums->weight += weight;
    sums->correct += best == label;
    sums->samples++;
}

bool host_loss_fits_both(const struct shape *scores, const struct shape *labels) {
    struct label_places places;
    struct error ignored = {0};
    return loss_places(scores, labels, &places, &ignored) == 0 && places.fits_both;
}

static int add_places(const struct host_loss_batch *batch, const struct tensor *output,
                      struct host_loss_sums *sums, struct error *err) {
    const struct criterion_labels *labels = &batch->labels;
    struct label_places places;
    if (loss_places(&output->shape, &batch->target, &places, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < places.samples * places.places; i++) {
        const float *from = (const float *)output->data +
                            i / places.places * places.places * places.classes +
                            i % places.places * places.place_step;
        int64_t label = labels->labels[i];
        bool counts =
            !(labels->has_ignored && label == labels->ignored) && !is_bad(batch, i / places.places);
        if (counts && (label < 0 || label >= places.classes)) {
            return error_set(err, ERROR_INVALID, "label %lld of sample %lld: 0 to %lld are classes",
                             (long long)label, (long long)(i / places.places),
                             (long long)places.classes - 1);
        }
        if (counts) {
            add_place(batch, &places, from, label, sums);
        }
    }
    return 0;
}

/* ---- sequences of labels -------------------------------------------------------------------- */

static float *logarithms_of(const float *probabilities, int64_t count) {
    float *result = x_calloc((size_t)count + 1, sizeof *result);
    for (int64_t i = 0; i < count; i++) {
        result[i] = (float)log_of_probability((double)probabilities[i]);
    }
    return result;
}

static int add_sequences(const struct host_loss_batch *batch, const struct tensor *output,
                         struct host_loss_sums *sums, struct error *err) {
    const struct criterion_labels *labels = &batch->labels;
    int64_t blank = batch->settings->blank;
    struct ctc_shape shape;
    if (ctc_shape_of(&output->shape, &batch->target, blank, &shape, err) < 0) {
        return -1;
    }
    shape.ignored = labels->ignored;
    int64_t *own = x_calloc((size_t)shape.labels + 1, sizeof *own),
            each = shape.steps * shape.classes;
    int result = 0;
    for (int64_t i = 0; result == 0 && i < shape.samples; i++) {
        const float *scores = (const float *)output->data + i * each;
        if (is_bad(batch, i)) {
            continue;
        }
        int64_t count = ctc_labels(&shape, labels->labels + i * shape.labels, i, own, err);
        if (count < 0) {
            result = -1;
            break;
        }
        float *made = batch->ending == TRAINING_PROBABILITIES ? logarithms_of(scores, each) : NULL;
        const struct ctc_sample sample = {shape.steps, shape.classes, made ? made : scores,
                                          count,       own,           blank};
        sums->loss += ctc_loss(&sample, 1, NULL);
        sums->weight += 1;
        sums->correct += ctc_is_correct(&sample);
        sums->samples++;
        free(made);
    }
    free(own);
    return result;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* -log P of a t that is 1 with the probability p. */
static double sigmoid_loss(double p, double t) {
    return -(t * log_of_probability(p) + (1 - t) * log_of_probability(1 - p));
}

/* One element of an output y that shall be t. */
static double number_loss(const struct host_loss_batch *batch, double y, double t) {
    double far = fabs(y - t), near = fmin(far, 1);
    enum training_loss loss = batch->settings->loss;
    if (loss == TRAINING_BINARY_CROSS_ENTROPY && batch->ending == TRAINING_SIGMOIDS) {
        return sigmoid_loss(y, t);
    }
    switch (loss) {
    case TRAINING_BINARY_CROSS_ENTROPY:
        return fmax(y, 0) + log1p(exp(-fabs(y))) - t * y;
    case TRAINING_HUBER:
        return near * far - near * near / 2;
    default:
        return far * far;
    }
}

static int add_numbers(const struct host_loss_batch *batch, const struct tensor *output,
                       struct host_loss_sums *sums, struct error *err) {
    if (loss_check_target(&output->shape, &batch->target, err) < 0) {
        return -1;
    }
    int64_t samples = batch->target.dims[0], each = shape_count(&output->shape) / MAX(samples, 1);
    for (int64_t i = 0; i < samples; i++) {
        double sum = 0;
        if (is_bad(batch, i)) {
            continue;
        }
        for (int64_t k = i * each; k < (i + 1) * each; k++) {
            sum += number_loss(batch, ((const float *)output->data)[k], batch->numbers[k]);
        }
        sums->loss += sum / (double)MAX(each, 1);
        sums->weight += 1;
        sums->samples++;
    }
    return 0;
}

int host_loss_add(const struct host_loss_batch *batch, const struct tensor *output,
                  struct host_loss_sums *sums, struct error *err) {
    switch (batch->settings->loss) {
    case TRAINING_CROSS_ENTROPY:
        return add_places(batch, output, sums, err);
    case TRAINING_CTC:
        return add_sequences(batch, output, sums, err);
    default:
        return add_numbers(batch, output, sums, err);
    }
}
