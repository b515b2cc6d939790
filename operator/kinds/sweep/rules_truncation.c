// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/rules_truncation.h"

bool rules_truncation_stops(const struct rule *rule, const struct rule_row *others, size_t count,
                            struct rule_row own) {
    size_t places = (count + 1) * (size_t)rule->percentage / 100, below = 0;
    for (size_t i = 0; i < count; i++) {
        below += others[i].best <= own.best;
    }
    return below < places;
}
