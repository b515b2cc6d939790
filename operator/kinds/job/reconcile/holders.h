/* holders.h: what happens between a plan and its writes so that a job uses only objects that are
 * its own. When a creation met a name that exists, its holder is asked for once, and then taken
 * into the cache (it is ours: the answer to an earlier creation was lost, or its event is late),
 * adopted, released, waited for, or told to the plan as taken, which then uses the next name.
 * Objects with the job's label that lost their owner are found in the cache and adopted the same
 * way. */
#pragma once

#include "operator/kinds/job/reconcile/refusals.h"

/* Before each pass, before the cache is read. kinds: what the job owns and the controller watches;
 * ends with NULL. May ask for writes (CLUSTER_MERGE) and one question. */
void holders_settle(struct reconcile *request, struct refusals *record, const char *const *kinds);
/* The answer to the question. */
void holders_found(struct refusals *record, const struct found *found);
/* Records how the change of an owner ended. */
void holders_note(struct refusals *record, const struct written *written);
/* Marks an object that is to be created as made for the resource. */
void holders_mark(const struct reconcile *request, json_t *object);
