// SPDX-License-Identifier: Apache-2.0
/* ONNX's losses: NegativeLogLikelihoodLoss reads logarithms, SoftmaxCrossEntropyLoss reads
 * scores. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/loss.h"

#include <math.h>

/* Scores of one sample and place -> the logarithms of their probabilities. */
static void log_softmax(const float *x, float *y, int64_t classes, int64_t step) {
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < classes; k++) {
        most = fmax(most, (double)x[k * step]);
    }
    for (int64_t k = 0; k < classes; k++) {
        sum += exp((double)x[k * step] - most);
    }
    for (int64_t k = 0; k < classes; k++) {
        y[k * step] = (float)((double)x[k * step] - most - log(sum));
    }
}

static void log_probabilities(const struct likelihood *shape, const float *x, float *y) {
    for (int64_t sample = 0; sample < shape->samples; sample++) {
        for (int64_t place = 0; place < shape->places; place++) {
            int64_t at = sample * shape->classes * shape->places + place;
            log_softmax(x + at, y + at, shape->classes, shape->places);
        }
    }
}

static int sum_losses(const struct call *call, const struct likelihood *shape, const float *logs,
                      struct error *err) {
    const struct tensor *labels = call->inputs[1];
    bool has_weights = call->input_count > 2 && call->inputs[2];
    const float *weights = has_weights ? call->inputs[2]->data : NULL;
    float *y = call->outputs[0]->data;
    double sum = 0, weight_sum = 0;
    for (int64_t i = 0; i < shape->samples * shape->places; i++) {
        int64_t label = (int64_t)tensor_whole(labels, i);
        bool counts = !shape->has_ignored || label != shape->ignored;
        if (counts && (label < 0 || label >= shape->classes)) {
            return error_set(err, ERROR_INVALID,
                             "%s node \"%.64s\": label %lld, expected 0 to %lld",
                             call->node->op->name, call->node->name, (long long)label,
                             (long long)shape->classes - 1);
        }
        double weight = !counts ? 0 : weights ? (double)weights[label] : 1;
        int64_t at = i / shape->places * shape->classes * shape->places + i % shape->places +
                     (counts ? label : 0) * shape->places;
        double loss = counts ? -weight * (double)logs[at] : 0;
        if (shape->reduction == LIKELIHOOD_NONE) {
            y[i] = (float)loss;
        }
        sum += loss;
        weight_sum += weight;
    }
    if (shape->reduction != LIKELIHOOD_NONE) {
        *y = (float)(shape->reduction == LIKELIHOOD_MEAN ? sum / weight_sum : sum);
    }
    return 0;
}

static int likelihood_loss_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct likelihood shape;
    if (likelihood_params(call->node, &x->shape, &shape, err) < 0) {
        return -1;
    }
    if (call->node->op->id == OP_NEGATIVE_LOG_LIKELIHOOD_LOSS) {
        return call->outputs[0] ? sum_losses(call, &shape, x->data, err) : 0;
    }
    struct tensor own = {0};
    struct tensor *logs = call->output_count > 1 ? call->outputs[1] : NULL;
    if (!logs && tensor_init(&own, TENSOR_FLOAT32, &x->shape, err) < 0) {
        return -1;
    }
    logs = logs ? logs : &own;
    log_probabilities(&shape, x->data, logs->data);
    int result = call->outputs[0] ? sum_losses(call, &shape, logs->data, err) : 0;
    tensor_release(&own);
    return result;
}
const struct kernel reference_likelihood_loss = {"reference likelihood_loss", likelihood_loss_run};
