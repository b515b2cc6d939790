/* plan.h: what the plans of all kinds share: the observed state of a job, the decisions about it
 * (plan.c), and the common steps (plan_steps.c): pods, unwatched objects, write failures, an
 * outdated definition (CRD), deletion after ttlSecondsAfterFinished. The steps of jobs with a
 * Service, a Secret and deadlines are in plan_course.h, those that read pods in plan_phases.h.
 * Pure: no I/O, no clock, no randomness. So every decision is a row of a golden file, and a
 * restarted controller continues where the last one was. */
#pragma once

#include "lib/contract.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/plan_result.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/job/write_failure.h"

/* What was observed of one resource. All borrowed; NULL: it does not exist (yet). */
struct job_observed {
    const json_t *object;       /* the resource, spec with defaults filled in; its last status */
    const char *changed_fields; /* of the spec, since the job began with object; NULL, "": none */
    bool is_change_late; /* it is resumed, and waits for a change to be taken (reconcile/pin.h) */
    bool is_accepted; /* the spec is as the job began, though its hash may differ: new defaults */
    const json_t *service; /* its Service, with its clusterIP and our annotations */
    int64_t hold_ms; /* to wait: another replica may still reconcile it (other_leader.h); 0: none */
    int64_t taken_away_ms; /* the same: somebody deletes it again and again (recreation.h) */
    const json_t *pods, *misplaced;        /* arrays of its Pods; relabelled.h's `alone`, or NULL */
    const json_t *progress;                /* the last /progress answer; NULL: none yet */
    const struct job_options *options;     /* what the controller was started with */
    const struct credentials *credentials; /* created lately, not yet in use; NULL: none */
    const struct write_failures *write_failures; /* NULL: none */
    const struct write_failure *held; /* a pod that may run unseen (singleton.h); NULL: none */
    /* PodGroups, which are not watched: asked for again if not known to be there; NULL: none */
    const struct ensured_objects *ensured;
    const char *dropped; /* the status's first field that the cluster's definition dropped, NULL */
    /* When a pod was first seen as ended, or as being deleted, on the clock of now_ms: {NAME: ms}.
     * Of others (NULL: of all) their status has it, by the node's clock. */
    const json_t *ended, *leaving;
    /* How far the wall clock was set ahead (below 0: back) since the job's start was seen, and
     * status.gathering.since; and times of living pods: {NAME: [made, has a node, runs]}. */
    int64_t set_ms, gathering_set_ms;
    const json_t *pods_set;
    const json_t *mounts; /* the kubelet's message why volumes are not mounted: {POD NAME: text} */
    /* Places (pod_phase_place) whose next pod is made later (recreation.h): {PLACE: true}; NULL:
     * none. */
    const json_t *resting;
    const json_t *others; /* the jobs of spec.after, and theirs: an array (after/after.h) */
};

/* Texts that differ between kinds. */
struct job_words {
    const char *definition;      /* the CRD's name, "batchscores.windlass.dev" */
    const char *file;            /* where it is in our source, "crds/batchscore.yaml" */
    struct owned_hub hub;        /* the pod that answers for the job: coordinator, or NAME-0 */
    const char *const *warnings; /* reasons reported as Warnings while the job goes on; NULL ends */
};

struct job_plan {
    const struct job_words *words;
    /* What a job began with is recorded on its Service, and the status repeats it. A job goes on
     * even when its status could not be written: then `object` is the stored object, completed by
     * spec_snapshot_restore from the Service. */
    const json_t *stored;                /* the object as the cluster has it; borrowed */
    json_t *object;                      /* the completed one; owned; NULL: not completed */
    struct job_observed seen;            /* a copy of the caller's, with the completed object */
    const struct job_observed *observed; /* points to `seen`, for reading */
    struct job_spec *spec; /* NULL: it cannot be read, or the kind has a struct of its own */
    struct error problem;  /* why it cannot be read */
    bool is_refused;       /* it can be read, but the administrator forbids it: problem */
    bool is_changed; /* the spec differs from the one that the job began with, or cannot be read */
    struct endpoint endpoint;
    int64_t now_ms;           /* wall clock, since 1970 */
    int64_t wake_ms;          /* the next decision by time alone, wall clock; INT64_MAX: none */
    struct pod_phase *phases; /* of observed->pods */
    size_t phase_count;
    json_t *progress; /* the hub's termination message, or its last answer; owned; may be NULL */
    int made, rested; /* job_plan_takes */
    struct plan_result result; /* as far as it is decided; owned */
    struct conditions conditions;
};

