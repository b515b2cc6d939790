// SPDX-License-Identifier: Apache-2.0
#include "lib/number/curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 16, TO_A_DOUBLING = 4, LAST = 4096, NUMBER_MAX = 32 };

void curve_release(struct curve *curve) {
    free(curve->at);
    *curve = (struct curve){0};
}

bool curve_is_due(int64_t reports, int64_t interval, int64_t delay) {
    int64_t skipped = delay > interval ? (delay - 1) / interval : 0;
    int64_t look = reports / interval - skipped;
    if (reports < 1 || reports % interval != 0 || look < 1 || look > LAST) {
        return false;
    }
    int64_t stride = 1;
    while (look > stride * FIRST) {
        stride *= 2;
    }
    /* From 16 to 32 points are 4 apart, from 32 to 64 they are 8 apart. */
    return look <= FIRST || look % (stride * FIRST / 2 / TO_A_DOUBLING) == 0;
}

void curve_add(struct curve *curve, const struct curve_point *point) {
    if (curve->count < CURVE_POINTS_MAX) {
        curve->at = x_realloc_array(curve->at, (size_t)curve->count + 1, sizeof *curve->at);
        curve->at[curve->count++] = *point;
    }
}

static size_t write_number(char *to, double value) {
    return !isfinite(value) ? 0 : (size_t)snprintf(to, NUMBER_MAX, "%.9g", value);
}

void curve_write(const struct curve *curve, char text[static CURVE_TEXT_MAX]) {
    size_t size = 0;
    *text = 0;
    for (int i = 0; i < curve->count; i++) {
        const struct curve_point *point = &curve->at[i];
        size += (size_t)snprintf(text + size, CURVE_TEXT_MAX - size,
                                 i ? " %lld:" : "%lld:", (long long)point->reports);
        if (point->step >= 0) {
            size += (size_t)snprintf(text + size, CURVE_TEXT_MAX - size, "%lld",
                                     (long long)point->step);
        }
        text[size++] = ':';
        size += write_number(text + size, point->best);
        text[size++] = ':';
        size += write_number(text + size, point->mean);
        text[size] = 0;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Reads a number up to the colon or the end of the point and moves *at past it. Empty or not a
 * number: NAN. */
static bool read_field(const char **at, bool is_last, double *ret_value) {
    size_t length = strcspn(*at, ": ");
    const char *end = *at + length;
    if (is_last ? *end == ':' : *end != ':') {
        return false;
    }
    char *stop;
    double value = length > 0 ? strtod(*at, &stop) : NAN;
    *ret_value = length > 0 && stop == end && isfinite(value) ? value : NAN;
    *at = *end ? end + 1 : end;
    return true;
}

/* Reads an integer exactly: a step may be a time in nanoseconds. Empty or out of range: -1. */
static bool read_count(const char **at, int64_t *ret_count) {
    const char *text = *at;
    char *stop;
    double ignored;
    if (!read_field(at, false, &ignored)) {
        return false;
    }
    errno = 0;
    int64_t count = *text >= '0' && *text <= '9' ? strtoll(text, &stop, 10) : -1;
    *ret_count = count >= 0 && stop == *at - 1 && errno == 0 ? count : -1;
    return true;
}

static bool read_point(const char **at, struct curve_point *ret_point) {
    int64_t reports, step;
    double best, mean;
    if (!read_count(at, &reports) || !read_count(at, &step) || !read_field(at, false, &best) ||
        !read_field(at, true, &mean) || reports < 1) {
        return false;
    }
    *ret_point = (struct curve_point){reports, best, mean, step};
    return true;
}

struct curve curve_read(const char *text) {
    struct curve_point points[CURVE_POINTS_MAX];
    struct curve curve = {0};
    while (*text && curve.count < CURVE_POINTS_MAX && read_point(&text, &points[curve.count]) &&
           (curve.count == 0 || points[curve.count].reports > points[curve.count - 1].reports)) {
        curve.count++;
    }
    if (curve.count > 0) {
        curve.at = x_realloc_array(NULL, (size_t)curve.count, sizeof *curve.at);
        memcpy(curve.at, points, (size_t)curve.count * sizeof *curve.at);
    }
    return curve;
}

int64_t curve_reached(const struct curve *curve) {
    return curve->count > 0 ? curve->at[curve->count - 1].reports : 0;
}

const struct curve_point *curve_find(const struct curve *curve, int64_t reports) {
    int low = 0, high = curve->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (curve->at[middle].reports < reports) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < curve->count && curve->at[low].reports == reports ? &curve->at[low] : NULL;
}
