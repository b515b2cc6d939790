// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/stopping/stopping_truncation.h"

bool stopping_truncation_stops(const struct rule *rule, const struct rule_row *rows, size_t count,
                               struct rule_row own) {
    size_t places = count * (size_t)rule->percentage / 100;
    return count - 1 - stopping_rows_above(rows, count, own.best) < places;
}
