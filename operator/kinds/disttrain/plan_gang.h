/* plan_gang.h: the part of plan.c that reads a gang's pods and decides about them. Pure. */
#pragma once

#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/status.h"

struct gang {
    struct job_plan job;
    struct disttrain_spec spec;
    const char *not_yet;
    const struct pod_phase *hub; /* the newest pod of index 0; NULL: none */
    struct gang_wait wait;       /* from the status, then the new value */
};

/* One index: all pods that have had it. */
struct place {
    struct pod_phase newest; /* stage is meaningful when attempt > 0 */
    int deaths;              /* by its own failure */
    bool is_alive;
    bool is_here;    /* a process of it may still run: alive, leaving, or unreachable */
    bool is_counted; /* Kueue has no place for another pod (gang_is_counted) */
};

/* A pod that Kueue has not marked after this time is not managed by Kueue. */
enum { GANG_UNSEEN_MS = 5000 };

/* Fills in phases, hub and progress. */
void gang_read(struct gang *gang);
/* The verdict of a hub that ended, or of an index whose pods die too often, if there is one. */
void gang_verdict(struct gang *gang);
/* The cause of a restart when the hub itself has ended, as status.restarts.last: the hub cannot
 * report it, and its successor does not know it. NULL: the hub has not ended, or the job does not
 * go on. The caller frees it. */
json_t *gang_last(const struct gang *gang);
/* Decides which pods to create and delete, and sets the job's conditions. */
void gang_pods(struct gang *gang);
/* Deletes pods that are alive, and pods that need not be kept: after a success all but the hub's
 * pod; all of them when all is true. */
void gang_clean_up(struct gang *gang, bool succeeded, bool all);
bool gang_is_running(const struct gang *gang);
/* The highest attempt of the hub so far, including hubs whose pods are gone. */
int gang_known_attempt(const struct gang *gang);
/* Kueue should release the pod, and has not marked it after_ms after it was created. */
bool gang_is_unseen(const struct gang *gang, const struct pod_phase *phase, int64_t after_ms);
/* Deletes that pod, so that its place can be taken by another. */
void gang_dismiss(struct gang *gang, struct place *place);
/* Fewer than all workers may start, and NAME-0, which the start requires, has no node
 * (plan_gang_lead.c). */
bool gang_lacks_lead(const struct gang *gang, const struct place *places);
/* Whether a pod of that index may be created now: before NAME-0 has a node, there are never more
 * pods than may start. */
bool gang_may_come(const struct gang *gang, const struct place *places, int index);
/* Dismisses pods that take up the room of a NAME-0 that finds no node. */
void gang_make_room(struct gang *gang, struct place *places);
/* The result of a gang that succeeded: the hub's message ("": none), or else steps, time, loss and
 * accuracy as far as reported; where the outputs are and how to use them (plan_gang_say.c). The
 * caller frees it. */
char *gang_result(const struct gang *gang, const char *message);
/* Sets the job's conditions; places: one for each of spec.workers (plan_gang_say.c). */
void gang_say(struct gang *gang, const struct place *places);
/* The gang waited for its start, and had no progress yet that a disruption could interrupt. */
bool gang_was_waiting(const struct gang *gang);
/* Fills in wait from the status (plan_gang_wait.c). */
void gang_wait_read(struct gang *gang);
/* True: it has been incomplete for longer than spec.startDeadlineSeconds, has released all its pods
 * or will, and must not create pods; the job's condition reports it. */
bool gang_rests(struct gang *gang, const struct place *places);
