// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/rules_median.h"

#include <stdlib.h>

static int by_mean(const void *left, const void *right) {
    double a = ((const struct rule_row *)left)->mean, b = ((const struct rule_row *)right)->mean;
    return (a > b) - (a < b);
}

void rules_median_sort(struct rule_row *rows, size_t count) {
    qsort(rows, count, sizeof *rows, by_mean);
}

double rules_median_bound(const struct rule_row *others, size_t count) {
    return others[(count - 1) / 2].mean / 2 + others[count / 2].mean / 2;
}
