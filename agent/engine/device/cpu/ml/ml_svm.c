// SPDX-License-Identifier: Apache-2.0
/* SVMClassifier and SVMRegressor. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/ml/ml.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>

enum { COUPLE_ROUNDS_MAX = 100, LANES = 8 };
static const double couple_near = 0.005, probability_min = 1e-7;

struct work {
    const struct call *call;
    struct ml_svm svm;
    struct ml_labels labels;
    enum ml_post post;
};

/* Of one row, again and again. */
struct room {
    double *row;       /* [features] */
    double *kernels;   /* [vectors] */
    double *decisions; /* [pairs], a regressor's [1] */
    int64_t *votes;    /* [classes] */
    /* With probabilities: [classes, classes] twice, [classes] twice. */
    double *between, *matrix, *products, *shares;
};

/* The product of row and vector, or the square of how far they are apart; in eight sums, none of
 * which waits for the one before. */
static inline double sum_terms(const double *row, const float *vector, int64_t count,
                               bool is_distance) {
    double sums[LANES] = {0}, sum = 0;
    int64_t whole = count / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            double value = (double)vector[i + k], apart = row[i + k] - value;
            sums[k] += is_distance ? apart * apart : row[i + k] * value;
        }
    }
    for (int64_t i = whole; i < count; i++) {
        double value = (double)vector[i], apart = row[i] - value;
        sums[i - whole] += is_distance ? apart * apart : row[i] * value;
    }
    for (int k = 0; k < LANES; k++) {
        sum += sums[k];
    }
    return sum;
}

static double kernel_of(const struct ml_svm *svm, const double *row, const float *vector) {
    if (svm->kernel == ML_KERNEL_RBF) {
        return exp(-svm->gamma * sum_terms(row, vector, svm->features, true));
    }
    double product = sum_terms(row, vector, svm->features, false);
    return svm->kernel == ML_KERNEL_POLY      ? pow(svm->gamma * product + svm->shift, svm->degree)
           : svm->kernel == ML_KERNEL_SIGMOID ? tanh(svm->gamma * product + svm->shift)
                                              : product;
}

static double sum_of(const float *coefficients, const double *kernels, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)coefficients[i] * kernels[i];
    }
    return sum;
}

static void decide(const struct ml_svm *svm, struct room *room) {
    int64_t pair = 0, first = 0; /* first: of class i's vectors */
    for (int64_t i = 0; i < svm->classes; i++) {
        room->votes[i] = 0;
    }
    for (int64_t i = 0; i + 1 < svm->classes; first += svm->sizes[i++]) {
        const float *against_i = svm->coefficients + i * svm->vectors;
        int64_t other = first + svm->sizes[i];
        for (int64_t j = i + 1; j < svm->classes; other += svm->sizes[j++]) {
            const float *against_j = svm->coefficients + (j - 1) * svm->vectors;
            double decision = (double)svm->rho[pair] +
                              sum_of(against_j + first, room->kernels + first, svm->sizes[i]) +
                              sum_of(against_i + other, room->kernels + other, svm->sizes[j]);
            room->votes[decision > 0 ? i : j]++;
            room->decisions[pair++] = decision;
        }
    }
}

static int64_t most_votes(const int64_t *votes, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        best = votes[i] > votes[best] ? i : best;
    }
    return best;
}

/* ---- probabilities --------------------------------------------------------------------------- */

/* between: [i, j] how probable class i is if it is i or j. matrix: the quadratic form whose least
 * value on the probabilities of all classes is wanted. */
static void couple_begin(const struct ml_svm *svm, struct room *room) {
    int64_t n = svm->classes, pair = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++, pair++) {
            double a = (double)svm->prob_a[pair], b = (double)svm->prob_b[pair];
            double share = 1 / (1 + exp(room->decisions[pair] * a + b));
            share = fmin(fmax(share, probability_min), 1 - probability_min);
            room->between[i * n + j] = share;
            room->between[j * n + i] = 1 - share;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double *row = room->matrix + i * n;
        row[i] = 0;
        for (int64_t j = 0; j < n; j++) {
            double from = room->between[j * n + i];
            row[i] += j == i ? 0 : from * from;
            row[j] = j == i ? row[i] : -from * room->between[i * n + j];
        }
        room->shares[i] = 1 / (double)n;
    }
}

/* products: matrix times shares. Returns shares times products. */
static double couple_multiply(int64_t n, struct room *room) {
    double whole = 0;
    for (int64_t i = 0; i < n; i++) {
        room->products[i] = 0;
        for (int64_t j = 0; j < n; j++) {
            room->products[i] += room->matrix[i * n + j] * room->shares[j];
        }
        whole += room->shares[i] * room->products[i];
    }
    return whole;
}

