// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A field up to its colon, or the last one of a point; *at is behind that. Empty, or no number:
 * NAN. */
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

static bool read_point(const char **at, struct curve_point *ret_point) {
    double reports, step, best, mean;
    if (!read_field(at, false, &reports) || !read_field(at, false, &step) ||
        !read_field(at, false, &best) || !read_field(at, true, &mean) || !(reports >= 1) ||
        reports > 1e15) {
        return false;
    }
    *ret_point = (struct curve_point){(int64_t)reports, best, mean};
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

void curve_release(struct curve *curve) {
    free(curve->at);
    *curve = (struct curve){0};
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
