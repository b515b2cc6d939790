/* plan.h: the next step of a Sweep: which trials to create, which to stop, when it is over. Pure:
 * no I/O, no clock, and randomness only from the seed; so a restarted controller continues where
 * the last one was.
 *
 * A trial has an index, which determines its name, so that two controllers, or a lost answer,
 * cannot create it twice. status.next is the first index that was never seen in the cache; it is
 * written in a reconcile pass after the trial was seen (the writes of one pass have no order). A
 * missing trial below it was deleted, which counts as an end, and it is not created again. */
#pragma once

#include "operator/kinds/job/plan.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/kinds/sweep/trial_row.h"
#include "operator/schema.h"

/* What the controller has observed of one Sweep. All borrowed. */
struct sweep_observed {
    struct job_observed job;       /* its pods are those of registrar.h; it has no Service */
    const struct sweep_spec *spec; /* read from the object; NULL: the plan reads it itself */
    const struct schema *train;    /* DistTrain's definition */
    const struct trial_row *rows;  /* its trials, by ascending index */
    size_t count;
    /* The cluster knows no DistTrains at the moment: trials may exist that are not among the rows.
     */
    bool is_blind;
    const struct trial_row *warm; /* those of spec.warmStart, any order */
    size_t warm_count;
    const char *warm_missing;      /* a missing Sweep of spec.warmStart; NULL: none is missing */
    const json_t *warm_objectives; /* {"NAME": spec.objective} of the existing ones; NULL: none */
};

/* The result of job/plan.h, owned by the caller: it creates DistTrains and a Pod, applies changes
 * of DistTrains (with their uid) and deletes pods. For a Sweep that has ended the plan looks only
 * at pods. With Bayesian one trial is created per reconcile pass, because each takes some ten
 * milliseconds to compute; has_more: the next one can be created right after this one. */
NODISCARD int sweep_decide(const struct sweep_observed *observed, int64_t now_ms,
                           struct plan_result *ret_result, struct error *err);
