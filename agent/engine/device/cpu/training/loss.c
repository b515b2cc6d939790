// SPDX-License-Identifier: Apache-2.0
/* Losses and their gradients. A loss is the sum over samples or places, in their order, times a
 * scale that the caller gives. */
#include "agent/engine/ops/infer/loss.h"
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/loss.h"

#include <math.h>
#include <stdlib.h>

struct cross_entropy {
    struct label_places places;
    const float *x;
    const int64_t *labels;
    float *dx;
    double *losses; /* per place */
    bool *correct;
    double smoothing, scale;
    const struct attribute *ignored; /* NULL: every place counts */
    const struct attribute *weights; /* of classes; NULL: all are 1 */
};

static bool is_ignored(const struct cross_entropy *of, int64_t label) {
    return of->ignored && label == of->ignored->integer;
}

static double target_of(const struct cross_entropy *of, double share, int64_t k, int64_t label) {
    double target = share + (k == label ? 1 - of->smoothing : 0);
    return of->weights ? target * (double)of->weights->numbers[k] : target;
}

/* One place: its loss, and dx, scale * (p sum(t) - t); t is the label's distribution, each class
 * times its weight. */
static void place_loss(const struct cross_entropy *of, int64_t index) {
    int64_t classes = of->places.classes, step = of->places.class_step, best = 0;
    int64_t label = of->labels[index];
    int64_t first = index / of->places.places * of->places.places * classes +
                    index % of->places.places * of->places.place_step;
    const float *x = of->x + first;
    float *dx = of->dx + first;
    double sum = 0, loss = 0, whole = 0, share = of->smoothing / (double)classes;
    for (int64_t k = 1; k < classes; k++) {
        best = x[k * step] > x[best * step] ? k : best;
    }
    double most = (double)x[best * step];
    for (int64_t k = 0; k < classes; k++) {
        sum += exp((double)x[k * step] - most);
    }
    sum = log(sum);
    for (int64_t k = 0; k < classes; k++) {
        whole += target_of(of, share, k, label);
    }
    for (int64_t k = 0; k < classes; k++) {
        double target = target_of(of, share, k, label);
        double logarithm = (double)x[k * step] - most - sum;
        loss -= target > 0 ? target * logarithm : 0;
        dx[k * step] =
            is_ignored(of, label) ? 0 : (float)(of->scale * (exp(logarithm) * whole - target));
    }
    of->losses[index] = is_ignored(of, label) ? 0 : loss;
    of->correct[index] = best == label && !is_ignored(of, label);
}

static void places_body(void *context, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        place_loss(context, i);
    }
}

static int check_labels(const struct cross_entropy *of, int64_t count, struct error *err) {
    for (int64_t i = 0; i < count; i++) {
        int64_t label = of->labels[i], classes = of->places.classes;
        if ((label < 0 || label >= classes) && !is_ignored(of, label)) {
            return error_set(err, ERROR_INVALID, "label %lld of sample %lld: 0 to %lld are classes",
                             (long long)label, (long long)(i / of->places.places),
                             (long long)classes - 1);
        }
    }
    return 0;
}

static int softmax_cross_entropy_run(const struct call *call, struct error *err) {
    struct cross_entropy of = {
        .x = call->inputs[0]->data,
        .labels = call->inputs[1]->data,
        .dx = call->outputs[1]->data,
        .smoothing = (double)node_number(call->node, "smoothing", 0),
        .scale = (double)*(const float *)call->inputs[2]->data,
        .ignored = node_attribute(call->node, "ignored"),
        .weights = node_attribute(call->node, "weights"),
    };
    const struct shape *labels = &call->inputs[1]->shape;
    int64_t count = shape_count(labels), right = 0;
    if (loss_places(&call->inputs[0]->shape, labels, &of.places, err) < 0 ||
        check_labels(&of, count, err) < 0) {
        return -1;
    }
    of.losses = x_calloc((size_t)count + 1, sizeof *of.losses);
    of.correct = x_calloc((size_t)count + 1, sizeof *of.correct);
    threads_run(cpu_threads(call), count, 64, places_body, &of);
    double loss = 0;
    for (int64_t i = 0; i < count; i++) {
        loss += of.losses[i];
        right += of.correct[i];
    }
    free(of.losses);
    free(of.correct);
    *(float *)call->outputs[0]->data = (float)(loss * of.scale);
    *(float *)call->outputs[2]->data = (float)right;
    return 0;
}
const struct kernel reference_softmax_cross_entropy = {"reference softmax_cross_entropy",
                                                       softmax_cross_entropy_run};

