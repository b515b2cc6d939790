/* plan.h: what the plans of all kinds share: what was seen of a job, what is decided about it, and
 * the steps that are alike: Service and Secret, what could not be made, an old definition, a
 * changed spec, deadlines, events. PURE: no I/O, no clock, no randomness, so that every decision is
 * a row of a golden and a restarted controller goes on where the last one was. */
#pragma once

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"

#define WRITE_FAILURES_CHANGE "change of "

/* What the controller has seen of one resource. All borrowed; NULL = not there (yet). */
struct job_observed {
    const json_t *object;   /* the resource, spec with defaults filled in; its last status */
    const json_t *service;  /* its Service with its clusterIP and our annotations */
    const json_t *pods;     /* array of the job's Pods, any order */
    const json_t *progress; /* the last /progress answer; NULL if none came */
    const struct job_options *options;     /* what the controller was started with */
    const struct credentials *credentials; /* made lately, not yet in use; NULL: none */
    /* What could not be made lately: {"Pod NAME": {"why": one of the names below, "text": ...}}.
     *   Taken    something of that name exists and is not this job's
     *   Leaving  the same, and it is on its way out (an earlier job of this name)
     *   Denied   not allowed (now): a quota, a policy, our permissions
     *   Refused  the cluster finds it wrong: it would never take it
     *   Missing  the cluster does not know the kind
     * And, with WRITE_FAILURES_CHANGE before its kind, what is there and could not be changed. */
    const json_t *write_failures;
    /* Of objects that nobody watches, those that are known to be there, as they were applied within
     * the last minute: {"PodGroup NAME": ...}. Whatever else is asked for them is asked again: they
     * may be lost, changed or deleted at any time, unseen. */
    const json_t *applied;
    /* The first field of the status that the cluster dropped when it was written last, because the
     * definition does not have it; NULL: none. */
    const char *dropped;
    /* When pods that have ended were first seen so, in ms by the clock of now_ms: {POD NAME: ms}.
     * Of others their node's word is taken. NULL: of all. */
    const json_t *ended;
    /* Why a pod's volumes are not mounted, in the kubelet's words: {POD NAME: text}. */
    const json_t *mounts;
};

/* What a job began with is settled by its Service, and the status repeats it (spec_snapshot.h): a
 * status that was not written does not keep the job from going on.
 *
 * Result, owned by the caller:
 *   "create"    objects to make, none of which exists
 *   "apply"     objects to change
 *   "delete"    [{"kind": "Pod", "name": ...}]; with "apiVersion" what nobody watches
 *   "needs"     "Credentials": make some and ask again with them; else absent
 *   "status"    the whole status that the resource should have (the observed one when nothing
 *               changed: write it only when it differs)
 *   "events"    [{"type": "Normal"|"Warning", "reason", "note", "of"}], to be told when the object
 *               named `of` is made or, without it, when the status is written
 *   "again_ms"  ask again after this long even if nothing happens; absent: no need
 * An order between writes is made by steps: what needs another's result comes with a later pass, as
 * any of the writes of one pass may be lost. Carrying out the result and asking again soon gives
 * nothing to do. */

/* What is said differently of each kind. */
struct job_words {
    const char *definition, *file; /* of the definition: its name, "crds/batchscore.yaml" */
    struct owned_hub hub;
    const char *const *warnings; /* reasons that are Warnings although the job goes on; NULL ends */
};

struct job_plan {
    const struct job_words *words;
    struct job_observed seen;
    const struct job_observed *observed; /* that, its object completed by spec_snapshot_restore */
    const json_t *stored;                /* the object as it is */
    json_t *object;                      /* the completed one; owned */
    struct job_spec *spec;               /* the kind's; NULL: it cannot be read */
    bool is_changed; /* the spec is not what the job began with, or cannot be read */
    struct endpoint endpoint;
    int64_t now_ms;
    int64_t wake_ms;          /* when something may be decided by time alone */
    struct pod_phase *phases; /* of observed->pods */
    size_t phase_count;
    json_t *progress; /* the hub's termination message, else its last answer; owned; may be NULL */
    json_t *create, *apply, *delete, *events; /* owned */
    struct conditions conditions;
};

enum {
    PLAN_LOST_MS = 60000, /* past its grace period, a pod that is still there is on a lost node */
    PLAN_TERMINATION_MESSAGE_MAX = 1 << 20,
};

/* recall: whether the job is under way, so that spec_snapshot_restore completes its object. */
void plan_init(struct job_plan *plan, const struct job_observed *observed,
               const struct job_words *words, bool recall, int64_t now_ms);
void plan_release(struct job_plan *plan);

/* ---- what is decided ---- */

/* Asks for another pass at that time. */
void plan_wake(struct job_plan *plan, int64_t at_ms);
/* An event that is told when the object of that name is made. */
void plan_event(struct job_plan *plan, const char *type, const char *reason, const char *of,
                const char *format, ...) PRINTF_LIKE(5, 6);
/* An event that is told when the status is written. */
void plan_tell(struct job_plan *plan, const char *type, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5);
void plan_remove_pod(struct job_plan *plan, const struct pod_phase *phase);
void plan_remove_service(struct job_plan *plan);
/* Fails the job; more is in the log of that pod. */
void plan_fail(struct job_plan *plan, const char *reason, const char *cause,
               const struct pod_phase *phase);
/* Takes the pod over; before: whose place it takes, NULL if nobody's; deaths: there so far. */
void plan_make_pod(struct job_plan *plan, json_t *pod_new, const struct pod_phase *before,
                   int deaths);
/* The result, with the status that is to be. */
json_t *plan_result(struct job_plan *plan, json_t *status_new, const char *needs);

/* ---- steps (plan_steps.c) ---- */

/* Asks for an object that nobody watches, unless it is known to be there: then true. */
bool plan_apply_unwatched(struct job_plan *plan, json_t *object);
/* Of what is to be made or applied: {"why", "text"}; NULL: nothing is known to be wrong. Borrowed.
 */
const json_t *plan_write_failure_of(const struct job_plan *plan, const json_t *object);
/* A job ends with what it began with: run and image. */
void plan_pin(struct job_plan *plan);
/* True when the spec is not what the job began with. */
bool plan_spec_changed(const struct job_plan *plan);
/* The gravest trouble with what is to be made becomes what the job says, unless it runs. */
void plan_report_write_failures(struct job_plan *plan, bool is_running);
/* A definition that is older than this program: true when nothing may be made. */
bool plan_is_outdated(struct job_plan *plan);
/* Of a job that has ended: whether its pods go now, too; else another pass is asked for then. */
bool plan_is_over(struct job_plan *plan, bool *ret_succeeded);
/* What comes next of a job that is under way and has no verdict yet. */
enum plan_course {
    PLAN_COURSE_SUSPEND, /* spec.suspend */
    PLAN_COURSE_HOLD,    /* nothing: too late, a changed spec, an old definition */
    PLAN_COURSE_WAIT,    /* for the credentials; troubles are told */
    PLAN_COURSE_MAKE,    /* pods; then troubles are told */
};
enum plan_course plan_course(struct job_plan *plan, const char *how_far, const char **ret_needs);
/* At the end of a reconcile pass over an unfinished job: what a job that has ended leaves behind
 * goes, the next look, one event per transition. */
void plan_conclude(struct job_plan *plan);
