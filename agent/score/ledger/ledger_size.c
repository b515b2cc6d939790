// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger/ledger_size.h"

#include <math.h>
#include <stdlib.h>

/* The minimum cost of a lease on the coordinator (messages and records), and the smallest cost of a
 * cell that can be measured. */
static const double start_us_min = 100, cell_us_min = 1;
static const double start_share = 0.02, timeout_share = 0.25, tail_starts = 2;

struct sums {
    double n, x, y, xx, xy;
};

/* A class is weighted by its number of leases. Errors are relative, so that a slow class of large
 * leases does not hide the cost of starting. */
static struct sums sum_up(const struct sizes *sizes) {
    struct sums sums = {0};
    for (int i = 0; i < SIZE_CLASSES; i++) {
        const struct size_class *class = &sizes->classes[i];
        if (class->count > 0) {
            double weight = class->count / (class->us * class->us);
            sums.n += weight;
            sums.x += weight * class->cells;
            sums.y += weight * class->us;
            sums.xx += weight * class->cells * class->cells;
            sums.xy += weight * class->cells * class->us;
        }
    }
    return sums;
}

/* Least squares with both coefficients kept positive. */
static void fit(struct sizes *sizes) {
    struct sums s = sum_up(sizes);
    double spread = s.n * s.xx - s.x * s.x;
    if (spread <= 1e-9 * s.n * s.xx) { /* all of one size: the cost of starting cannot be
                                          determined */
        return;
    }
    double slope = (s.n * s.xy - s.x * s.y) / spread;
    double start = (s.y - slope * s.x) / s.n;
    if (slope <= 0) { /* larger leases take no longer */
        slope = 0;
        start = s.y / s.n;
    } else if (start < 0) {
        start = 0;
        slope = s.xy / s.xx;
    }
    sizes->start_us = start;
    sizes->cell_us = MAX(slope, cell_us_min);
    sizes->has_fit = true;
}

static int class_of(int32_t cells) {
    int class = 0;
    while (cells >>= 1) {
        class ++;
    }
    return MIN(class, SIZE_CLASSES - 1);
}

void sizes_add(struct sizes *sizes, int32_t cells, int64_t us) {
    struct size_class *class = &sizes->classes[class_of(cells)];
    double cost_us = MAX((double)us, 1), all_us = 0, all_cells = 0;
    class->count = MIN(class->count + 1, SIZE_CLASS_LEASES);
    class->cells += (cells - class->cells) / class->count;
    class->us += (cost_us - class->us) / class->count;
    sizes->samples[sizes->next] = (struct size_sample){cells, us};
    sizes->next = (sizes->next + 1) % SIZE_SAMPLES;
    sizes->count = MIN(sizes->count + 1, SIZE_SAMPLES);
    sizes->largest = MAX(sizes->largest, cells);
    for (int i = 0; i < sizes->count; i++) {
        all_us += (double)sizes->samples[i].us;
        all_cells += sizes->samples[i].cells;
    }
    sizes->all_us = MAX(all_us / all_cells, cell_us_min);
    fit(sizes);
}

void sizes_failed(struct sizes *sizes, int32_t cells) {
    sizes->largest = MIN(sizes->largest, cells / 2);
    sizes->has_failed = true;
}

int32_t sizes_next(const struct sizes *sizes, const struct size_query *question, bool *ret_grows) {
    double waiting = (double)question->waiting, slots = MAX(question->slots, 1);
    double wanted = question->most, part = waiting / (2 * slots);
    if (sizes->has_fit) {
        double start = MAX(sizes->start_us, start_us_min), cell = sizes->cell_us;
        double least = MIN(tail_starts * start / cell, ceil(waiting / slots));
        wanted = MIN(wanted, start / (start_share * cell));
        wanted = MIN(wanted, timeout_share * (double)question->timeout_us / sizes->all_us);
        part = MAX(part, least);
    }
    wanted = MAX(MIN(wanted, part), 1);
    int growth = sizes->has_failed ? SIZE_GROWTH_CAREFUL : SIZE_GROWTH;
    double grown = MAX((double)(growth * sizes->largest), 1);
    *ret_grows = wanted > grown;
    return (int32_t)MIN(wanted, grown);
}

static double expected_us(const struct sizes *sizes, int32_t cells) {
    return sizes->has_fit ? MAX(sizes->start_us + sizes->cell_us * cells, 1) : 1;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int64_t sizes_median_us(const struct sizes *sizes, int32_t cells) {
    double ratios[SIZE_SAMPLES];
    if (!sizes->count) {
        return -1;
    }
    for (int i = 0; i < sizes->count; i++) {
        const struct size_sample *sample = &sizes->samples[i];
        ratios[i] = (double)sample->us / expected_us(sizes, sample->cells);
    }
    qsort(ratios, (size_t)sizes->count, sizeof *ratios, by_value);
    double median = ratios[sizes->count / 2] * expected_us(sizes, cells);
    return (int64_t)MIN(median, 1e15);
}
