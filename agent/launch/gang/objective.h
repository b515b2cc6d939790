/* objective.h: what a job is tuned for (spec.metrics): all reports of one metric, of whatever
 * number, as a few figures and a curve (lib/curve.h). Pure; fed report by report by the hub.
 *
 * As JSON, in GET /progress, the hub's termination message, status.objective and WINDLASS_OBJECTIVE
 * alike:
 *   {"reports": 30, "step": 2900, "last": "0.9", "best": "0.91", "mean": "0.8", "at": CURVE}
 * step is absent where it was not told, best and mean where no report was a number. For the next
 * hub alone, so not in a status: "numbers", of how many reports mean is where that is not all, and
 * "tail", the reports behind the curve's last point but the very last, as a curve has them. As long
 * as there is no report of it, of the other metrics:
 *   {"reports": 0, "others": ["acc", "loss"], "otherReports": 30}
 *
 * A value that is not a number (nan, inf, beyond 1e300) counts as a report and changes neither best
 * nor mean.
 *
 * A gang that starts again says some things twice. So the first report of another round: with a
 * step it drops the reports at and behind that, and the count goes on from the one before (all
 * stays where the step is a new one); without one the count begins anew. A report of an earlier
 * round comes too late and is passed over. Where more than OBJECTIVE_RECENT_MAX reports are said
 * again, or more than the tail that the hub before has told, it goes back to a point of the curve,
 * and what was between that and the step is not counted. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/curve.h"
#include "lib/tree.h"

enum { OBJECTIVE_OTHERS_MAX = 16, OBJECTIVE_RECENT_MAX = 1024 };

struct objective_options {
    char name[METRIC_NAME_MAX + 1]; /* "": no objective, all reports are ignored */
    bool is_minimized;
    int64_t interval, delay; /* curve.h */
};

/* As it was behind one report. */
struct objective_state {
    int64_t numbers, step;
    double best, mean;
};

struct objective {
    struct objective_options options;
    int64_t round;
    int64_t reports, numbers; /* numbers: of these */
    int64_t step;             /* of the last one; -1: it was not told */
    double last, best, mean;  /* NAN: there is none */
    struct curve curve;
    int64_t numbers_at[CURVE_POINTS_MAX]; /* of its points */
    /* Of the last so many reports, the k-th at k % OBJECTIVE_RECENT_MAX; owned, NULL: of none. */
    struct objective_state *recent;
    int64_t recent_count;
    int64_t other_reports;
    size_t other_count;
    char others[OBJECTIVE_OTHERS_MAX][METRIC_NAME_MAX + 1];
};

void objective_init(struct objective *objective, const struct objective_options *options);
void objective_release(struct objective *objective);
/* Goes on from what the hub before it has told. False: that is none, and nothing is changed. */
bool objective_recall(struct objective *objective, const char *json);
void objective_add(struct objective *objective, int64_t round, const struct metric *metric);
/* Lines of metric.h; what is none is passed over. */
void objective_read(struct objective *objective, int64_t round, const char *lines);
/* As "objective" of it; nothing where there was no report at all. */
void objective_tell(const struct objective *objective, json_t *progress);
