// SPDX-License-Identifier: Apache-2.0
/* Losses and their gradients. A loss is the sum over samples or places, in their order, times a
 * scale that the caller gives. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/training_graph.h"

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
};

static bool is_ignored(const struct cross_entropy *of, int64_t label) {
    return of->ignored && label == of->ignored->integer;
}

/* One place: its loss, and dx, scale * (p - t); t is the label's distribution. */
static void place_loss(const struct cross_entropy *of, int64_t index) {
    int64_t classes = of->places.classes, step = of->places.class_step, best = 0;
    int64_t label = of->labels[index];
    int64_t first = index / of->places.places * of->places.places * classes +
                    index % of->places.places * of->places.place_step;
    const float *x = of->x + first;
    float *dx = of->dx + first;
    double sum = 0, loss = 0, share = of->smoothing / (double)classes;
    for (int64_t k = 1; k < classes; k++) {
        best = x[k * step] > x[best * step] ? k : best;
    }
    double most = (double)x[best * step];
    for (int64_t k = 0; k < classes; k++) {
        sum += exp((double)x[k * step] - most);
    }
    sum = log(sum);
    for (int64_t k = 0; k < classes; k++) {
        double target = share + (k == label ? 1 - of->smoothing : 0);
        double logarithm = (double)x[k * step] - most - sum;
        loss -= target > 0 ? target * logarithm : 0;
        dx[k * step] = is_ignored(of, label) ? 0 : (float)(of->scale * (exp(logarithm) - target));
    }
    of->losses[index] = is_ignored(of, label) ? 0 : loss;
    of->correct[index] = best == label;
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

static int mean_squared_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    const float *x = call->inputs[0]->data, *target = call->inputs[1]->data;
    double scale = (double)*(const float *)call->inputs[2]->data, loss = 0;
    int64_t count = shape_count(shape), each = count / MAX(shape->dims[0], 1);
    scale /= (double)MAX(each, 1);
    float *dx = call->outputs[1]->data;
    for (int64_t i = 0; i < count; i++) {
        double apart = (double)x[i] - (double)target[i];
        loss += apart * apart;
        dx[i] = (float)(2 * scale * apart);
    }
    *(float *)call->outputs[0]->data = (float)(loss * scale);
    return 0;
}
const struct kernel reference_mean_squared = {"reference mean_squared", mean_squared_run};
