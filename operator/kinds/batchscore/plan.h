/* plan.h: what a BatchScore should look like now. PURE: no I/O, no clock, no randomness, so that
 * every decision is a row in tests/data/plan/ and a restarted controller goes on where the last one
 * was. */
#pragma once

#include "operator/kinds/batchscore/owned.h"

/* On pods: which replacement this is, from 1. */
#define LABEL_ATTEMPT "windlass.dev/attempt"
#define LABEL_INDEX "windlass.dev/index" /* of a worker, from 0 */
/* An annotation, too: how many before it, in its place, died of their own doing. So a count does
 * not begin anew because somebody (the cluster's collection of ended pods, say) deletes the old
 * ones. */
#define ANNOTATION_DEATHS "windlass.dev/deaths"

struct batchscore_options;
struct schedule;

/* What the controller has seen of one resource. All borrowed; NULL = not there (yet). */
struct batchscore_observed {
    const json_t *object;  /* the BatchScore, spec with defaults filled in; its last status */
    const json_t *service; /* the coordinator's Service with its clusterIP and our annotations */
    const json_t *pods;    /* array of the job's Pods, any order */
    const json_t *runs;    /* array of a series' runs (series.h), any order; NULL: none */
    const struct schedule *schedule; /* spec.schedule, read (schedule.h); NULL: none */
    const json_t *progress; /* the coordinator's last /progress answer; NULL if none came */
    const struct batchscore_options *options; /* what the controller was started with */
    const struct credentials *credentials;    /* made lately, not yet in use; NULL: none */
    /* What could not be made lately: {"Pod NAME": {"why": one of the names below, "text": ...}}.
     *   Taken    something of that name exists and is not this job's
     *   Leaving  the same, and it is on its way out (an earlier job of this name)
     *   Denied   not allowed (now): a quota, a policy, our permissions
     *   Refused  the cluster finds it wrong: it would never take it */
    const json_t *troubles;
    /* The first field of the status that the cluster dropped when it was written last, because the
     * definition does not have it; NULL: none. */
    const char *dropped;
    /* When pods that have ended were first seen so, in ms by the clock of now_ms: {POD NAME: ms}.
     * Of others their node's word is taken. NULL: of all. */
    const json_t *ended;
    /* Why a pod's volumes are not mounted, in the kubelet's words: {POD NAME: text}. */
    const json_t *mounts;
};

/* What a job began with is settled by its Service, and the status repeats it (begun.h): a status
 * that was not written does not keep the job from going on.
 *
 * Result, owned by the caller:
 *   "create"    objects to make, none of which exists
 *   "apply"     objects to change
 *   "delete"    [{"kind": "Pod", "name": ...}]
 *   "needs"     "Credentials": make some and ask again with them; else absent
 *   "status"    the whole status that the resource should have (the observed one when nothing
 *               changed: write it only when it differs)
 *   "events"    [{"type": "Normal"|"Warning", "reason", "note", "of"}], to be told when the object
 *               named `of` is made or, without it, when the status is written
 *   "again_ms"  ask again after this long even if nothing happens; absent: no need
 * An order between writes is made by steps: what needs another's result comes with a later look, as
 * any of the writes of one look may be lost. Carrying out the result and asking again soon gives
 * nothing to do. */
NODISCARD int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms,
                              json_t **ret_result, struct error *err);

/* True when the resource has reached its end: Succeeded is True or False. */
bool batchscore_is_finished(const json_t *object);
