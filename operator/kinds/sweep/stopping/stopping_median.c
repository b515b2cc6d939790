// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/stopping/stopping_median.h"

double stopping_median_bound(const struct rule_row *rows, size_t count, struct rule_row own) {
    size_t others = count - 1, left_out = stopping_rows_below_mean(rows, count, own.mean);
    size_t low = (others - 1) / 2, high = others / 2;
    return rows[low + (low >= left_out)].mean / 2 + rows[high + (high >= left_out)].mean / 2;
}