enum {
    JOB_PLAN_LOST_MS = 60000, /* after its grace period a pod that still exists is on a lost node */
    JOB_PLAN_CREATES_MAX = 100, /* pods a pass, which limits the memory for a job of a thousand */
};

/* is_under_way: the job has begun, so spec_snapshot_restore completes its object by what it began
 * with. now_ms: wall clock. */
void job_plan_init(struct job_plan *plan, const struct job_observed *observed,
                   const struct job_words *words, bool is_under_way, int64_t now_ms);
void job_plan_release(struct job_plan *plan);

/* ---- decisions ---- */

/* A time of the object, in ms since 1970, or `fallback` where it has none. path: of its field, with
 * dots ("status.startTime", tree.h). */
int64_t job_plan_time_of(const struct job_plan *plan, const char *path, int64_t fallback);
/* Asks for another pass at that time. */
void job_plan_wake(struct job_plan *plan, int64_t at_ms);
/* Adds a Kubernetes Event. job_plan_event's is sent after the object named `of` is written,
 * job_plan_report's after the status is written. type: "Normal" or "Warning", a string literal;
 * reason: one word in CamelCase. Texts other than type are copied. */
void job_plan_event(struct job_plan *plan, const char *type, const char *reason, const char *of,
                    const char *format, ...) PRINTF_LIKE(5, 6);
void job_plan_report(struct job_plan *plan, const char *type, const char *reason,
                     const char *format, ...) PRINTF_LIKE(4, 5);
/* Asks the result to delete that pod, or the job's Service if it exists. */
void job_plan_remove_pod(struct job_plan *plan, const struct pod_phase *phase);
void job_plan_remove_service(struct job_plan *plan);
/* Fails the job; the message refers to the log of that pod, which must not be NULL. */
void job_plan_fail(struct job_plan *plan, const char *reason, const char *cause,
                   const struct pod_phase *phase);
/* Adds this new status (takes over the reference) and moves the result to *ret_result. After that
 * the plan may only be released. */
void job_plan_finish(struct job_plan *plan, json_t *status_new, struct plan_result *ret_result);

/* ---- steps (plan_steps.c) ---- */

/* Adds the pod to the result; takes over the reference. before: the pod that it replaces, NULL if
 * none. deaths: how many earlier pods with its role and index have failed. */
void job_plan_make_pod(struct job_plan *plan, json_t *pod_new, const struct pod_phase *before,
                       int deaths);
/* Whether this pass makes the missing pod of that place; ask once for each. Not beyond
 * JOB_PLAN_CREATES_MAX: the end of these, or their turn, leads to the next pass. Those that have to
 * wait are counted apart, so that they do not keep others from being made. */
NODISCARD bool job_plan_takes(struct job_plan *plan, const char *role, int index);
/* Marks a pod that may not run twice at once, even if the first loses the job's label. */
void job_plan_mark_singleton(json_t *pod);
/* The condition of a loop over an object's names, `tried` from 0. True: the next name is to be
 * tried, because *made is NULL, or a foreign object has its name; then *made is released and NULL.
 * At most OWNED_NAMES_MAX are tried. */
bool job_plan_next_name(const struct job_plan *plan, json_t **made, int tried);
/* Gives an object that is to be created, and has no attempts, the first of its names that no
 * foreign object has: NAME, NAME-b, NAME-c, ... (owned_next_name). */
void job_plan_choose_name(const struct job_plan *plan, json_t *object);
/* True: the object (job_observed.ensured) is there. False: the result asks for it (a reference). */
bool job_plan_ensure(struct job_plan *plan, json_t *object);
/* The write failure of an object that is to be created or applied; NULL: none known. Borrowed. */
const struct write_failure *job_plan_write_failure_of(const struct job_plan *plan,
                                                      const json_t *object);
/* Reports who has the name of an object that could not be created; false: that is not why. */
bool job_plan_report_holder(struct job_plan *plan, const struct write_failure *failure);
/* Reports the most severe write failure as the job's condition. While the job runs, only a failure
 * that fails the job is reported (ObjectRefused): with fewer pods than wanted it still runs. */
void job_plan_report_write_failures(struct job_plan *plan, bool is_running);
/* True when the installed definition is older than this program. Then nothing may be created: the
 * result's creations and applications are removed, and the conditions say CRDOutdated. */
bool job_plan_stop_if_outdated(struct job_plan *plan);
/* For a job that has ended: true if its spec.ttlSecondsAfterFinished has passed; the caller
 * (plan_decide.c) deletes its pods in this pass. Otherwise, if pods exist, job_plan_wake is called
 * with the time at which it will have passed. *ret_succeeded: how the job has ended. */
bool job_plan_check_ttl(struct job_plan *plan, bool *ret_succeeded);
