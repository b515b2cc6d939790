// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/stopping/stopping_bandit.h"

#include <math.h>

double stopping_bandit_bound(const struct rule *rule, enum goal goal, const struct rule_row *rows,
                             size_t count, struct rule_row own) {
    bool leads = rows[count - 1].best == own.best; /* or a tie: the next one is as good */
    double best = rows[count - 1 - leads].best;
    if (isinf(best)) {
        return best; /* no trial has a number */
    }
    double share =
        goal == GOAL_MAXIMIZE ? rule->slack_factor / (1 + rule->slack_factor) : rule->slack_factor;
    return best - fabs(best) * share - rule->slack_amount;
}
