// SPDX-License-Identifier: Apache-2.0
/* LinearClassifier and LinearRegressor. */
#include "agent/engine/device/cpu/ml/ml.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>

struct work {
    const struct call *call;
    struct ml_linear linear;
    struct ml_labels labels;
    enum ml_post post;
};

static void score_row(const struct work *work, const double *row, double *sums) {
    const struct ml_linear *linear = &work->linear;
    for (int64_t k = 0; k < linear->targets; k++) {
        const float *coefficients = linear->coefficients + k * linear->features;
        double sum = linear->intercepts ? (double)linear->intercepts[k] : 0;
        for (int64_t i = 0; i < linear->features; i++) {
            sum += row[i] * (double)coefficients[i];
        }
        sums[k] = sum;
    }
}

/* The index of the greatest score, rounded to float32; the first of equal ones. */
static int64_t label_of(const struct work *work, const double *sums) {
    int64_t best = 0;
    for (int64_t k = 1; k < work->linear.targets; k++) {
        best = (float)sums[k] > (float)sums[best] ? k : best;
    }
    if (work->linear.targets == 1) {
        best = (float)sums[0] > 0;
        return work->labels.count == 2 ? ml_label(&work->labels, (size_t)best) : best;
    }
    return ml_label(&work->labels, (size_t)best);
}

static void score_rows(void *context, int64_t first, int64_t last) {
    const struct work *work = context;
    const struct call *call = work->call;
    int at = call->node->op->id == OP_ML_LINEAR_CLASSIFIER;
    const struct tensor *labels = at ? call->outputs[0] : NULL;
    const struct tensor *scores = at < call->output_count ? call->outputs[at] : NULL;
    int64_t features = work->linear.features, targets = work->linear.targets;
    double *row = x_calloc((size_t)features, sizeof *row);
    double *sums = x_calloc((size_t)targets, sizeof *sums);
    for (int64_t i = first; i < last; i++) {
        cpu_ml_read(call->inputs[0], i * features, features, row);
        score_row(work, row, sums);
        if (labels) {
            ((int64_t *)labels->data)[i] = label_of(work, sums);
        }
        if (scores && work->linear.expands) {
            cpu_ml_scores_of_two(work->post, sums[0], true, (float *)scores->data + 2 * i);
        } else if (scores) {
            cpu_ml_scores(work->post, sums, targets, (float *)scores->data + i * targets);
        }
    }
    free(row);
    free(sums);
}

static int linear_run(const struct call *call, struct error *err) {
    struct work work = {.call = call,
                        .labels = ml_read_labels(call->node, "classlabels_ints"),
                        .post = ml_read_post(call->node)};
    const struct shape *x = &call->inputs[0]->shape;
    if (ml_linear_read(call->node, &work.linear, err) < 0) {
        return -1;
    }
    int64_t grain = 1 + (1 << 16) / (work.linear.features * work.linear.targets);
    threads_run(cpu_threads(call), x->rank == 1 ? 1 : x->dims[0], grain, score_rows, &work);
    return 0;
}
const struct kernel reference_ml_linear = {"reference ml_linear", linear_run};
