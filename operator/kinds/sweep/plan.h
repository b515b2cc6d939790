/* plan.h: what a Sweep does next: which trials are made, which are told to stop, when it is over.
 * PURE: no I/O, no clock, no chance but by the seed; so a controller that was restarted goes on
 * where the last one was.
 *
 * Trials have an index and, by it, a name: two controllers, or an answer that was lost, make no
 * second one. status.next is the first index that was never seen in the cache, and is written in
 * a reconcile pass after it was seen (the writes of one pass have no order); below it, what is not
 * there was deleted, which is an end as any other, and is not made again. */
#pragma once

#include "operator/kinds/sweep/rows.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/schema.h"

/* All borrowed. */
struct sweep_observed {
    const json_t *object;          /* the Sweep, spec with defaults filled in; its last status */
    const struct sweep_spec *spec; /* as read of it; NULL: it is read here */
    const struct schema *train;    /* DistTrain's definition */
    const struct trial_row *rows;  /* its trials, by rising index */
    size_t count;
    const struct trial_row *warm; /* those of spec.warmStart, any order */
    size_t warm_count;
    const char *warm_missing;       /* of spec.warmStart, one that is not there; NULL: none */
    const json_t *warm_objectives;  /* {"NAME": its spec.objective} of the others; NULL: none */
    const json_t *write_failures;   /* job/plan.h, of "DistTrain NAME" */
    const json_t *pods;             /* the Sweep's own, any order: registrar.h's; NULL: none */
    const struct job_options *jobs; /* what the controller was started with; NULL: nothing */
};

/* {"create": [DistTrains, a Pod], "apply": [changes of DistTrains, with their uid], "delete":
 *  [{"kind", "name"} of pods], "status": ..., "events": [{"type", "reason", "note", "of"}],
 *  "again_ms", "more"}; owned by the caller. Of one that has ended only pods are looked at. With
 * Bayesian one trial is made in a reconcile pass, as each is some ten milliseconds of thought;
 * more: the next one can be made as soon as this one is. */
json_t *sweep_plan(const struct sweep_observed *observed, int64_t now_ms);
