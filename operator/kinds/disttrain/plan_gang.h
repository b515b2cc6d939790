/* plan_gang.h: the part of plan.c that reads a gang's pods and decides about them. Pure. A place is
 * an index of the gang with all pods that have had it (plan_places.h); arrays of places have one
 * for each of spec.workers. The hub is the newest pod of index 0; it is also called NAME-0, or the
 * lead where the question is whether it has a node. */
#pragma once

#include "operator/kinds/disttrain/plan_places.h"

/* Fills in gang->job.phases, gang->hub and gang->job.progress. */
void disttrain_read_pods(struct disttrain_plan *gang);
/* Ends the job (sets its conditions) if the hub has succeeded or failed, or if the newest pod of an
 * index has failed and with it more than spec.restart.maxRestarts pods of that index have. */
void disttrain_verdict(struct disttrain_plan *gang);
/* ---- plan_gang_finish.c: a hub that may start nothing --------------------------------------- */

/* That pod's ANNOTATION_FINISHES; 0: an ordinary one. */
int disttrain_finishes(const struct pod_phase *phase);
/* The hub has died, and no restart is left. All ranks may have ended before, which only the store
 * knows (agent/launch/proof/ended.h): one more pod of NAME-0 may look, and finish. */
bool disttrain_may_finish(const struct disttrain_plan *gang);
/* The hub was such a pod, and found that not all ranks had ended. */
bool disttrain_check_failed(const struct disttrain_plan *gang);
/* The newest hub that could start something, whose place it took; the hub if that pod is gone. */
const struct pod_phase *disttrain_previous_hub(const struct disttrain_plan *gang);

/* The cause of a restart when the hub itself has ended, as status.restarts.last: the hub cannot
 * report it, and its successor does not know it. NULL: the hub has not ended, or the job does not
 * go on. The caller frees it. */
json_t *disttrain_last_restart(const struct disttrain_plan *gang);
/* Decides which pods to create and delete, and sets the job's conditions. */
void disttrain_make_pods(struct disttrain_plan *gang);
/* True if minWorkers is less than workers, the gang scheduler is not Kueue, and NAME-0, without
 * which nothing starts, has no node (plan_gang_lead.c). */
bool disttrain_lacks_lead(const struct disttrain_plan *gang, const struct gang_place *places);
/* Whether a pod of that index may be created now: while disttrain_lacks_lead, there are at most
 * minWorkers pods. */
bool disttrain_may_create(const struct disttrain_plan *gang, const struct gang_place *places,
                          int index);
/* If NAME-0 has found no node for some time, deletes pods that it does not need for a start, so
 * that it can have one of their nodes. */
void disttrain_make_room(struct disttrain_plan *gang, struct gang_place *places);
/* The result of a gang that succeeded: the hub's message ("": none), or else steps, time, loss and
 * accuracy as far as reported; where the outputs are and how to use them (plan_gang_conditions.c).
 * The caller frees it. */
char *disttrain_result(const struct disttrain_plan *gang, const char *message);
/* Sets the job's conditions (plan_gang_conditions.c). */
void disttrain_set_conditions(struct disttrain_plan *gang, const struct gang_place *places);
/* The gang waited for its start, and had no progress yet that a disruption could interrupt. */
bool disttrain_was_waiting(const struct disttrain_plan *gang);
/* Fills in gang->wait from the status (plan_gang_wait.c). */
void disttrain_read_wait(struct disttrain_plan *gang);
/* Deletes all pods of a gang that held nodes and was incomplete for longer than
 * spec.startDeadlineSeconds, so that other jobs can have the nodes. True: the pods have been or are
 * now deleted, and none may be created until gang->wait.again_ms; the job's condition says so. */
bool disttrain_give_up_nodes(struct disttrain_plan *gang, const struct gang_place *places);
