// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/stopping/stopping_rows.h"

#include <stdbool.h>
#include <stdlib.h>

static int by_best(const void *left, const void *right) {
    double a = ((const struct rule_row *)left)->best, b = ((const struct rule_row *)right)->best;
    return (a > b) - (a < b);
}

static int by_mean(const void *left, const void *right) {
    double a = ((const struct rule_row *)left)->mean, b = ((const struct rule_row *)right)->mean;
    return (a > b) - (a < b);
}

void stopping_rows_sort_by_best(struct rule_row *rows, size_t count) {
    qsort(rows, count, sizeof *rows, by_best);
}

void stopping_rows_sort_by_mean(struct rule_row *rows, size_t count) {
    qsort(rows, count, sizeof *rows, by_mean);
}

size_t stopping_rows_above(const struct rule_row *rows, size_t count, double best) {
    size_t low = 0, high = count; /* the first that is higher is in low..high */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].best > best) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return count - low;
}

size_t stopping_rows_below_mean(const struct rule_row *rows, size_t count, double mean) {
    size_t low = 0, high = count; /* the first that is not lower is in low..high */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_lower = rows[middle].mean < mean;
        low = is_lower ? middle + 1 : low;
        high = is_lower ? high : middle;
    }
    return low;
}
