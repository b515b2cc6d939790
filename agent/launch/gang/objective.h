/* objective.h: the reports of the metric that a job is tuned for (spec.metrics), kept as a few
 * numbers and a learning curve (lib/number/curve.h), however many there are. The hub adds report by
 * report. Pure.
 *
 * As JSON, in GET /progress, the termination message, status.objective and WINDLASS_OBJECTIVE:
 *
 *   {"reports": 30, "step": 2900, "last": "0.9", "best": "0.91", "mean": "0.8", "at": CURVE}
 *
 * step is missing if the last report had none; best and mean are missing if no report was a number.
 * Two members are for the next hub alone and not in a status: "numbers" (how many reports were
 * numbers, if not all), and "tail" (the reports after the curve's last point, except the last one,
 * in the form of a curve). Before the first report of the objective, the names of other metrics are
 * shown, so that a misspelt name can be found:
 *
 *   {"reports": 0, "others": ["acc", "loss"], "otherReports": 30}
 *
 * With metrics.also, the last number that was reported of each is in "also": {"latency": "3.2"},
 * once there is one, in either form; the count and the curve are the objective's alone.
 *
 * A value that is not a number (nan, inf, beyond 1e300) counts as a report, but changes neither
 * best nor mean.
 *
 * A training that restarts from a checkpoint reports some steps twice. So the first report of a new
 * round with step S removes all reports of step S and later, and the count goes on from there; if
 * it has no step, the count begins again. Reports of an earlier round that arrive late are ignored.
 * Exact removal needs the reports: the last OBJECTIVE_RECENT_MAX, or after a change of the hub the
 * tail that the previous hub wrote. Further back the state returns to a point of the curve, and the
 * reports between that point and S are not counted. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/number/curve.h"
#include "lib/tree.h"

enum { OBJECTIVE_OTHERS_MAX = 16, OBJECTIVE_RECENT_MAX = 1024, OBJECTIVE_ALSO_MAX = 3 };

struct objective_options {
    char name[METRIC_NAME_MAX + 1]; /* "": no objective, all reports are ignored */
    bool is_minimized;
    int64_t interval, delay;                            /* curve.h */
    char also[OBJECTIVE_ALSO_MAX][METRIC_NAME_MAX + 1]; /* spec.metrics.also; "": no more */
};

/* The state after one report. */
struct objective_state {
    int64_t numbers, step;
    double best, mean;
};

struct objective {
    struct objective_options options;
    int64_t round;           /* of the last report */
    int64_t reports;         /* so far */
    int64_t numbers;         /* of these, reports that were numbers */
    int64_t step;            /* of the last report; -1: it had none */
    double last, best, mean; /* NAN: none */
    struct curve curve;
    int64_t numbers_at[CURVE_POINTS_MAX]; /* `numbers` at the curve's points */
    /* The states after the last recent_count reports: the k-th report's is at k %
     * OBJECTIVE_RECENT_MAX. Owned; NULL: no reports yet. */
    struct objective_state *recent;
    int64_t recent_count;
    double also[OBJECTIVE_ALSO_MAX]; /* the last report of each; NAN: none was a number */
    int64_t other_reports;           /* of other metrics */
    size_t other_count;              /* names in others */
    char others[OBJECTIVE_OTHERS_MAX][METRIC_NAME_MAX + 1];
};

void objective_init(struct objective *objective, const struct objective_options *options);
void objective_release(struct objective *objective);
/* Continues from the JSON text of the previous hub. False: the text is invalid, and the objective
 * is unchanged. */
bool objective_restore(struct objective *objective, const char *json);
void objective_add(struct objective *objective, int64_t round, const struct metric *metric);
/* Adds the reports in lines of metric.h; other lines are ignored. */
void objective_read(struct objective *objective, int64_t round, const char *lines);
/* Sets "objective" of the answer to GET /progress, if there was any report. */
void objective_add_json(const struct objective *objective, json_t *progress);
