// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/stopping/stopping_asha.h"

#include "lib/number/philox.h"
#include "operator/kinds/sweep/search/draws.h"

#include <math.h>

int stopping_asha_brackets(const struct rule *rule) {
    int count = 1;
    for (int64_t at = rule->min_reports;
         at <= rule->max_reports / rule->factor && count < RULES_ASHA_BRACKETS_MAX;
         at *= rule->factor) {
        count++;
    }
    return count;
}

/* Hyperband's number of trials of the bracket: of those that begin early there are more. */
static double weight(const struct rule *rule, int bracket) {
    int later = rule->brackets - 1 - bracket;
    return ceil((double)rule->brackets / (later + 1) * pow(rule->factor, later));
}

int stopping_asha_bracket(const struct rule *rule, int64_t index) {
    double sum = 0;
    for (int i = 0; i < rule->brackets; i++) {
        sum += weight(rule, i);
    }
    double at = philox_unit(philox_bits(0, DRAWS_BRACKET, index, 0)) * sum;
    int bracket = 0;
    while (bracket < rule->brackets - 1 && at >= weight(rule, bracket)) {
        at -= weight(rule, bracket++);
    }
    return bracket;
}

int64_t stopping_asha_rung(const struct rule *rule, int bracket, int64_t reports) {
    int64_t at = rule->min_reports, found = 0;
    for (int k = 0; at < rule->max_reports && at <= reports; k++, at *= rule->factor) {
        found = k >= bracket ? at : found;
    }
    return found;
}

const struct curve_point *stopping_asha_point(const struct curve *curve, int64_t rung) {
    for (int i = 0; i < curve->count; i++) {
        if (curve->at[i].reports >= rung) {
            return &curve->at[i];
        }
    }
    return NULL;
}

bool stopping_asha_stops(const struct rule *rule, const struct rule_row *rows, size_t count,
                         struct rule_row own) {
    size_t factor = (size_t)rule->factor;
    return count >= factor &&
           stopping_rows_above(rows, count, own.best) >= MAX(count / factor, (size_t)1);
}