static bool couple_is_near(int64_t n, const struct room *room, double whole) {
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(room->products[i] - whole));
    }
    return worst < couple_near / (double)n;
}

/* Probabilities of classes from those between each two: algorithm 2 of Wu, Lin and Weng (2004),
 * which libsvm and ONNX Runtime end at the same distance, so that their values differ little. */
static void couple(int64_t n, struct room *room) {
    for (int round = 0; round < COUPLE_ROUNDS_MAX; round++) {
        double whole = couple_multiply(n, room);
        if (couple_is_near(n, room, whole)) {
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            const double *row = room->matrix + i * n;
            double step = (whole - room->products[i]) / row[i], all = 1 + step;
            room->shares[i] += step;
            whole = (whole + step * (step * row[i] + 2 * room->products[i])) / (all * all);
            for (int64_t j = 0; j < n; j++) {
                room->products[j] = (room->products[j] + step * row[j]) / all;
                room->shares[j] /= all;
            }
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void room_make(const struct ml_svm *svm, struct room *room) {
    size_t classes = svm->prob_a ? (size_t)svm->classes : 0;
    *room = (struct room){
        .row = x_calloc((size_t)svm->features, sizeof(double)),
        .kernels = x_calloc((size_t)svm->vectors, sizeof(double)),
        .decisions = x_calloc((size_t)svm->pairs + 1, sizeof(double)),
        .votes = x_calloc((size_t)svm->classes + 1, sizeof(int64_t)),
        .between = x_calloc(classes * classes + 1, sizeof(double)),
        .matrix = x_calloc(classes * classes + 1, sizeof(double)),
        .products = x_calloc(classes + 1, sizeof(double)),
        .shares = x_calloc(classes + 1, sizeof(double)),
    };
}

static void room_release(struct room *room) {
    double *const all[] = {room->row,    room->kernels,  room->decisions, room->between,
                           room->matrix, room->products, room->shares};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        free(all[i]);
    }
    free(room->votes);
}

/* scores: [svm.scores] */
static void write_scores(const struct work *work, struct room *room, float *scores) {
    const struct ml_svm *svm = &work->svm;
    if (svm->prob_a) {
        couple_begin(svm, room);
        couple(svm->classes, room);
        cpu_ml_scores(work->post, room->shares, svm->classes, scores);
    } else if (svm->classes == 2) {
        cpu_ml_scores_of_two(work->post, room->decisions[0], work->post != ML_POST_NONE, scores);
    } else {
        cpu_ml_scores(work->post, room->decisions, svm->scores, scores);
    }
}

static void score_row(const struct work *work, struct room *room, int64_t *label, float *scores) {
    const struct ml_svm *svm = &work->svm;
    for (int64_t k = 0; k < svm->vectors; k++) {
        room->kernels[k] = kernel_of(svm, room->row, svm->support + k * svm->features);
    }
    if (svm->classes == 0) {
        double sum = (double)svm->rho[0] + sum_of(svm->coefficients, room->kernels, svm->vectors);
        room->decisions[0] = !svm->is_one_class ? sum : sum > 0 ? 1 : -1;
    } else {
        decide(svm, room);
    }
    if (label) {
        *label = ml_label(&work->labels, (size_t)most_votes(room->votes, svm->classes));
    }
    if (scores) {
        write_scores(work, room, scores);
    }
}

static void score_rows(void *context, int64_t first, int64_t last) {
    const struct work *work = context;
    const struct call *call = work->call;
    int at = work->svm.classes > 0;
    const struct tensor *labels = at ? call->outputs[0] : NULL;
    const struct tensor *scores = at < call->output_count ? call->outputs[at] : NULL;
    int64_t features = work->svm.features;
    struct room room;
    room_make(&work->svm, &room);
    for (int64_t i = first; i < last; i++) {
        cpu_ml_read(call->inputs[0], i * features, features, room.row);
        score_row(work, &room, labels ? (int64_t *)labels->data + i : NULL,
                  scores ? (float *)scores->data + i * work->svm.scores : NULL);
    }
    room_release(&room);
}

static int svm_run(const struct call *call, struct error *err) {
    struct work work = {.call = call,
                        .labels = ml_read_labels(call->node, "classlabels_ints"),
                        .post = ml_read_post(call->node)};
    const struct shape *x = &call->inputs[0]->shape;
    if (ml_svm_read(call->node, &work.svm, err) < 0) {
        return -1;
    }
    int64_t grain = 1 + (1 << 16) / (work.svm.features * work.svm.vectors);
    threads_run(cpu_threads(call), x->rank == 1 ? 1 : x->dims[0], grain, score_rows, &work);
    return 0;
}
const struct kernel reference_ml_svm = {"reference ml_svm", svm_run};
