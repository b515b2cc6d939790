// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/rules_median.h"

#include <stdlib.h>

static int by_mean(const void *left, const void *right) {
    double a = ((const struct rule_row *)left)->mean, b = ((const struct rule_row *)right)->mean;
    return (a > b) - (a < b);
}

double rules_median_bound(struct rule_row *others, size_t count) {
    qsort(others, count, sizeof *others, by_mean);
    return others[(count - 1) / 2].mean / 2 + others[count / 2].mean / 2;
}
