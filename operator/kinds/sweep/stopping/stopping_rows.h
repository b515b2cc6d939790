/* stopping_rows.h: a table of scores, sorted, so that each of many trials finds its place in few
 * steps. Pure. */
#pragma once

#include <stddef.h>

/* A row of a table: a trial's scores (sweep_score, never NAN) after its first k reports. */
struct rule_row {
    double best, mean;
};

/* Both ascending. */
void stopping_rows_sort_by_best(struct rule_row *rows, size_t count);
void stopping_rows_sort_by_mean(struct rule_row *rows, size_t count);
/* How many rows, sorted by best, have a higher one. */
size_t stopping_rows_above(const struct rule_row *rows, size_t count, double best);
/* How many rows, sorted by mean, have a lower one. */
size_t stopping_rows_below_mean(const struct rule_row *rows, size_t count, double mean);
