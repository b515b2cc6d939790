/* curve.h: a trial's objective over its reports, as its status has it (status.objective.at, made by
 * agent/launch/objective.h): "8:800:0.91:0.85 12::0.93:0.88", points parted by a space, each
 * k:step:best:mean, best and mean those of the reports 1 to k. All trials have their points at the
 * same k. Pure. */
#pragma once

#include "lib/base.h"

enum { CURVE_POINTS_MAX = 64 }; /* a hub keeps 48 */

struct curve_point {
    int64_t reports;   /* k; rises from point to point */
    double best, mean; /* NAN: none of those reports was a number ("nan", or nothing) */
};

struct curve {
    int count;
    struct curve_point *at; /* owned; NULL: no point */
};

/* What is no curve (a status may be anybody's) reads as far as it is one. */
struct curve curve_read(const char *text);
void curve_release(struct curve *curve); /* for AUTO, too */
/* The reports at its last point; 0: it has none. */
int64_t curve_reached(const struct curve *curve);
/* The point at exactly so many reports; NULL: it has none there. */
const struct curve_point *curve_find(const struct curve *curve, int64_t reports);
