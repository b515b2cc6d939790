/* plan_gang.h: the part of plan.c that reads a gang's pods and decides about them. Pure. */
#pragma once

#include "operator/kinds/disttrain/plan_places.h"

/* Fills in phases, hub and progress. */
void disttrain_read_pods(struct disttrain_plan *gang);
/* The verdict of a hub that ended, or of an index whose pods die too often, if there is one. */
void disttrain_verdict(struct disttrain_plan *gang);
/* The cause of a restart when the hub itself has ended, as status.restarts.last: the hub cannot
 * report it, and its successor does not know it. NULL: the hub has not ended, or the job does not
 * go on. The caller frees it. */
json_t *disttrain_last_restart(const struct disttrain_plan *gang);
/* Decides which pods to create and delete, and sets the job's conditions. */
void disttrain_make_pods(struct disttrain_plan *gang);
/* Fewer than all workers may start, and NAME-0, which the start requires, has no node
 * (plan_gang_lead.c). */
bool disttrain_lacks_lead(const struct disttrain_plan *gang, const struct gang_place *places);
/* Whether a pod of that index may be created now: before NAME-0 has a node, there are never more
 * pods than may start. */
bool disttrain_may_come(const struct disttrain_plan *gang, const struct gang_place *places,
                        int index);
/* Dismisses pods that take up the room of a NAME-0 that finds no node. */
void disttrain_make_room(struct disttrain_plan *gang, struct gang_place *places);
/* The result of a gang that succeeded: the hub's message ("": none), or else steps, time, loss and
 * accuracy as far as reported; where the outputs are and how to use them (plan_gang_say.c). The
 * caller frees it. */
char *disttrain_result(const struct disttrain_plan *gang, const char *message);
/* Sets the job's conditions; places: one for each of spec.workers (plan_gang_say.c). */
void disttrain_say(struct disttrain_plan *gang, const struct gang_place *places);
/* The gang waited for its start, and had no progress yet that a disruption could interrupt. */
bool disttrain_was_waiting(const struct disttrain_plan *gang);
/* Fills in wait from the status (plan_gang_wait.c). */
void disttrain_read_wait(struct disttrain_plan *gang);
/* True: it has been incomplete for longer than spec.startDeadlineSeconds, has released all its pods
 * or will, and must not create pods; the job's condition reports it. */
bool disttrain_rests(struct disttrain_plan *gang, const struct gang_place *places);
