// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/budget.h"

enum { MINUTE_MS = 60000, HELD_MS = 6000 };

void budget_init(struct budget *budget, int64_t per_minute, int64_t now_ms) {
    double per_ms = (double)per_minute / MINUTE_MS;
    *budget = (struct budget){
        .per_ms = per_ms, .most = MAX(per_ms * HELD_MS, 1.0), .left = 1, .at_ms = now_ms};
}

int64_t budget_wait_ms(struct budget *budget, int64_t amount, int64_t now_ms) {
    if (budget->per_ms <= 0) {
        return 0;
    }
    double filled = budget->left + budget->per_ms * (double)(now_ms - budget->at_ms);
    budget->left = MIN(filled, budget->most);
    budget->at_ms = now_ms;
    double missing = MIN((double)amount, budget->most) - budget->left;
    return missing <= 0 ? 0 : (int64_t)(missing / budget->per_ms) + 1;
}

void budget_take(struct budget *budget, int64_t amount) {
    budget->left -= (double)amount;
}
