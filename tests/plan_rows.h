/* plan_rows.h: rows of decisions, for the plans of all kinds. Every file FOLDER/NAME.json is one:
 *   what      one sentence
 *   object    merged into base.json's object (null deletes); service: the same, null is none
 *   pods, runs (what the kind makes of others), progress, credentials, troubles, applied, mounts,
 * dropped, ended, now   what was observed want      create, apply: names, or whole objects where
 * the whole object matters; delete: names; needs, again_ms, events; status: the whole status
 *   settles   false: asked again, it has more to do
 * PLAN_UPDATE=1 writes into `want` what came out instead: for a change of many, to be read in the
 * difference. */
#pragma once

#include "operator/kinds/job/plan.h"

struct plan_rows {
    const char *folder;
    /* The kind's plan; row: the whole file over base.json. */
    int (*plan)(const json_t *row, const struct job_observed *observed, const json_t *runs,
                int64_t now_ms, json_t **ret_result, struct error *err);
    /* What of row's runs the controller remembers; owned. NULL: the kind makes none. */
    json_t *(*keep_runs)(const json_t *runs);
    const char *made_kind; /* of runs; NULL: BatchScore */
};

/* Runs them all, count_min at least, and says so in a line; how many checks failed. */
int plan_rows_check(const struct plan_rows *rows, int count_min);
/* base.json, owned. */
json_t *plan_rows_base(const struct plan_rows *rows);
