/* curve.h: the learning curve of a metric, in at most 48 points so that it fits into an object's
 * status: the gang's hub keeps it (agent/launch/gang/objective.h), a DistTrain has it in
 * status.objective.at, and a Sweep stops trials by it. Pure.
 *
 * Points are made at fixed report counts: multiples of `interval` that are at least `delay`; of
 * these the first 16, then four per doubling (the 20th, 24th, 28th, 32nd, 40th ...). They are the
 * same for every trial and are never thinned out. 48 points reach the 4,096th multiple; there are
 * no more.
 *
 * As text: REPORTS:STEP:BEST:MEAN, points separated by a space, reports ascending. STEP is empty
 * when unknown; BEST and MEAN are empty when no report was a number:
 * "1:100:0.5:0.5 2:200:0.75:0.625". */
#pragma once

#include "lib/base.h"

enum { CURVE_POINTS_MAX = 48, CURVE_TEXT_MAX = CURVE_POINTS_MAX * 74 + 1 };

struct curve_point {
    int64_t reports;   /* k; ascending */
    double best, mean; /* of reports 1 to k; NAN: none of them was a number */
    int64_t step;      /* of report k; -1: unknown */
};

struct curve { /* {0}: no points */
    int count;
    struct curve_point *at; /* owned; NULL: no points */
};

void curve_release(struct curve *curve); /* also for AUTO */
/* True when a point is made at that report. interval is at least 1, delay at least 0. */
bool curve_is_due(int64_t reports, int64_t interval, int64_t delay);
/* Appends a point; ignored when there are CURVE_POINTS_MAX. */
void curve_add(struct curve *curve, const struct curve_point *point);
/* Writes the text form, numbers with 9 significant digits. */
void curve_write(const struct curve *curve, char text[static CURVE_TEXT_MAX]);
/* Reads the text form up to the first invalid point (a status may hold anything). Owned result. */
struct curve curve_read(const char *text);
/* The report count of the last point; 0: no points. */
int64_t curve_reached(const struct curve *curve);
/* The point at exactly that report count; NULL: there is none. */
const struct curve_point *curve_find(const struct curve *curve, int64_t reports);