/* ---- connectionist temporal classification -------------------------------------------------- */

struct ctc_batch {
    struct ctc_sample *samples;
    double *losses; /* per sample */
    double scale;
    float *dx;
};

static void ctc_body(void *context, int64_t first, int64_t last) {
    const struct ctc_batch *of = context;
    for (int64_t i = first; i < last; i++) {
        const struct ctc_sample *sample = &of->samples[i];
        of->losses[i] = ctc_loss(sample, of->scale, of->dx + i * sample->steps * sample->classes);
    }
}

/* labels has room for those of all samples. */
static int fill_samples(const struct call *call, const struct ctc_shape *shape, int64_t *labels,
                        struct ctc_sample *samples, struct error *err) {
    for (int64_t i = 0; i < shape->samples; i++) {
        int64_t *own = labels + i * shape->labels;
        const int64_t *from = (const int64_t *)call->inputs[1]->data + i * shape->labels;
        int64_t count = ctc_labels(shape, from, i, own, err);
        if (count < 0) {
            return -1;
        }
        samples[i] = (struct ctc_sample){.steps = shape->steps,
                                         .classes = shape->classes,
                                         .scores = (const float *)call->inputs[0]->data +
                                                   i * shape->steps * shape->classes,
                                         .count = count,
                                         .labels = own,
                                         .blank = shape->blank};
    }
    return 0;
}

static int ctc_run(const struct call *call, struct error *err) {
    struct ctc_batch of = {.scale = (double)*(const float *)call->inputs[2]->data,
                           .dx = call->outputs[1]->data};
    struct ctc_shape shape;
    if (ctc_shape_of(&call->inputs[0]->shape, &call->inputs[1]->shape,
                     node_integer(call->node, "blank", 0), &shape, err) < 0) {
        return -1;
    }
    shape.ignored = node_integer(call->node, "ignored", -1);
    size_t count = (size_t)shape.samples;
    int64_t *labels = x_calloc(count * (size_t)shape.labels + 1, sizeof *labels);
    of.samples = x_calloc(count + 1, sizeof *of.samples);
    of.losses = x_calloc(count + 1, sizeof *of.losses);
    int result = fill_samples(call, &shape, labels, of.samples, err);
    if (result == 0) {
        double loss = 0;
        int64_t right = 0;
        threads_run(cpu_threads(call), shape.samples, 1, ctc_body, &of);
        for (size_t i = 0; i < count; i++) {
            loss += of.losses[i];
            right += ctc_is_correct(&of.samples[i]);
        }
        *(float *)call->outputs[0]->data = (float)(loss * of.scale);
        *(float *)call->outputs[2]->data = (float)right;
    }
    free(labels);
    free(of.samples);
    free(of.losses);
    return result;
}
const struct kernel reference_ctc_loss = {"reference ctc_loss", ctc_run};

/* ---- squares -------------------------------------------------------------------------------- */

static int mean_squared_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    const float *x = call->inputs[0]->data, *target = call->inputs[1]->data;
    double scale = (double)*(const float *)call->inputs[2]->data, loss = 0;
    int64_t count = shape_count(shape), each = count / MAX(shape->dims[0], 1);
    scale /= (double)MAX(each, 1);
    float *dx = call->outputs[1]->data;
    for (int64_t i = 0; i < count; i++) {
        double difference = (double)x[i] - (double)target[i];
        loss += difference * difference;
        dx[i] = (float)(2 * scale * difference);
    }
    *(float *)call->outputs[0]->data = (float)(loss * scale);
    return 0;
}
const struct kernel reference_mean_squared = {"reference mean_squared", mean_squared_run};
