// SPDX-License-Identifier: Apache-2.0
#include "lib/curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 16, TO_A_DOUBLING = 4, LAST = 4096, NUMBER_MAX = 32 };

bool curve_is_due(int64_t reports, int64_t interval, int64_t delay) {
    int64_t skipped = delay > interval ? (delay - 1) / interval : 0;
    int64_t look = reports / interval - skipped;
    if (reports < 1 || reports % interval != 0 || look < 1 || look > LAST) {
        return false;
    }
    int64_t apart = 1;
    while (look > apart * FIRST) {
        apart *= 2;
    }
    /* From 16 to 32 they are 4 apart, from 32 to 64 8. */
    return look <= FIRST || look % (apart * FIRST / 2 / TO_A_DOUBLING) == 0;
}

void curve_add(struct curve *curve, const struct curve_point *point) {
    if (curve->count < CURVE_POINTS_MAX) {
        curve->points[curve->count++] = *point;
    }
}

static size_t write_number(char *to, double value) {
    return isnan(value) ? 0 : (size_t)snprintf(to, NUMBER_MAX, "%.9g", value);
}

void curve_write(const struct curve *curve, char text[static CURVE_TEXT_MAX]) {
    size_t size = 0;
    *text = 0;
    for (size_t i = 0; i < curve->count; i++) {
        const struct curve_point *point = &curve->points[i];
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

/* Digits alone, up to the colon, which is passed. */
static bool read_count(const char **at, bool may_be_empty, int64_t *ret_count) {
    char *end = (char *)*at;
    int64_t count = -1;
    if (**at >= '0' && **at <= '9') {
        errno = 0;
        count = strtoll(*at, &end, 10);
        if (errno) {
            return false;
        }
    } else if (!may_be_empty) {
        return false;
    }
    *at = end + 1;
    *ret_count = count;
    return *end == ':';
}

/* Up to `stop`, which is not passed. */
static bool read_number(const char **at, const char *stops, double *ret_number) {
    static const char letters[] = "0123456789+-.eE";
    size_t size = strspn(*at, letters);
    char text[NUMBER_MAX], *end = text;
    if (size >= sizeof text || ((*at)[size] && !strchr(stops, (*at)[size]))) {
        return false;
    }
    memcpy(text, *at, size);
    text[size] = 0;
    double number = size ? strtod(text, &end) : (double)NAN;
    *at += size;
    *ret_number = number;
    return !size || (!*end && end != text && isfinite(number));
}

static bool read_point(const char **at, struct curve_point *ret_point) {
    struct curve_point point;
    if (!read_count(at, false, &point.reports) || !read_count(at, true, &point.step) ||
        !read_number(at, ":", &point.best) || *(*at)++ != ':' ||
        !read_number(at, " ", &point.mean)) {
        return false;
    }
    *ret_point = point;
    return point.reports > 0 && isnan(point.best) == isnan(point.mean);
}

int curve_read(const char *text, struct curve *ret_curve, struct error *err) {
    struct curve curve = {0};
    const char *at = text;
    int64_t before = 0;
    while (*at) {
        struct curve_point point;
        bool is_right = curve.count < CURVE_POINTS_MAX && read_point(&at, &point) &&
                        point.reports > before && (!*at || (*at == ' ' && at[1]));
        if (!is_right) {
            return error_set(err, ERROR_INVALID,
                             "point %zu of a curve is not REPORTS:STEP:BEST:MEAN", curve.count + 1);
        }
        before = point.reports;
        curve_add(&curve, &point);
        at += *at == ' ';
    }
    *ret_curve = curve;
    return 0;
}
