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
    struct gang_wait wait;       /* of the status, then what it is to be */
};

/* One index: all pods that have had it. */
struct place {
    struct pod_phase newest; /* stage is meaningful when attempt > 0 */
    int deaths;              /* by its own doing */
    bool is_alive;
    bool is_here;    /* something of it may still run: alive, leaving, or out of sight */
    bool is_counted; /* Kueue has no place for another (gang_is_counted) */
};

/* A pod that Kueue has not marked after so long is none of Kueue's. */
enum { GANG_UNSEEN_MS = 5000 };

/* Fills in phases, hub and progress. */
void gang_read(struct gang *gang);
/* The verdict of a hub that ended, or of an index whose pods die too often, if there is one. */
void gang_verdict(struct gang *gang);
/* Why all start again when the hub itself has ended, as status.restarts.last: it cannot tell, and
 * its successor does not know. NULL: it has not, or the job does not go on. The caller's. */
json_t *gang_last(const struct gang *gang);
/* What runs, what is missing; what the job says. */
void gang_pods(struct gang *gang);
/* Deletes what lives, and what is not worth keeping: of a success all but the hub's pod; everything
 * when all is true. */
void gang_clean_up(struct gang *gang, bool succeeded, bool all);
bool gang_is_running(const struct gang *gang);
/* Of the hubs that there have been, whether their pods are still there to tell or not. */
int gang_known_attempt(const struct gang *gang);
/* Kueue is to let it go, and has not marked it after_ms after it was made. */
bool gang_is_unseen(const struct gang *gang, const struct pod_phase *phase, int64_t after_ms);
/* That pod is told to leave, and its place is another's. */
void gang_dismiss(struct gang *gang, struct place *place);
/* Fewer than all may start, and NAME-0, without which nobody does, has no node (plan_gang_lead.c).
 */
bool gang_lacks_lead(const struct gang *gang, const struct place *places);
/* A pod of that index may be made now: then there are not more than may start before NAME-0 has a
 * node. */
bool gang_may_come(const struct gang *gang, const struct place *places, int index);
/* Dismisses who stands in the way of a NAME-0 that finds no node. */
void gang_make_room(struct gang *gang, struct place *places);
/* What came out of a gang that ended well: what its hub says ("": nothing), else steps, time, loss
 * and accuracy as far as they were told; where it is, what it is for (plan_gang_say.c). The
 * caller's. */
char *gang_result(const struct gang *gang, const char *message);
/* What the job says; places: one for each of spec.workers (plan_gang_say.c). */
void gang_say(struct gang *gang, const struct place *places);
/* It waited for its start, and had come to nothing yet that could be disrupted. */
bool gang_was_waiting(const struct gang *gang);
/* Fills in wait, as the status has it (plan_gang_wait.c). */
void gang_wait_read(struct gang *gang);
/* True: it is not whole for longer than spec.startDeadlineSeconds, has let all go or will, and no
 * pods are to be made; the job says so. */
bool gang_rests(struct gang *gang, const struct place *places);
