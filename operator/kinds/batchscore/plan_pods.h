/* plan_pods.h: the parts of plan.c that read pods and decide about them, and their shared state.
 * Pure. */
#pragma once

#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/pods.h"
#include "operator/kinds/batchscore/status.h"

struct batchscore_plan {
    struct job_plan job;
    struct batchscore_spec spec;
    const json_t *runs;                         /* batchscore_observed's */
    const struct batchscore_schedule *schedule; /* the same */
    bool is_series;                             /* it makes runs (series.h) */
    const struct pod_phase *coordinator;        /* the newest; NULL: none */
    int coordinator_failures;
    json_t *retired;   /* rows of status.retired; owned; NULL: not decided in this pass */
    int retired_count; /* slots, also those without a row */
    bool excludes;     /* the output's storage prevents two coordinators from writing */
};

/* Fills in phases, coordinator, its failures, excludes and progress (plan_read.c). */
void batchscore_read_pods(struct batchscore_plan *plan);
bool batchscore_is_coordinator(const struct pod_phase *phase);
bool batchscore_has_running_worker(const struct batchscore_plan *plan);

/* No worker takes this slot any more: after `deaths` deaths in a row. newest: its last pod. Adds a
 * row and, if it is new, an Event (plan_retired.c). */
void batchscore_retire(struct batchscore_plan *plan, int index, const struct pod_phase *newest,
                       int deaths);
/* For summary.json (agent/score/coordinator/retired.h): a worker's pod learns how the one before
 * it ended, and a coordinator's which slots are retired. */
void batchscore_report_worker(const struct pod_phase *before, int deaths, int most, json_t *pod);
void batchscore_report_coordinator(const struct batchscore_plan *plan, json_t *pod);
/* After all of them: says in the message of a running job how many there are. */
void batchscore_report_retired(struct batchscore_plan *plan);

/* ---- spec.queue (plan_queue.c) ---- */

/* Kueue holds the pod back. */
bool batchscore_is_queued(const struct batchscore_plan *plan, const struct pod_phase *phase);
/* The same, and the job's condition says so; of a pod that Kueue has not seen, that. */
bool batchscore_report_queued(struct batchscore_plan *plan, const struct pod_phase *phase);
/* Deletes pods that have waited for long without Kueue's having seen them; others follow. */
void batchscore_renew_queued(struct batchscore_plan *plan);

/* The verdict of the coordinator, if it has ended with one. */
void batchscore_verdict(struct batchscore_plan *plan);
/* Decides which pods to keep, create and delete. */
void batchscore_make_pods(struct batchscore_plan *plan);
/* Deletes pods that still run, and pods that need not be kept: after a success the workers'; all of
 * them when all is true. */
void batchscore_clean_up(struct batchscore_plan *plan, bool succeeded, bool all);
