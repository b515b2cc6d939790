// SPDX-License-Identifier: Apache-2.0
/* Stops, suspends and makes trials. */
#include "operator/kinds/sweep/plan_state.h"
#include "operator/kinds/sweep/search/bayes.h"
#include "operator/kinds/sweep/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- changes ---- */

/* Each apply contains all fields that we ever set: a field that is missing would be removed. */
static void change(struct sweep_plan *plan, const struct trial_row *row, const char *stop) {
    json_t *change = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:b, s:s*}}", "apiVersion",
                               tree_text(plan->spec.object, "apiVersion", ""), "kind",
                               schema_kind(plan->observed->train), "metadata", "name", row->name,
                               "namespace", plan->spec.namespace, "uid", row->uid, "spec",
                               "suspend", plan->spec.suspend, "stop", stop ? stop : row->stop);
    json_array_append_new(plan->job.result.apply, change);
}

void sweep_stop_all(struct sweep_plan *plan, const char *why) {
    for (size_t i = 0; i < plan->observed->count; i++) {
        const struct trial_row *row = &plan->observed->rows[i];
        if (row->state == TRIAL_RUNNING && !row->stop) {
            change(plan, row, why);
        }
    }
}

/* ---- early stopping, suspend ---- */

void sweep_judge(struct sweep_plan *plan) {
    const struct sweep_observed *seen = plan->observed;
    size_t count = seen->count + seen->warm_count;
    struct rule_trial *trials = x_calloc(count + 1, sizeof *trials);
    for (size_t i = 0; i < count; i++) {
        bool is_own = i < seen->count;
        const struct trial_row *row = is_own ? &seen->rows[i] : &seen->warm[i - seen->count];
        trials[i] =
            (struct rule_trial){&row->curve, is_own && row->state == TRIAL_RUNNING, row->index};
    }
    struct stopping_judge judge;
    stopping_judge_init(&judge, &plan->spec.rule, plan->spec.goal, trials, count);
    for (size_t i = 0; i < seen->count; i++) {
        const struct trial_row *row = &seen->rows[i];
        char why[RULE_WHY_MAX];
        /* (A trial that is resumed in this pass is judged in the next: one change per pass and
         * trial.) */
        if (row->state == TRIAL_RUNNING && !row->stop && !row->is_suspended &&
            stopping_is_due(&judge, i, why)) {
            change(plan, row, why);
            job_plan_event(&plan->job, "Normal", "TrialStopped", row->name, "%s", why);
        }
    }
    stopping_judge_release(&judge);
    free(trials);
}

/* Applies the Sweep's own suspend to its trials; a trial that has to stop is not resumed first. */
void sweep_suspend(struct sweep_plan *plan) {
    for (size_t i = 0; i < plan->observed->count; i++) {
        const struct trial_row *row = &plan->observed->rows[i];
        if (row->state == TRIAL_RUNNING && !row->stop && row->is_suspended != plan->spec.suspend) {
            change(plan, row, NULL);
        }
    }
}

/* ---- new trials ---- */

/* For the search: it failed by its own doing, or reported only nan and inf. One that was stopped or
 * deleted before its first report says nothing, nor does one that the cluster refused. */
static bool has_failed(const struct trial_row *row) {
    return row->is_own_failure ||
           (row->state == TRIAL_STOPPED && row->curve.count > 0 && isnan(row->best));
}

static struct bayes_trial known(const struct sweep_plan *plan, const struct trial_row *row) {
    bool is_lost = row->state == TRIAL_FAILED; /* what it reported before that does not count */
    struct bayes_trial trial = {.score = is_lost ? NAN : sweep_score(plan->spec.goal, row->best),
                                .is_running = row->state == TRIAL_RUNNING && !row->stop,
                                .has_failed = has_failed(row)};
    memcpy(trial.units, row->units, sizeof trial.units);
    return trial;
}

struct front_objectives sweep_objectives(const struct sweep_spec *spec) {
    struct front_objectives objectives = {{{spec->metric, spec->goal}}, 1 + spec->also_count};
    for (size_t i = 0; i < spec->also_count; i++) {
        objectives.at[i + 1] = spec->also[i];
    }
    return objectives;
}

