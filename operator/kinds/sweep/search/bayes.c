// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/bayes.h"

#include "operator/kinds/sweep/search/feasible.h"
#include "operator/kinds/sweep/search/gaussian.h"
#include "operator/kinds/sweep/search/normal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KNOWN_MIN = 3, /* fewer results are not enough for a model */
    CANDIDATES = 1024,
    WALKS = 10,        /* from the best of the candidates, and from the best trial */
    WALK_STEPS = 8,    /* in steps of 0.1, 0.05 ... of each parameter's range */
    NEXT_MAX = 16,     /* points of the sequence that are looked at for one that is new */
    NEXT_STEP = 10007, /* beyond every index, so that the next trial does not take it */
    CANDIDATE_SEED = 1 /* shifts the candidates differently from the first points */
};
#define SAME 1e-9        /* units that differ by less are equal */
#define NEAR 1e-4        /* a suggestion keeps this distance from every trial */
#define NEAR_FAILED 0.01 /* and this one from those that failed */

static_assert((int)SPACE_PARAMETERS_MAX <= (int)GAUSSIAN_DIMENSIONS_MAX,
              "a dimension for each parameter");

struct candidate {
    double units[SPACE_PARAMETERS_MAX];
    double worth; /* expected improvement x probability of success; -1: too near to a trial */
};

struct looking {
    const struct space *space;
    const struct bayes_trial *trials;
    size_t count;
    struct gaussian *belief;  /* of standardised scores */
    struct gaussian *success; /* feasible.h; NULL: none has failed */
    double best;
    bool is_finite; /* the space has a size */
};

int bayes_first(const struct space *space) {
    return MAX(5, 2 * space->count);
}

/* ---- observations ---- */

static int by_score(const void *left, const void *right) { /* best first, then oldest first */
    const struct bayes_trial *a = *(const struct bayes_trial *const *)left,
                             *b = *(const struct bayes_trial *const *)right;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score) : (a > b) - (a < b);
}

static int by_age(const void *left, const void *right) { /* newest first */
    const struct bayes_trial *a = *(const struct bayes_trial *const *)left,
                             *b = *(const struct bayes_trial *const *)right;
    return (a < b) - (a > b);
}

/* Chooses the observations, best first: all, or the best half and the newest of the others. */
static size_t choose(const struct looking *looking, const struct bayes_trial **chosen) {
    size_t known = 0;
    for (size_t i = 0; i < looking->count; i++) {
        if (feasible_is_known(&looking->trials[i])) {
            chosen[known++] = &looking->trials[i];
        }
    }
    qsort(chosen, known, sizeof *chosen, by_score);
    if (known > GAUSSIAN_SEEN_MAX) {
        size_t half = GAUSSIAN_SEEN_MAX / 2;
        qsort(chosen + half, known - half, sizeof *chosen, by_age);
        known = GAUSSIAN_SEEN_MAX;
    }
    return known;
}

/* Scales to a mean of 0 and a deviation of 1. A single diverged training must not flatten all
 * others, so bad scores are limited by BAYES_FAR_WORSE. scores: best first except for the newer
 * half. */
