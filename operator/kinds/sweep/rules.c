// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/rules.h"

#include "operator/kinds/sweep/rules_asha.h"
#include "operator/kinds/sweep/rules_bandit.h"
#include "operator/kinds/sweep/rules_median.h"
#include "operator/kinds/sweep/rules_truncation.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const goal_names[] = {"Maximize", "Minimize"};
static_assert(ARRAY_LEN(goal_names) == GOAL_COUNT, "a name for each goal");

double sweep_score(enum goal goal, double value) {
    return isnan(value) ? -INFINITY : goal == GOAL_MAXIMIZE ? value : -value;
}

static size_t others_min(enum rule_kind kind) {
    return kind == RULE_BANDIT   ? RULES_BANDIT_OTHERS_MIN
           : kind == RULE_MEDIAN ? RULES_MEDIAN_OTHERS_MIN
                                 : RULES_TRUNCATION_OTHERS_MIN;
}

static struct rule_row row_of(enum goal goal, const struct curve_point *point) {
    return (struct rule_row){sweep_score(goal, point->best), sweep_score(goal, point->mean)};
}

static bool counts(const struct rule *rule, const struct rule_trial *trial) {
    return trial->is_running || rule->kind != RULE_TRUNCATION || !rule->excludes_finished;
}

/* One trial among all: which may be stopped. */
struct contest {
    const struct rule *rule;
    enum goal goal;
    const struct rule_trial *trials;
    size_t count, which;
};

/* Fills in the rows of the others after k reports, and returns their number. */
static size_t fill_table(const struct contest *contest, int64_t reports, struct rule_row *rows) {
    size_t used = 0;
    for (size_t i = 0; i < contest->count; i++) {
        const struct rule_trial *trial = &contest->trials[i];
        bool is_other = i != contest->which && counts(contest->rule, trial);
        const struct curve_point *point = is_other ? curve_find(trial->curve, reports) : NULL;
        if (point) {
            rows[used++] = row_of(contest->goal, point);
        }
    }
    return used;
}

static bool is_behind(const struct rule *rule, enum goal goal, struct rule_row *rows, size_t count,
                      const struct curve_point *point, char why[static RULE_WHY_MAX]) {
    struct rule_row own = row_of(goal, point);
    char after[48];
    snprintf(after, sizeof after, "after %lld report%s", (long long)point->reports,
             point->reports == 1 ? "" : "s");
    if (rule->kind == RULE_TRUNCATION) {
        snprintf(why, RULE_WHY_MAX, "Truncation: %s its best %.6g is among the worst %d %% of %zu",
                 after, point->best, rule->percentage, count + 1);
        return rules_truncation_stops(rule, rows, count, own);
    }
    double bound = rule->kind == RULE_BANDIT ? rules_bandit_bound(rule, goal, rows, count)
                                             : rules_median_bound(rows, count);
    snprintf(why, RULE_WHY_MAX, "%s: %s its best %.6g is worse than %.6g, %s %zu %s",
             rule->kind == RULE_BANDIT ? "Bandit" : "Median", after, point->best,
             goal == GOAL_MAXIMIZE ? bound : -bound,
             rule->kind == RULE_BANDIT ? "the slack behind the best of" : "the median of", count,
             count == 1 ? "other" : "others");
    return own.best < bound;
}

/* The others are those of the trial's bracket that have reached its highest rung. */
static bool is_halved(const struct contest *contest, struct rule_row *rows,
                      char why[static RULE_WHY_MAX]) {
    const struct rule_trial *own = &contest->trials[contest->which];
    int bracket = rules_asha_bracket(contest->rule, own->index);
    int64_t rung = rules_asha_rung(contest->rule, bracket, curve_reached(own->curve));
    const struct curve_point *point = rung > 0 ? rules_asha_point(own->curve, rung) : NULL;
    size_t used = 0;
    if (!point) {
        return false;
    }
    for (size_t i = 0; i < contest->count; i++) {
        const struct rule_trial *trial = &contest->trials[i];
        bool is_other = i != contest->which && curve_reached(trial->curve) >= rung &&
                        rules_asha_bracket(contest->rule, trial->index) == bracket;
        if (is_other) {
            rows[used++] = row_of(contest->goal, rules_asha_point(trial->curve, rung));
        }
    }
    snprintf(why, RULE_WHY_MAX,
             "ASHA: after %lld report%s its best %.6g is not among the best of %zu, 1 in %d "
             "(bracket %d)",
             (long long)point->reports, point->reports == 1 ? "" : "s", point->best, used + 1,
             contest->rule->factor, bracket);
    return rules_asha_stops(contest->rule, rows, used, row_of(contest->goal, point));
}

bool rule_stops(const struct rule *rule, enum goal goal, const struct rule_trial *trials,
                size_t count, size_t which, char why[static RULE_WHY_MAX]) {
    const struct curve *own = trials[which].curve;
    if (rule->kind == RULE_NONE || !trials[which].is_running || own->count == 0) {
        return false;
    }
    struct contest contest = {rule, goal, trials, count, which};
    struct rule_row *rows = x_realloc_array(NULL, count, sizeof *rows);
    bool is_asha = rule->kind == RULE_ASHA, stops = is_asha && is_halved(&contest, rows, why);
    for (int i = own->count - 1; i >= 0 && !is_asha; i--) {
        size_t used = fill_table(&contest, own->at[i].reports, rows);
        if (used >= others_min(rule->kind)) {
            stops = is_behind(rule, goal, rows, used, &own->at[i], why);
            break;
        }
    }
    free(rows);
    return stops;
}