/* With several objectives, in place of the scores of the Sweep's own trials. */
static void blend(const struct sweep_plan *plan, int64_t index, struct bayes_trial *own) {
    const struct sweep_observed *seen = plan->observed;
    struct front_objectives objectives = sweep_objectives(&plan->spec);
    double *scores = x_calloc(seen->count + 1, sizeof *scores);
    front_blend(&objectives, seen->rows, seen->count, plan->spec.seed, index, scores);
    size_t at = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->rows[i].is_placed) {
            own[at++].score = scores[i];
        }
    }
    free(scores);
}

static void think(const struct sweep_plan *plan, int64_t index, double *units) {
    const struct sweep_observed *seen = plan->observed;
    struct bayes_trial *trials = x_calloc(seen->count + seen->warm_count + 1, sizeof *trials);
    size_t count = 0;
    bool has_several = plan->spec.also_count > 0; /* earlier Sweeps have other scales */
    for (size_t i = 0; i < seen->warm_count && !has_several; i++) {
        if (seen->warm[i].is_placed) {
            trials[count] = known(plan, &seen->warm[i]);
            count += !trials[count].is_running; /* the reports of running trials are not used */
        }
    }
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->rows[i].is_placed) {
            trials[count++] = known(plan, &seen->rows[i]);
        }
    }
    if (has_several) {
        blend(plan, index, trials);
    }
    bayes_point(&plan->spec.space, plan->spec.seed, index, trials, count, units);
    free(trials);
}

const struct trial_row *sweep_find_row(const struct sweep_observed *seen, int64_t index) {
    size_t low = 0, high = seen->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (seen->rows[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < seen->count && seen->rows[low].index == index ? &seen->rows[low] : NULL;
}

/* The generation before that trial's; false: it has not ended yet. A trial that is gone, or ended
 * without a value in this space, counts as the worst. */
static bool read_generation(const struct sweep_plan *plan, int64_t index,
                            struct population_trial *before) {
    int64_t size = plan->spec.population.size, first = (index / size - 1) * size;
    for (int64_t i = 0; i < size; i++) {
        const struct trial_row *row = sweep_find_row(plan->observed, first + i);
        bool counts = row && row->state == TRIAL_COMPLETED && row->is_placed;
        if (first + i >= plan->next || (row && row->state == TRIAL_RUNNING)) {
            return false;
        }
        before[i] = (struct population_trial){
            .score = counts ? sweep_score(plan->spec.goal, row->last) : -INFINITY};
        if (counts) {
            memcpy(before[i].units, row->units, sizeof before[i].units);
        }
    }
    return true;
}

/* False: it cannot be made yet. */
static bool continue_population(const struct sweep_plan *plan, int64_t index, double *units,
                                int64_t *ret_parent) {
    const struct sweep_spec *spec = &plan->spec;
    struct population_point point;
    struct population_trial *before = x_calloc((size_t)spec->population.size, sizeof *before);
    bool has_ended = read_generation(plan, index, before);
    if (has_ended) {
        population_next(&spec->space, &spec->population, spec->seed, index, before, &point);
        memcpy(units, point.units, sizeof point.units);
        *ret_parent = point.parent;
    }
    free(before);
    return has_ended;
}

void sweep_make(struct sweep_plan *plan) {
    const struct sweep_spec *spec = &plan->spec;
    bool is_bayes = spec->algorithm == ALGORITHM_BAYESIAN;
    bool is_population = spec->algorithm == ALGORITHM_POPULATION;
    int64_t room = spec->max_running - plan->running, total = sweep_trials(spec);
    AUTO(space_points_release) struct space_points points = {0}; /* made when needed: up to 1 s */
    for (int64_t index = plan->next; index < total && room > 0; index++) {
        double units[SPACE_PARAMETERS_MAX];
        if (sweep_find_row(plan->observed, index)) {
            continue; /* an earlier one was refused, or is not seen yet */
        }
        if (is_bayes && json_array_size(plan->job.result.create) > 0) {
            plan->job.result.has_more = true;
            return;
        }
        int64_t parent = -1;
        if (is_population && index >= spec->population.size) {
            if (!continue_population(plan, index, units, &parent)) {
                return;
            }
        } else if (is_bayes) {
            think(plan, index, units);
        } else {
            if (!points.space) {
                space_points_init(&points, &spec->space, spec->search, spec->seed);
            }
            space_points_at(&points, points.size > 0 ? index % points.size : index, units);
        }
        json_t *trial = trial_make(spec, plan->observed->train, index, units, parent);
        job_plan_choose_name(&plan->job, trial);
        json_array_append_new(plan->job.result.create, trial);
        room--;
    }
}
