/* front.h: several objectives (spec.objective.also): the Pareto front of the completed trials, and
 * one score of all objectives for the search. Pure.
 *
 * A trial's values are its best of the first objective, which is what is registered, and its last
 * report of each other. A trial without a number for one of them is on no front. */
#pragma once

#include "operator/kinds/sweep/stopping/stopping.h"
#include "operator/kinds/sweep/trial_row.h"

enum { FRONT_ALSO_MAX = 3, FRONT_MAX = 64 };

struct front_objective {
    const char *metric; /* borrowed */
    enum goal goal;
};

/* The objectives; the first is spec.objective itself. */
struct front_objectives {
    struct front_objective at[1 + FRONT_ALSO_MAX];
    size_t count; /* from 1 */
};

/* The trial's last number of that further objective; NAN: none. */
double front_value(const struct trial_row *row, const char *metric);

/* status.front: of the completed trials those that no other dominates (at least as good in all
 * objectives, better in one), by index, at most FRONT_MAX: [{"trial", "index", "objectives"}];
 * owned. */
json_t *front_of(const struct front_objectives *objectives, const struct trial_row *rows,
                 size_t count);

/* One score for the search, at most 0, higher is better, which differs from suggestion to
 * suggestion (ParEGO: Knowles, IEEE Trans. Evol. Comp. 10, 2006): the augmented Chebyshev norm of
 * how far each objective is behind the best (in parts of the distance to the worst), with weights
 * drawn by seed and index. A value beyond BAYES_FAR_WORSE counts as that one. ret_scores: [count],
 * NAN where a trial failed, still runs (with no stop), or lacks a number. */
void front_blend(const struct front_objectives *objectives, const struct trial_row *rows,
                 size_t count, uint64_t seed, int64_t index, double *ret_scores);
