// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/stopping/stopping.h"

#include "operator/kinds/sweep/stopping/stopping_asha.h"
#include "operator/kinds/sweep/stopping/stopping_bandit.h"
#include "operator/kinds/sweep/stopping/stopping_median.h"
#include "operator/kinds/sweep/stopping/stopping_truncation.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const goal_names[] = {"Maximize", "Minimize"};
static_assert(ARRAY_LEN(goal_names) == GOAL_COUNT, "a name for each goal");

double sweep_score(enum goal goal, double value) {
    return isnan(value) ? -INFINITY : goal == GOAL_MAXIMIZE ? value : -value;
}

static struct rule_row row_of(enum goal goal, const struct curve_point *point) {
    return (struct rule_row){sweep_score(goal, point->best), sweep_score(goal, point->mean)};
}

static bool counts(const struct rule *rule, const struct rule_trial *trial) {
    return trial->is_running || rule->kind != RULE_TRUNCATION || !rule->excludes_finished;
}

/* The trials that have a point after this many reports; of ASHA those of a bracket that have
 * reached this rung. A Sweep has up to 10,000 trials and 1,000 of them may run: to look at all
 * trials for each point of each running one takes seconds. */
struct rule_table {
    int bracket; /* 0 without ASHA */
    int64_t reports;
    size_t count;
    struct rule_row *rows; /* sorted; NULL: not needed so far */
};

/* ---- the rules ---- */

/* A trial's last point that the rule judges, beside those of the other trials. */
struct comparison {
    const struct stopping_judge *judge;
    const struct rule_table *table;
    const struct curve_point *point;
    struct rule_row own; /* the same as a row of the table */
    char after[48];      /* "after 12 reports" */
};

/* The others' bound is of `name`, such as "the median of". */
static bool is_beyond(const struct comparison *at, double bound, const char *rule, const char *name,
                      char why[static RULE_WHY_MAX]) {
    size_t others = at->table->count - 1;
    snprintf(why, RULE_WHY_MAX, "%s: %s its best %.6g is worse than %.6g, %s %zu %s", rule,
             at->after, at->point->best, at->judge->goal == GOAL_MAXIMIZE ? bound : -bound, name,
             others, others == 1 ? "other" : "others");
    return at->own.best < bound;
}

static bool bandit_stops(const struct comparison *at, char why[static RULE_WHY_MAX]) {
    double bound = stopping_bandit_bound(at->judge->rule, at->judge->goal, at->table->rows,
                                         at->table->count, at->own);
    return is_beyond(at, bound, "Bandit", "the slack behind the best of", why);
}

static bool median_stops(const struct comparison *at, char why[static RULE_WHY_MAX]) {
    double bound = stopping_median_bound(at->table->rows, at->table->count, at->own);
    return is_beyond(at, bound, "Median", "the median of", why);
}

static bool truncation_stops(const struct comparison *at, char why[static RULE_WHY_MAX]) {
    const struct rule *rule = at->judge->rule;
    snprintf(why, RULE_WHY_MAX, "Truncation: %s its best %.6g is among the worst %d %% of %zu",
             at->after, at->point->best, rule->percentage, at->table->count);
    return stopping_truncation_stops(rule, at->table->rows, at->table->count, at->own);
}

/* ASHA judges by rungs and brackets: is_halved. */
static const struct {
    size_t others_min; /* other trials with a point */
    void (*sort)(struct rule_row *rows, size_t count);
    bool (*stops)(const struct comparison *at, char why[static RULE_WHY_MAX]);
} rules[] = {
    [RULE_BANDIT] = {RULES_BANDIT_OTHERS_MIN, stopping_rows_sort_by_best, bandit_stops},
    [RULE_MEDIAN] = {RULES_MEDIAN_OTHERS_MIN, stopping_rows_sort_by_mean, median_stops},
    [RULE_TRUNCATION] = {RULES_TRUNCATION_OTHERS_MIN, stopping_rows_sort_by_best, truncation_stops},
    [RULE_ASHA] = {.sort = stopping_rows_sort_by_best},
};
static_assert(ARRAY_LEN(rules) == RULE_KIND_COUNT, "one row per rule");

/* ---- the tables ---- */

static int in_order(const void *left, const void *right) {
    const struct rule_table *a = left, *b = right;
    return a->bracket != b->bracket ? (a->bracket > b->bracket) - (a->bracket < b->bracket)
                                    : (a->reports > b->reports) - (a->reports < b->reports);
}

/* The rung at which a trial is judged; 0: it has not reached one. */
static int64_t rung_of(const struct stopping_judge *judge, size_t which) {
    return stopping_asha_rung(judge->rule, judge->brackets[which],
                              curve_reached(judge->trials[which].curve));
}

/* Adds what one running trial needs to judge->tables, which has room. */
static void add_tables(struct stopping_judge *judge, size_t which) {
    const struct curve *curve = judge->trials[which].curve;
    if (judge->rule->kind == RULE_ASHA) {
        int64_t rung = rung_of(judge, which);
        if (rung > 0) {
            judge->tables[judge->table_count++] =
                (struct rule_table){.bracket = judge->brackets[which], .reports = rung};
        }
        return;
    }
    for (int k = 0; k < curve->count; k++) {
        judge->tables[judge->table_count++].reports = curve->at[k].reports;
    }
}

