// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/front.h"

#include "lib/number/philox.h"
#include "operator/kinds/sweep/search/bayes.h"
#include "operator/kinds/sweep/search/draws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUE_MAX = 32 };
#define AUGMENTED 0.05

/* A metric's name may have dots: it is not a path of tree.h. */
double front_value(const struct trial_row *row, const char *metric) {
    const char *text = json_string_value(json_object_get(row->also, metric));
    char *end = NULL;
    double value = text ? strtod(text, &end) : NAN;
    return text && end != text && !*end && isfinite(value) ? value : NAN;
}

/* The scores (sweep_score) of a trial; -INFINITY: it has no number. */
static void scores_of(const struct front_objectives *objectives, const struct trial_row *row,
                      double *scores) {
    for (size_t i = 0; i < objectives->count; i++) {
        double value = i == 0 ? row->best : front_value(row, objectives->at[i].metric);
        scores[i] = sweep_score(objectives->at[i].goal, value);
    }
}

static bool has_all(const double *scores, size_t count) {
    size_t i = 0;
    while (i < count && isfinite(scores[i])) {
        i++;
    }
    return i == count;
}

static bool dominates(const double *a, const double *b, size_t count) {
    bool is_better = false;
    for (size_t i = 0; i < count; i++) {
        if (a[i] < b[i]) {
            return false;
        }
        is_better |= a[i] > b[i];
    }
    return is_better;
}

static json_t *one_of(const struct front_objectives *objectives, const struct trial_row *row,
                      const double *scores) {
    json_t *values = json_object();
    for (size_t i = 0; i < objectives->count; i++) {
        char text[VALUE_MAX];
        bool is_minimized = objectives->at[i].goal == GOAL_MINIMIZE;
        snprintf(text, sizeof text, "%.9g", is_minimized ? -scores[i] : scores[i]);
        json_object_set_new(values, objectives->at[i].metric, json_string(text));
    }
    return json_pack("{s:s, s:I, s:o}", "trial", row->name, "index", (json_int_t)row->index,
                     "objectives", values);
}

json_t *front_of(const struct front_objectives *objectives, const struct trial_row *rows,
                 size_t count) {
    size_t each = objectives->count;
    double *scores = x_calloc(count * each + 1, sizeof *scores);
    bool *counts = x_calloc(count + 1, sizeof *counts);
    json_t *front = json_array();
    for (size_t i = 0; i < count; i++) {
        scores_of(objectives, &rows[i], scores + i * each);
        counts[i] = rows[i].state == TRIAL_COMPLETED && has_all(scores + i * each, each);
    }
    for (size_t i = 0; i < count && json_array_size(front) < FRONT_MAX; i++) {
        bool is_on = counts[i];
        for (size_t k = 0; k < count && is_on; k++) {
            is_on = !counts[k] || !dominates(scores + k * each, scores + i * each, each);
        }
        if (is_on) {
            json_array_append_new(front, one_of(objectives, &rows[i], scores + i * each));
        }
    }
    free(scores);
    free(counts);
    return front;
}

/* Evenly drawn from those that are positive and have the sum 1. */
static void draw_weights(size_t count, uint64_t seed, int64_t index, double *weights) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        weights[i] = -log1p(-philox_unit(philox_bits(seed, DRAWS_WEIGHT, index, (uint32_t)i)));
        sum += weights[i];
    }
    for (size_t i = 0; i < count; i++) {
        weights[i] = sum > 0 ? weights[i] / sum : 1 / (double)count;
    }
}

/* What it has reported counts: it completed, or was stopped, or is about to be. */
static bool has_ended(const struct trial_row *row) {
    return row->state != TRIAL_FAILED && (row->state != TRIAL_RUNNING || row->stop);
}

static int by_size(const void *left, const void *right) { /* best first */
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

struct ends {
    double low, high;
};

/* Of one objective among the trials that have all; the worse end is limited as bayes.c limits bad
 * scores, for one diverged training would flatten all others. room: [count]. */
static struct ends find_ends(const double *scores, size_t count, size_t each, size_t objective,
                             double *room) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (has_all(scores + i * each, each)) {
            room[known++] = scores[i * each + objective];
        }
    }
    if (known == 0) {
        return (struct ends){0};
    }
    qsort(room, known, sizeof *room, by_size);
    double best = room[0], median = room[known / 2];
    double least = best > median ? median - BAYES_FAR_WORSE * (best - median) : -INFINITY;
    return (struct ends){fmax(room[known - 1], least), best};
}

void front_blend(const struct front_objectives *objectives, const struct trial_row *rows,
                 size_t count, uint64_t seed, int64_t index, double *ret_scores) {
    size_t each = objectives->count;
    double weights[1 + FRONT_ALSO_MAX];
    struct ends ends[1 + FRONT_ALSO_MAX];
    double *scores = x_calloc(count * each + 1, sizeof *scores);
    for (size_t i = 0; i < count; i++) {
        scores_of(objectives, &rows[i], scores + i * each);
        scores[i * each] = has_ended(&rows[i]) ? scores[i * each] : NAN;
    }
    draw_weights(each, seed, index, weights);
    for (size_t k = 0; k < each; k++) {
        ends[k] = find_ends(scores, count, each, k, ret_scores);
    }
    for (size_t i = 0; i < count; i++) {
        double worst = INFINITY, sum = 0;
        for (size_t k = 0; k < each; k++) {
            double range = ends[k].high - ends[k].low;
            double score = fmax(scores[i * each + k], ends[k].low);
            double far = range > 0 ? (ends[k].high - score) / range : 0;
            worst = fmin(worst, -weights[k] * far);
            sum -= weights[k] * far;
        }
        ret_scores[i] = has_all(scores + i * each, each) ? worst + AUGMENTED * sum : NAN;
    }
    free(scores);
}
