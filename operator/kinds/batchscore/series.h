/* series.h: jobs that start by themselves: spec.trigger, spec.schedule, spec.rerun: OnChange. Such
 * a job is a series: it makes runs, which are BatchScores of their own (NAME-7; the same spec
 * without these fields, output OUTPUT/runs/TIME-RUN8), and has no pods but, between two runs, the
 * one that waits for a trigger or a change (NAME-watch-8). Runs are numbered; the number makes the
 * name, so two controllers cannot start the same one twice. All of it is known from the runs and
 * from status.runs. Pure. docs/series.md. */
#pragma once

#include "operator/kinds/batchscore/plan_pods.h"

/* On a run: {"number": 7, "time": when it was due, and of what was waited for "mark", "input"}. */
#define ANNOTATION_RUN "windlass.dev/run"
#define ROLE_RUN "run"
#define ROLE_WATCH "watch"

enum { SERIES_RUNS_KEPT = 10, SERIES_NAME_MAX = 38 };

bool series_is(const json_t *object);
/* Of a BatchScore: it is a run of a series. */
bool series_is_run(const json_t *object);

/* What should be there of a series: sets plan's create, apply, delete, events and outcome. */
void plan_series(struct plan *plan);

/* ---- series_runs.c ---- */

/* status.runs, newest first, owned: what stands there already, with what is there of the runs. */
json_t *series_lines(const json_t *object, const json_t *runs);
int64_t series_number(const json_t *lines); /* of the newest; 0: none */

struct series_start {
    int64_t number, time_ms;
    const char *mark, *input; /* NULL: none; input: the path that takes the place of the spec's */
};
/* The run, owned. INVALID: with this input there can be none. */
NODISCARD int series_make_run(const json_t *object, const struct job_options *options,
                              const struct series_start *start, json_t **ret_run,
                              struct error *err);
/* A line for what was no run, owned. */
json_t *series_refused(const struct series_start *start, const char *problem);
/* What of the series may change while a run goes, where the run has it otherwise: to be applied to
 * the run. Owned; NULL: all is alike. */
json_t *series_changes(const json_t *object, const json_t *run);
