// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/plan_state.h"
#include "operator/kinds/sweep/search/bayes.h"
#include "operator/kinds/sweep/trial.h"

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
        trials[i] = (struct rule_trial){&row->curve, is_own && row->state == TRIAL_RUNNING};
    }
    for (size_t i = 0; i < seen->count && plan->spec.rule.kind != RULE_NONE; i++) {
        const struct trial_row *row = &seen->rows[i];
        char why[RULE_WHY_MAX];
        /* (A trial that is resumed in this pass is judged in the next: one change per pass and
         * trial.) */
        if (row->state == TRIAL_RUNNING && !row->stop && !row->is_suspended &&
            rule_stops(&plan->spec.rule, plan->spec.goal, trials, count, i, why)) {
            change(plan, row, why);
            job_plan_event(&plan->job, "Normal", "TrialStopped", row->name, "%s", why);
        }
    }
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

static struct bayes_trial known(const struct sweep_plan *plan, const struct trial_row *row) {
    struct bayes_trial trial = {.score = sweep_score(plan->spec.goal, row->best),
                                .is_running = row->state == TRIAL_RUNNING && !row->stop};
    memcpy(trial.units, row->units, sizeof trial.units);
    return trial;
}

static void think(const struct sweep_plan *plan, int64_t index, double *units) {
    const struct sweep_observed *seen = plan->observed;
    struct bayes_trial *trials = x_calloc(seen->count + seen->warm_count + 1, sizeof *trials);
    size_t count = 0;
    for (size_t i = 0; i < seen->warm_count; i++) {
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

static void choose_name(const struct sweep_plan *plan, int64_t index, json_t *trial) {
    for (int tried = 1; tried < OWNED_NAMES_MAX; tried++) {
        const struct write_failure *failure = job_plan_write_failure_of(&plan->job, trial);
        if (!failure || failure->why != WRITE_FAILURE_TAKEN) {
            return;
        }
        AUTO(text_freep) char *next = trial_name(&plan->spec, index, tried);
        json_object_set_new(json_object_get(trial, "metadata"), "name", json_string(next));
    }
}

void sweep_make(struct sweep_plan *plan) {
    const struct sweep_spec *spec = &plan->spec;
    bool is_bayes = spec->algorithm == ALGORITHM_BAYESIAN;
    int64_t room = spec->max_running - plan->running, total = sweep_trials(spec);
    struct space_points points;
    space_points_init(&points, &spec->space, spec->search, spec->seed);
    for (int64_t index = plan->next; index < total && room > 0; index++) {
        double units[SPACE_PARAMETERS_MAX];
        if (sweep_find_row(plan->observed, index)) {
            continue; /* an earlier one was refused, or is not seen yet */
        }
        if (is_bayes && json_array_size(plan->job.result.create) > 0) {
            plan->job.result.has_more = true;
            return;
        }
        if (is_bayes) {
            think(plan, index, units);
        } else {
            space_points_at(&points, index, units);
        }
        json_t *trial = trial_make(spec, plan->observed->train, index, units);
        choose_name(plan, index, trial);
        json_array_append_new(plan->job.result.create, trial);
        room--;
    }
}
