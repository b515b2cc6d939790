/* holders.h: makes sure that a job uses only objects that it owns, between its plan and the writes.
 * If a name that the plan wants to create is already used, the existing object is read once. Then
 * one of these follows: it is put into the cache, if the job owns it (the answer to an earlier
 * creation was lost, or its watch event is late); it is adopted; its release by an earlier owner is
 * requested or awaited; or the plan is informed that the name is taken, and uses the next one.
 * Objects that lost their owner are adopted before that (adoption.h). */
#pragma once

#include "operator/kinds/job/reconcile/refusals.h"

struct credentials;

/* Before each pass, before the cache is read. made: of this controller, not yet in use; NULL: none.
 * May ask for writes (CLUSTER_MERGE) and one question. */
void holders_settle(struct reconcile *request, struct refusals *record,
                    const struct credentials *made);
/* The answer to the question. */
void holders_found(struct refusals *record, const struct found *found);
/* Records how the change of an owner ended. */
void holders_note(struct refusals *record, const struct written *written);
/* Marks an object that is to be created as made for the resource. */
void holders_mark(const struct reconcile *request, json_t *object);
