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

#include "lib/error.h"

enum { CURVE_POINTS_MAX = 48, CURVE_TEXT_MAX = CURVE_POINTS_MAX * 74 + 1 };

struct curve_point {
    int64_t reports;   /* so many there were: 1 and more, more than at the point before */
    int64_t step;      /* of the last of them, 0 and more; -1: it was not told */
    double best, mean; /* of reports 1 to that one; both NAN: none of these was a number */
};

struct curve { /* {0}: none */
    size_t count;
    struct curve_point points[CURVE_POINTS_MAX];
};

/* Whether a point is made at that report. interval is at least 1; delay: 0 is none. */
bool curve_is_due(int64_t reports, int64_t interval, int64_t delay);
/* Nothing happens where there is no room. */
void curve_add(struct curve *curve, const struct curve_point *point);
/* Numbers with 9 digits. */
void curve_write(const struct curve *curve, char text[static CURVE_TEXT_MAX]);
/* "" is an empty one. INVALID: which point is none. */
NODISCARD int curve_read(const char *text, struct curve *ret_curve, struct error *err);
