/* curve.h: how a metric of a training went, in so few points that every report of it fits into
 * a status: what a hub keeps (agent/launch/objective.h), a DistTrain's status.objective.at holds
 * and a Sweep judges by. Pure.
 *
 * A point is made when so many reports were there: multiples of `interval` that are at least
 * `delay`, of these the first 16, then four to a doubling (the 20th, 24th, 28th, 32nd, 40th ...):
 * the same for every trial, whatever others do, and nothing is ever thinned. So 48 points reach
 * the 4,096th multiple, and there are no more.
 *
 * As text: REPORTS:STEP:BEST:MEAN, one space between points, by rising reports. STEP is empty
 * where it was not told, BEST and MEAN are where no report was a number:
 * "1:100:0.5:0.5 2:200:0.75:0.625". */
#pragma once

#include "lib/base.h"

enum { CURVE_POINTS_MAX = 48, CURVE_TEXT_MAX = CURVE_POINTS_MAX * 74 + 1 };

struct curve_point {
    int64_t reports;   /* k; rises from point to point */
    double best, mean; /* of reports 1 to k; NAN: none of these was a number */
    int64_t step;      /* of the last of them; -1: it was not told */
};

struct curve { /* {0}: no point */
    int count;
    struct curve_point *at; /* owned; NULL: no point */
};

void curve_release(struct curve *curve); /* for AUTO, too */
/* Whether a point is made at that report. interval is at least 1; delay: 0 is none. */
bool curve_is_due(int64_t reports, int64_t interval, int64_t delay);
/* Behind the others. Nothing happens where there are CURVE_POINTS_MAX. */
void curve_add(struct curve *curve, const struct curve_point *point);
/* Numbers with 9 digits. */
void curve_write(const struct curve *curve, char text[static CURVE_TEXT_MAX]);
/* What is no curve (a status may be anybody's) reads as far as it is one. */
struct curve curve_read(const char *text);
/* The reports at its last point; 0: it has none. */
int64_t curve_reached(const struct curve *curve);
/* The point at exactly so many reports; NULL: it has none there. */
const struct curve_point *curve_find(const struct curve *curve, int64_t reports);
