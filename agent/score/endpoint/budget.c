// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/budget.h"

enum { MINUTE_MS = 60000, HELD_MS = 6000 };

void budget_init(struct budget *budget, double per_minute, int64_t now_ms) {
    *budget = (struct budget){.most = 1, .left = 1, .at_ms = now_ms};
    budget_limit(budget, per_minute, now_ms);
}

static void fill(struct budget *budget, int64_t now_ms) {
    double filled = budget->left + budget->per_ms * (double)(now_ms - budget->at_ms);
    budget->left = MIN(filled, budget->most);
    budget->at_ms = now_ms;
}

void budget_limit(struct budget *budget, double per_minute, int64_t now_ms) {
    double per_ms = per_minute / MINUTE_MS;
    fill(budget, now_ms);
    budget->per_ms = per_ms;
    budget->most = MAX(per_ms * HELD_MS, 1.0);
    budget->left = MIN(budget->left, budget->most);
}

int64_t budget_wait_ms(struct budget *budget, int64_t amount, int64_t now_ms) {
    if (budget->per_ms <= 0) {
        return 0;
    }
    fill(budget, now_ms);
    double missing = MIN((double)amount, budget->most) - budget->left;
    return missing <= 0 ? 0 : (int64_t)(missing / budget->per_ms) + 1;
}

void budget_take(struct budget *budget, int64_t amount) {
    budget->left -= (double)amount;
}
