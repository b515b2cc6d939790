// SPDX-License-Identifier: Apache-2.0
/* Sums of targets -> scores and labels (post_transform), shared by the ML operators. */
#include "agent/engine/device/cpu/ml/ml.h"

#include <float.h>
#include <math.h>

void cpu_ml_read(const struct tensor *tensor, int64_t first, int64_t count, double *ret_values) {
    const float *floats = tensor->data;
    for (int64_t i = 0; i < count; i++) {
        ret_values[i] = tensor->type == TENSOR_FLOAT32   ? (double)floats[first + i]
                        : tensor->type == TENSOR_FLOAT64 ? ((const double *)tensor->data)[first + i]
                        : tensor->type == TENSOR_INT64
                            ? (double)(float)((const int64_t *)tensor->data)[first + i]
                            : (double)(float)((const int32_t *)tensor->data)[first + i];
    }
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

/* The inverse of the normal distribution: Newton's method from a rough start, which doubles the
 * correct digits in each step; bisection in the tails, where the slope is almost 0. */
static double probit(double p) {
    double low = -40, high = 40, x = 0;
    if (!(p > 0 && p < 1)) {
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    }
    for (int i = 0; i < 200 && high - low > 1e-15 * (1 + fabs(x)); i++) {
        double error = 0.5 * erfc(-x / sqrt(2)) - p;
        double slope = exp(-x * x / 2) / sqrt(2 * acos(-1));
        double next = slope > 0 ? x - error / slope : NAN;
        low = error < 0 ? x : low;
        high = error < 0 ? high : x;
        if (next == x) {
            break;
        }
        x = next > low && next < high ? next : (low + high) / 2;
    }
    return x;
}

/* is_zero_out: scores of almost 0 are left out (SOFTMAX_ZERO). */
static void softmax(const double *scores, int64_t count, bool is_zero_out, float *ret_scores) {
    double highest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        highest = fmax(highest, scores[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        bool is_out = is_zero_out && fabs(scores[i]) <= 1e-7;
        sum += is_out ? 0 : exp(scores[i] - highest);
    }
    for (int64_t i = 0; i < count; i++) {
        bool is_out = is_zero_out && fabs(scores[i]) <= 1e-7;
        ret_scores[i] = (float)(is_out ? 0 : exp(scores[i] - highest) / sum);
    }
}

void cpu_ml_scores(enum ml_post post, const double *scores, int64_t count, float *ret_scores) {
    if (count > 1 && (post == ML_POST_SOFTMAX || post == ML_POST_SOFTMAX_ZERO)) {
        softmax(scores, count, post == ML_POST_SOFTMAX_ZERO, ret_scores);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        double score = scores[i];
        ret_scores[i] = (float)(post == ML_POST_LOGISTIC ? logistic(score)
                                : post == ML_POST_PROBIT ? probit(score)
                                                         : score);
    }
}

void cpu_ml_scores_of_two(enum ml_post post, double score, bool is_share, float ret_scores[2]) {
    double other = is_share && post != ML_POST_LOGISTIC ? 1 - score : -score;
    const double both[2] = {other, score};
    bool is_each = post == ML_POST_LOGISTIC || post == ML_POST_PROBIT;
    cpu_ml_scores(is_each ? post : ML_POST_NONE, &both[0], 1, &ret_scores[0]);
    cpu_ml_scores(is_each ? post : ML_POST_NONE, &both[1], 1, &ret_scores[1]);
}

static void finish_classes(const struct ml_trees *trees, const double *sums, int64_t *label,
                           float *scores) {
    int64_t count = trees->target_count, best = 0;
    bool is_single = count == 2 && trees->weighted_count <= 1;
    if (is_single) {
        double score = sums[trees->is_second_weighted];
        bool is_share = trees->is_positive && trees->post != ML_POST_LOGISTIC;
        best = (float)score > (is_share ? 0.5f : 0.0f);
        if (scores) {
            cpu_ml_scores_of_two(trees->post, score, is_share, scores);
        }
    } else {
        for (int64_t i = 1; i < count; i++) {
            best = (float)sums[i] > (float)sums[best] ? i : best;
        }
        if (scores) {
            cpu_ml_scores(trees->post, sums, count, scores);
        }
    }
    if (label) {
        *label = ml_label(&trees->labels, (size_t)best);
    }
}

void cpu_ml_finish(const struct ml_trees *trees, double *sums, int64_t *label, float *scores) {
    int64_t count = trees->target_count;
    for (int64_t i = 0; trees->aggregate == TREE_AVERAGE && i < count; i++) {
        sums[i] /= trees->tree_count;
    }
    if (trees->base_count == (size_t)count) {
        for (int64_t i = 0; i < count; i++) {
            sums[i] += trees->base[i];
        }
    } else if (trees->base_count == 1) { /* two classes with one score */
        sums[trees->is_second_weighted && trees->weighted_count == 1] += trees->base[0];
    }
    if (trees->is_classifier) {
        finish_classes(trees, sums, label, scores);
    } else if (scores) {
        cpu_ml_scores(trees->post, sums, count, scores);
    }
}
