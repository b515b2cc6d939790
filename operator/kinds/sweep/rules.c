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
#include <string.h>

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

/* ---- the tables ---- */

/* The trials that have a point after so many reports. A Sweep has up to 10,000 trials and 1,000 of
 * them may run: to look at all trials for each point of each running one takes seconds. */
struct rule_table {
    int64_t reports;
    size_t count;
    struct rule_row *rows; /* NULL: not needed so far */
};

static int by_reports(const void *left, const void *right) {
    int64_t a = ((const struct rule_table *)left)->reports,
            b = ((const struct rule_table *)right)->reports;
    return (a > b) - (a < b);
}

/* One table for each number of reports at which a running trial has a point. */
static void list_tables(struct rule_judge *judge) {
    size_t points = 0, used = 0;
    for (size_t i = 0; i < judge->count; i++) {
        points += judge->trials[i].is_running ? (size_t)judge->trials[i].curve->count : 0;
    }
    judge->tables = x_calloc(points + 1, sizeof *judge->tables);
    for (size_t i = 0; i < judge->count; i++) {
        const struct curve *curve = judge->trials[i].curve;
        for (int k = 0; k < curve->count && judge->trials[i].is_running; k++) {
            judge->tables[used++].reports = curve->at[k].reports;
        }
    }
    qsort(judge->tables, used, sizeof *judge->tables, by_reports);
    for (size_t i = 0; i < used; i++) {
        bool is_new =
            i == 0 || judge->tables[judge->table_count - 1].reports != judge->tables[i].reports;
        judge->tables[judge->table_count] = judge->tables[i];
        judge->table_count += is_new;
    }
}

static struct rule_table *find_table(const struct rule_judge *judge, int64_t reports) {
    struct rule_table key = {.reports = reports};
    return bsearch(&key, judge->tables, judge->table_count, sizeof *judge->tables, by_reports);
}

static void count_rows(struct rule_judge *judge) {
    for (size_t i = 0; i < judge->count; i++) {
        const struct curve *curve = judge->trials[i].curve;
        for (int k = 0; k < curve->count && counts(judge->rule, &judge->trials[i]); k++) {
            struct rule_table *table = find_table(judge, curve->at[k].reports);
            if (table) {
                table->count++;
            }
        }
    }
}

void rule_judge_init(struct rule_judge *judge, const struct rule *rule, enum goal goal,
                     const struct rule_trial *trials, size_t count) {
    *judge = (struct rule_judge){.rule = rule, .goal = goal, .trials = trials, .count = count};
    if (rule->kind != RULE_NONE) {
        judge->room = x_calloc(count + 1, sizeof *judge->room);
    }
    if (rule->kind != RULE_NONE && rule->kind != RULE_ASHA) {
        list_tables(judge);
        count_rows(judge);
    }
}

void rule_judge_release(struct rule_judge *judge) {
    for (size_t i = 0; i < judge->table_count; i++) {
        free(judge->tables[i].rows);
    }
    free(judge->tables);
    free(judge->room);
    *judge = (struct rule_judge){0};
}

static void fill_table(const struct rule_judge *judge, struct rule_table *table) {
    size_t used = 0;
    table->rows = x_calloc(table->count, sizeof *table->rows);
    for (size_t i = 0; i < judge->count; i++) {
        const struct rule_trial *trial = &judge->trials[i];
        bool is_in = counts(judge->rule, trial);
        const struct curve_point *point = is_in ? curve_find(trial->curve, table->reports) : NULL;
        if (point) {
            table->rows[used++] = row_of(judge->goal, point);
        }
    }
    if (judge->rule->kind == RULE_MEDIAN) {
        rules_median_sort(table->rows, table->count);
    }
}

/* Copies all rows but one that equals that of the trial itself, which is in the table, and returns
 * their number. */
static size_t copy_others(const struct rule_table *table, struct rule_row own,
                          struct rule_row *others) {
    size_t at = 0;
    while (at < table->count - 1 &&
           (table->rows[at].best != own.best || table->rows[at].mean != own.mean)) {
        at++;
    }
    memcpy(others, table->rows, at * sizeof *others);
    memcpy(others + at, table->rows + at + 1, (table->count - at - 1) * sizeof *others);
    return table->count - 1;
}

/* ---- the rules ---- */

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
static bool is_halved(const struct rule_judge *judge, size_t which, char why[static RULE_WHY_MAX]) {
    const struct rule_trial *own = &judge->trials[which];
    const struct rule *rule = judge->rule;
    int bracket = rules_asha_bracket(rule, own->index);
    int64_t rung = rules_asha_rung(rule, bracket, curve_reached(own->curve));
    const struct curve_point *point = rung > 0 ? rules_asha_point(own->curve, rung) : NULL;
    size_t used = 0;
    if (!point) {
        return false;
    }
    for (size_t i = 0; i < judge->count; i++) {
        const struct rule_trial *trial = &judge->trials[i];
        bool is_other = i != which && curve_reached(trial->curve) >= rung &&
                        rules_asha_bracket(rule, trial->index) == bracket;
        if (is_other) {
            judge->room[used++] = row_of(judge->goal, rules_asha_point(trial->curve, rung));
        }
    }
    snprintf(why, RULE_WHY_MAX,
             "ASHA: after %lld report%s its best %.6g is not among the best of %zu, 1 in %d "
             "(bracket %d)",
             (long long)point->reports, point->reports == 1 ? "" : "s", point->best, used + 1,
             rule->factor, bracket);
    return rules_asha_stops(rule, judge->room, used, row_of(judge->goal, point));
}

bool rule_stops(struct rule_judge *judge, size_t which, char why[static RULE_WHY_MAX]) {
    const struct rule *rule = judge->rule;
    const struct curve *own = judge->trials[which].curve;
    if (rule->kind == RULE_NONE || !judge->trials[which].is_running || own->count == 0) {
        return false;
    }
    if (rule->kind == RULE_ASHA) {
        return is_halved(judge, which, why);
    }
    for (int i = own->count - 1; i >= 0; i--) {
        struct rule_table *table = find_table(judge, own->at[i].reports);
        if (table->count <= others_min(rule->kind)) {
            continue;
        }
        if (!table->rows) {
            fill_table(judge, table);
        }
        size_t count = copy_others(table, row_of(judge->goal, &own->at[i]), judge->room);
        return is_behind(rule, judge->goal, judge->room, count, &own->at[i], why);
    }
    return false;
}
