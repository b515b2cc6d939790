/* stopping_median.h: HyperDrive's MedianStoppingPolicy (learn.microsoft.com, "Median stopping
 * policy"): a trial is stopped when its best is worse than the median of the others' running
 * averages, the means of their reports 1 to k. The rule is from Golovin et al., "Google Vizier: A
 * Service for Black-Box Optimization", KDD 2017, 3.2.2. Pure. */
#pragma once

#include "operator/kinds/sweep/stopping/stopping.h"

enum { RULES_MEDIAN_OTHERS_MIN = 3 };

/* The worst score that may go on: the median (of an even count the mean of the middle two, or the
 * worse one when one of them is not a number). rows: those of the trial, which is `own`, and of at
 * least RULES_MEDIAN_OTHERS_MIN others, sorted by mean. */
double stopping_median_bound(const struct rule_row *rows, size_t count, struct rule_row own);
