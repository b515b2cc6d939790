/* ensured.h: objects of kinds that the controller does not watch, because a cluster may lack them
 * (PodGroups): which of them exist. Such an object is only ever created, never applied over another
 * one. If its name exists already, holders.h asks who has it: one that is ours is taken as it is,
 * or changed to what is wanted, by its uid and version; one that is not is never touched. */
#pragma once

#include "operator/kinds/job/plan.h"
#include "operator/kinds/job/reconcile/refusals.h"

void ensured_release(struct ensured_objects *list);
/* What a plan asks for: of plan_result.apply, the objects without a uid. */
void ensured_want_all(struct ensured_objects *list, const json_t *objects);
/* It was created or changed; an object that was not wanted is ignored. */
void ensured_note(struct ensured_objects *list, const json_t *object);
/* What was last known a minute ago may have changed since. */
void ensured_forget(struct ensured_objects *list, int64_t now_ms);
/* Before holders_settle: takes the objects whose name was found to be ours, and drops their rows
 * from the record. May ask for writes (CLUSTER_MERGE). */
void ensured_settle(struct reconcile *request, struct ensured_objects *list,
                    struct refusals *record);
