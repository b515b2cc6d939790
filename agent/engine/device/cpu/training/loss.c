// SPDX-License-Identifier: Apache-2.0
/* Losses and their gradients. A loss is the sum over the samples, in their order, times a scale
 * that the caller gives. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>

struct cross_entropy {
    int64_t classes;
    double smoothing, scale;
};

/* One row: returns its loss and fills dx, scale * (p - t); t is the label's distribution. */
static double cross_entropy(const struct cross_entropy *of, const float *x, int64_t label,
                            float *dx, bool *ret_correct) {
    int64_t best = 0, classes = of->classes;
    double sum = 0, loss = 0;
    for (int64_t k = 1; k < classes; k++) {
        best = x[k] > x[best] ? k : best;
    }
    for (int64_t k = 0; k < classes; k++) {
        sum += exp((double)x[k] - (double)x[best]);
    }
    for (int64_t k = 0; k < classes; k++) {
        double target = of->smoothing / (double)classes + (k == label ? 1 - of->smoothing : 0);
        double logarithm = (double)x[k] - (double)x[best] - log(sum);
        loss -= target > 0 ? target * logarithm : 0;
        dx[k] = (float)(of->scale * (exp(logarithm) - target));
    }
    *ret_correct = best == label;
    return loss;
}

static int softmax_cross_entropy_run(const struct call *call, struct error *err) {
    const struct shape *shape = &call->inputs[0]->shape;
    const float *x = call->inputs[0]->data;
    const int64_t *labels = call->inputs[1]->data;
    int64_t samples = shape->dims[0], classes = shape->dims[1], right = 0;
    const struct cross_entropy of = {
        .classes = classes,
        .smoothing = (double)node_number(call->node, "smoothing", 0),
        .scale = (double)*(const float *)call->inputs[2]->data,
    };
    double loss = 0;
    float *dx = call->outputs[1]->data;
    for (int64_t i = 0; i < samples; i++) {
        bool correct;
        if (labels[i] < 0 || labels[i] >= classes) {
            return error_set(err, ERROR_INVALID, "label %lld of sample %lld: 0 to %lld are classes",
                             (long long)labels[i], (long long)i, (long long)classes - 1);
        }
        loss += cross_entropy(&of, x + i * classes, labels[i], dx + i * classes, &correct);
        right += correct;
    }
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
