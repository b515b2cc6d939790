/* budget.h: a limit per minute, of requests or of tokens: a bucket that fills evenly and holds six
 * seconds' worth, so that a minute that begins anywhere gets at most a tenth more. Pure: time is an
 * argument. */
#pragma once

#include "lib/base.h"

struct budget {
    double per_ms; /* 0: no limit */
    double most, left;
    int64_t at_ms;
};

void budget_init(struct budget *budget, double per_minute, int64_t now_ms);
/* Another limit from now on. */
void budget_limit(struct budget *budget, double per_minute, int64_t now_ms);
/* How long until so much may be taken, in ms; 0: now. What is more than the bucket holds may be
 * taken when it is full. */
int64_t budget_wait_ms(struct budget *budget, int64_t amount, int64_t now_ms);
/* May leave less than nothing. A negative amount gives back. */
void budget_take(struct budget *budget, int64_t amount);
