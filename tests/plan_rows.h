/* plan_rows.h: tables of decisions, for the plans of all kinds. Every file FOLDER/NAME.json is a
 * row:
 *   what      one sentence
 *   object    merged into base.json's object (null deletes); service: the same, null: none
 *   pods, runs (the objects that the kind makes), progress, credentials, troubles, ensured, mounts,
 *   dropped, ended, leaving, now   what was observed; set: how far the clock was set (start,
 *             gathering, pods: job_observed)
 *   others: of the jobs that spec.after names, and theirs, those that exist
 *   credentials: made by this controller; begun: the record on the Service, too
 *   policy    the administrator's (guard/job_policy.h); absent: none
 *   want      create, apply: names, or whole objects where the whole object matters; delete: names;
 *             needs, again_ms, events; status: the whole status
 *   settles   false: asked again, it has more to do
 * PLAN_UPDATE=1 writes the results into `want`: for a change of many rows, to be reviewed in the
 * diff. */
#pragma once

#include "operator/kinds/job/plan.h"

struct plan_rows {
    const char *folder;
    /* The kind's plan; row: the whole file merged over base.json. */
    int (*plan)(const json_t *row, const struct job_observed *observed, const json_t *runs,
                int64_t now_ms, struct plan_result *ret_result, struct error *err);
    /* What the controller remembers of row's runs; owned. NULL: the kind makes no runs. */
    json_t *(*keep_runs)(const json_t *runs);
    const char *made_kind; /* the kind of the runs; NULL: BatchScore */
};

/* Runs all rows, at least count_min, and prints a line; returns the number of failed checks. */
int plan_rows_check(const struct plan_rows *rows, int count_min);
/* base.json, owned. */
json_t *plan_rows_base(const struct plan_rows *rows);
