/* series.h: jobs that start by themselves: spec.trigger, spec.schedule, spec.rerun: OnChange. Such
 * a job is a series: it makes runs, which are separate BatchScores (NAME-7; the same spec without
 * these fields, with the output OUTPUT/runs/TIME-RUN8). It has no pods, except between two runs the
 * one that waits for a trigger or a change (NAME-watch-8). Runs are numbered and named by the
 * number, so two controllers cannot start the same run twice. The whole state comes from the runs
 * and from status.runs. Pure. docs/series.md. */
#pragma once

#include "operator/kinds/batchscore/plan_pods.h"

/* On a run: {"number": 7, "time": when it was due, and from the trigger "mark", "input"}. */
#define ANNOTATION_RUN "windlass.dev/run"
#define ROLE_RUN "run"
#define ROLE_WATCH "watch"

enum { SERIES_RUNS_KEPT = 10, SERIES_NAME_MAX = 38 };

bool series_is(const json_t *object);
/* Whether a BatchScore is a run of a series. */
bool series_is_run(const json_t *object);

/* The desired state of a series: sets the plan's result and conditions. */
void series_decide(struct batchscore_plan *plan);

/* ---- series_runs.c ---- */

/* The new status.runs, newest first, owned: the current lines, updated from the existing runs. */
json_t *series_lines(const json_t *object, const json_t *runs);
int64_t series_number(const json_t *lines); /* of the newest; 0: none */

struct series_start {
    int64_t number, time_ms;
    const char *mark, *input; /* NULL: none; input: the path that replaces the spec's */
};
/* The run, owned. INVALID: a run with this input is not possible. */
NODISCARD int series_make_run(const json_t *object, const struct job_options *options,
                              const struct series_start *start, json_t **ret_run,
                              struct error *err);
/* A line for a run that could not be made, owned. */
json_t *series_refused(const struct series_start *start, const char *problem);
/* All mutable fields of the series, to be applied to the run. Owned; NULL: none differs there. */
json_t *series_changes(const json_t *object, const json_t *run);