/* One table for each number of reports at which a running trial has a point, or is judged. */
static void list_tables(struct stopping_judge *judge) {
    size_t points = 0, used = 0;
    for (size_t i = 0; i < judge->count; i++) {
        points += judge->trials[i].is_running ? (size_t)judge->trials[i].curve->count + 1 : 0;
    }
    judge->tables = x_calloc(points + 1, sizeof *judge->tables);
    for (size_t i = 0; i < judge->count; i++) {
        if (judge->trials[i].is_running) {
            add_tables(judge, i);
        }
    }
    qsort(judge->tables, judge->table_count, sizeof *judge->tables, in_order);
    for (size_t i = 0; i < judge->table_count; i++) {
        if (i == 0 || in_order(&judge->tables[used - 1], &judge->tables[i]) != 0) {
            judge->tables[used++] = judge->tables[i];
        }
    }
    judge->table_count = used;
}

static struct rule_table *find_table(const struct stopping_judge *judge, int bracket,
                                     int64_t reports) {
    struct rule_table key = {.bracket = bracket, .reports = reports};
    return bsearch(&key, judge->tables, judge->table_count, sizeof *judge->tables, in_order);
}

static void count_rows(struct stopping_judge *judge) {
    for (size_t i = 0; i < judge->count; i++) {
        const struct curve *curve = judge->trials[i].curve;
        for (int k = 0; k < curve->count && counts(judge->rule, &judge->trials[i]); k++) {
            struct rule_table *table = find_table(judge, 0, curve->at[k].reports);
            if (table) {
                table->count++;
            }
        }
    }
}

void stopping_judge_init(struct stopping_judge *judge, const struct rule *rule, enum goal goal,
                         const struct rule_trial *trials, size_t count) {
    *judge = (struct stopping_judge){.rule = rule, .goal = goal, .trials = trials, .count = count};
    if (rule->kind == RULE_ASHA) {
        judge->brackets = x_calloc(count + 1, sizeof *judge->brackets);
        for (size_t i = 0; i < count; i++) {
            judge->brackets[i] = stopping_asha_bracket(rule, trials[i].index);
        }
    }
    if (rule->kind != RULE_NONE) {
        list_tables(judge);
    }
    if (rule->kind != RULE_NONE && rule->kind != RULE_ASHA) {
        count_rows(judge);
    }
}

void stopping_judge_release(struct stopping_judge *judge) {
    for (size_t i = 0; i < judge->table_count; i++) {
        free(judge->tables[i].rows);
    }
    free(judge->tables);
    free(judge->brackets);
    *judge = (struct stopping_judge){0};
}

/* What counts of a trial in that table; NULL: nothing. */
static const struct curve_point *point_of(const struct stopping_judge *judge, size_t which,
                                          const struct rule_table *table) {
    const struct rule_trial *trial = &judge->trials[which];
    if (judge->rule->kind != RULE_ASHA) {
        return counts(judge->rule, trial) ? curve_find(trial->curve, table->reports) : NULL;
    }
    return judge->brackets[which] == table->bracket
               ? stopping_asha_point(trial->curve, table->reports)
               : NULL;
}

static void fill_table(const struct stopping_judge *judge, struct rule_table *table) {
    size_t used = 0;
    size_t room = judge->rule->kind == RULE_ASHA ? judge->count : table->count;
    table->rows = x_calloc(room, sizeof *table->rows);
    for (size_t i = 0; i < judge->count; i++) {
        const struct curve_point *point = point_of(judge, i, table);
        if (point) {
            table->rows[used++] = row_of(judge->goal, point);
        }
    }
    table->count = used;
    rules[judge->rule->kind].sort(table->rows, used);
}

/* ---- judging ---- */

static bool is_behind(const struct stopping_judge *judge, const struct rule_table *table,
                      const struct curve_point *point, char why[static RULE_WHY_MAX]) {
    struct comparison at = {
        .judge = judge, .table = table, .point = point, .own = row_of(judge->goal, point)};
    snprintf(at.after, sizeof at.after, "after %lld report%s", (long long)point->reports,
             point->reports == 1 ? "" : "s");
    return rules[judge->rule->kind].stops(&at, why);
}

/* The others are those of the trial's bracket that have reached its highest rung. */
static bool is_halved(const struct stopping_judge *judge, size_t which,
                      char why[static RULE_WHY_MAX]) {
    const struct rule *rule = judge->rule;
    int bracket = judge->brackets[which];
    int64_t rung = rung_of(judge, which);
    if (rung == 0) {
        return false;
    }
    const struct curve_point *point = stopping_asha_point(judge->trials[which].curve, rung);
    struct rule_table *table = find_table(judge, bracket, rung);
    if (!table->rows) {
        fill_table(judge, table);
    }
    snprintf(why, RULE_WHY_MAX,
             "ASHA: after %lld report%s its best %.6g is not among the best of %zu, 1 in %d "
             "(bracket %d)",
             (long long)point->reports, point->reports == 1 ? "" : "s", point->best, table->count,
             rule->factor, bracket);
    return stopping_asha_stops(rule, table->rows, table->count, row_of(judge->goal, point));
}

bool stopping_is_due(struct stopping_judge *judge, size_t which, char why[static RULE_WHY_MAX]) {
    const struct rule *rule = judge->rule;
    const struct curve *own = judge->trials[which].curve;
    if (rule->kind == RULE_NONE || !judge->trials[which].is_running || own->count == 0) {
        return false;
    }
    if (rule->kind == RULE_ASHA) {
        return is_halved(judge, which, why);
    }
    assert(rules[rule->kind].stops);
    for (int i = own->count - 1; i >= 0; i--) {
        struct rule_table *table = find_table(judge, 0, own->at[i].reports);
        if (table->count <= rules[rule->kind].others_min) {
            continue;
        }
        if (!table->rows) {
            fill_table(judge, table);
        }
        return is_behind(judge, table, &own->at[i], why);
    }
    return false;
}
