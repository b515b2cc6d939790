/* relabelled.h: pods of a job whose labels somebody changed to those of another job, or of another
 * place than their names say: the job sees them no more and makes others, but they still run and
 * have its owner reference. A pod that vanished without having ended or having been deleted by us
 * is looked for by its name, once (at once, but not again and again while somebody deletes pods),
 * and so is one that is first seen in another place; if it is there and ours, it is released
 * (control/claim.h), so that it outlives the job. (One whose name the job wants again is found by
 * that: holders.h. Pods of which two must not run are held by singleton.h; when the job is
 * suspended or ends, its plan deletes those in another place.) */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/retry_delay.h"

enum {
    RELABELLED_TRIES = 5,   /* questions and changes that fail, of one pod; then it is left */
    RELABELLED_AT_ONCE = 2, /* pods that are released without a wait between them */
    RELABELLED_MAX = 1024,  /* pods of a job that are looked for; more are left */
};

/* Of one job; zero at first. */
struct relabelled {
    json_t *names;     /* of pods that vanished: the first is looked for; owned; NULL: none */
    json_t *there;     /* the first, as the cluster has it; owned; NULL: not known */
    json_t *misplaced; /* {UID: true} of pods in another place, of the last pass; owned */
    json_t *alone; /* of this pass: those of them of which two must not run; owned array, or NULL */
    bool is_asked, is_releasing;
    int64_t asked_ms;         /* monotonic */
    struct retry_delay delay; /* of the first */
    int released;             /* pods, ever */
    /* Pods that had been deleted, or were released after RELABELLED_AT_ONCE: the next look waits.
     */
    struct retry_delay_repeat in_vain;
};

void relabelled_release(struct relabelled *relabelled);
/* Takes the pods off the list whose labels are of another place (bare_role: owned_is_misplaced).
 * Those that are alive are looked for, or in `alone`. */
void relabelled_leave_out(struct relabelled *relabelled, json_t *pods, const char *job,
                          const char *bare_role);
/* Pods are still looked for. */
bool relabelled_is_busy(const struct relabelled *relabelled);
/* In each pass. vanished: [NAME] (pods_seen.h), or NULL; but: a name that is looked for already, or
 * NULL. */
void relabelled_note(struct relabelled *relabelled, const json_t *vanished, const char *but);
/* In each pass, after other questions. May ask for one write (CLUSTER_MERGE) and one question. */
void relabelled_settle(struct reconcile *request, struct relabelled *relabelled,
                       const char *bare_role);
/* An answer to a question; those of other modules are ignored. And how a change ended: a pod that
 * another module has released, or taken back, is not looked for. */
void relabelled_found(struct relabelled *relabelled, const struct found *found);
void relabelled_note_change(struct relabelled *relabelled, const struct written *written);
