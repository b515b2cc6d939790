/* object.h: lookups in Kubernetes objects that several readers need, for all kinds. Pure; results
 * are borrowed. */
#pragma once

#include "lib/tree.h"

/* The condition of that type in a `status`; NULL when it has none. */
const json_t *object_condition(const json_t *status, const char *type);

/* The agent's entry among a pod's containers or container statuses. It is found by its name,
 * because the kubelet sorts statuses, and templates and webhooks add containers. It is the first
 * entry where none has that name; NULL when the list is empty. */
const json_t *object_agent(const json_t *list);

/* The condition Succeeded of a job's status; NULL when it has none. */
const json_t *object_succeeded(const json_t *status);
/* The job's state for people: why it waits (the reason of Waiting), else the reason of Succeeded
 * ("Running"); "Pending" when there is none. */
const char *object_state(const json_t *status);

/* Sets these members of `to` as `from` has them (the list ends with NULL); absent ones are left. */
void object_copy(json_t *to, const json_t *from, const char *const *names);

/* How long ago the object was created; 0 when its creationTimestamp is missing. */
int64_t object_age_ms(const json_t *object, int64_t now_ms);

/* True when uid is among the object's ownerReferences. */
bool object_is_owned_by(const json_t *object, const char *uid);

/* Whether a stored object, or part of it, has all that was asked for: numbers by their value, since
 * 1.0 comes back as 1; members that were not asked for do not count. ignores_times: texts that are
 * times (when it was written) may differ. */
bool object_holds(const json_t *stored, const json_t *asked, bool ignores_times);