static void standardise(double *scores, size_t count) {
    double median = scores[MIN(count / 2, (size_t)GAUSSIAN_SEEN_MAX / 2 - 1)], best = scores[0];
    double least = best > median ? median - BAYES_FAR_WORSE * (best - median) : -INFINITY;
    double mean = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        scores[i] = fmax(scores[i], least);
        mean += scores[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        scores[i] -= mean;
        square += scores[i] * scores[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        scores[i] = square > 0 ? scores[i] / sqrt(square) : 0;
    }
}

static struct gaussian_shape shape_of(const struct space *space) {
    struct gaussian_shape shape = {.dimensions = space->count};
    for (int i = 0; i < space->count; i++) {
        shape.is_choice[i] = space->at[i].expression == EXPRESSION_CHOICE;
    }
    return shape;
}

/* False: there are too few observations. */
static bool conclude(struct looking *looking) {
    size_t dimensions = (size_t)looking->space->count;
    const struct bayes_trial **chosen = x_calloc(looking->count + 1, sizeof *chosen);
    size_t known = choose(looking, chosen);
    double scores[GAUSSIAN_SEEN_MAX];
    double *points = x_calloc(GAUSSIAN_SEEN_MAX * dimensions, sizeof *points);
    for (size_t i = 0; i < known; i++) {
        scores[i] = chosen[i]->score;
        memcpy(points + i * dimensions, chosen[i]->units, dimensions * sizeof *points);
    }
    if (known >= KNOWN_MIN) {
        struct gaussian_shape shape = shape_of(looking->space);
        standardise(scores, known);
        looking->belief = gaussian_fit(&shape, points, scores, known);
        looking->success = feasible_fit(&shape, looking->trials, looking->count);
        looking->best = scores[0];
        for (size_t i = 0; i < looking->count; i++) {
            if (looking->trials[i].is_running) {
                gaussian_expect(looking->belief, looking->trials[i].units);
            }
        }
    }
    free(points);
    free(chosen);
    return known >= KNOWN_MIN;
}

/* ---- candidates ---- */

/* Whether every parameter is within `far` of the trial's; one with a count has to be the same. */
static bool is_near(const struct space *space, const double *a, const double *b, double far) {
    for (int i = 0; i < space->count; i++) {
        if (fabs(a[i] - b[i]) >= (space->at[i].count > 0 ? SAME : far)) {
            return false;
        }
    }
    return true;
}

/* In a finite space its points are as near as they are, and only the same one is excluded. */
static bool is_there(const struct looking *looking, const double *units) {
    for (size_t i = 0; i < looking->count; i++) {
        const struct bayes_trial *trial = &looking->trials[i];
        double far = looking->is_finite ? SAME : feasible_has_failed(trial) ? NEAR_FAILED : NEAR;
        if (is_near(looking->space, trial->units, units, far)) {
            return true;
        }
    }
    return false;
}

/* Replaces units by those of the values that they map to. */
static void evaluate(const struct looking *looking, struct candidate *candidate) {
    space_snap(looking->space, candidate->units);
    if (is_there(looking, candidate->units)) {
        candidate->worth = -1;
        return;
    }
    struct gaussian_belief belief = gaussian_at(looking->belief, candidate->units);
    double gain = belief.mean - looking->best, sigmas = gain / belief.deviation;
    candidate->worth = belief.deviation > 1e-12
                           ? gain * normal_below(sigmas) + belief.deviation * normal_density(sigmas)
                           : fmax(gain, 0);
    candidate->worth *= feasible_at(looking->success, candidate->units);
}

/* One step of a parameter in either direction: at least to its next value. */
static bool step(const struct looking *looking, struct candidate *at, int parameter, double size) {
    double count = (double)looking->space->at[parameter].count;
    bool moved = false;
    size = count > 0 ? fmax(size, 1 / count) : size;
    for (int side = -1; side <= 1; side += 2) {
        struct candidate next = *at;
        next.units[parameter] = fmin(fmax(next.units[parameter] + side * size, 0), 1);
        evaluate(looking, &next);
        if (next.worth > at->worth) {
            *at = next;
            moved = true;
        }
    }
    return moved;
}

static void walk(const struct looking *looking, struct candidate *at) {
    double size = 0.1;
    for (int round = 0; round < WALK_STEPS; round++) {
        bool moved = false;
        for (int i = 0; i < looking->space->count; i++) {
            moved |= step(looking, at, i, size);
        }
        size = moved ? size : size / 2;
    }
}

static int by_worth(const void *left, const void *right) {
    double a = ((const struct candidate *)left)->worth,
           b = ((const struct candidate *)right)->worth;
    return (a < b) - (a > b);
}

/* The whole space if it is small, otherwise Sobol points. */
static size_t candidates(const struct looking *looking, uint64_t seed, int64_t index,
                         struct candidate *list) {
    int64_t size = space_size(looking->space);
    bool is_whole = size > 0 && size <= CANDIDATES;
    size_t count = is_whole ? (size_t)size : CANDIDATES;
    AUTO(space_points_release) struct space_points points;
    space_points_init(&points, looking->space, is_whole ? SEARCH_RANDOM : SEARCH_SOBOL,
                      seed ^ (uint64_t)index << 32 ^ CANDIDATE_SEED);
    for (size_t i = 0; i < count; i++) {
        space_points_at(&points, (int64_t)i, list[i].units);
        evaluate(looking, &list[i]);
    }
    return count;
}

/* Every step from the best trial is an improvement, because its own point is not a candidate. */
static struct candidate at_best(const struct looking *looking) {
    const struct bayes_trial *best = NULL;
    for (size_t i = 0; i < looking->count; i++) {
        const struct bayes_trial *trial = &looking->trials[i];
        best = feasible_is_known(trial) && (!best || trial->score > best->score) ? trial : best;
    }
    struct candidate candidate = {.worth = -1};
    memcpy(candidate.units, best->units, sizeof candidate.units);
    return candidate;
}

static bool improve(const struct looking *looking, uint64_t seed, int64_t index, double *units) {
    struct candidate *list = x_calloc(CANDIDATES + 1, sizeof *list);
    size_t count = candidates(looking, seed, index, list);
    qsort(list, count, sizeof *list, by_worth);
    count = MIN(count, (size_t)WALKS);
    list[count++] = at_best(looking);
    for (size_t i = 0; i < count; i++) {
        walk(looking, &list[i]);
    }
    qsort(list, count, sizeof *list, by_worth);
    memcpy(units, list[0].units, (size_t)looking->space->count * sizeof *units);
    bool found = list[0].worth >= 0;
    free(list);
    return found;
}

void bayes_point(const struct space *space, uint64_t seed, int64_t index,
                 const struct bayes_trial *trials, size_t count, double *units) {
    struct looking looking = {
        .space = space, .trials = trials, .count = count, .is_finite = space_size(space) > 0};
    int64_t size = space_size(space);
    bool found =
        index >= bayes_first(space) && conclude(&looking) && improve(&looking, seed, index, units);
    gaussian_free(looking.belief);
    gaussian_free(looking.success);
    /* The next point of the sequence that was not tried: for the first trials, and when no
     * candidate is new. In a space of ranges a few are enough. */
    AUTO(space_points_release) struct space_points points;
    space_points_init(&points, space, size > 0 ? SEARCH_RANDOM : SEARCH_SOBOL, seed);
    for (int64_t i = 0; !found && i < (size > 0 ? size : NEXT_MAX); i++) {
        double snapped[SPACE_PARAMETERS_MAX];
        space_points_at(&points, size > 0 ? (index + i) % size : index + i * NEXT_STEP, units);
        memcpy(snapped, units, (size_t)space->count * sizeof *units);
        space_snap(space, snapped);
        found = !is_there(&looking, snapped);
    }
}
