/* object.h: what several readers of Kubernetes objects look for, whichever kind they are of. Pure;
 * results are borrowed. */
#pragma once

#include "lib/tree.h"

/* The condition of that type in a `status`; NULL when it has none. */
const json_t *object_condition(const json_t *status, const char *type);

/* Of a pod's containers, or their statuses, the agent's: found by its name, as the kubelet sorts
 * statuses, and templates and webhooks bring containers of their own. The first where none has that
 * name; NULL when there is none at all. */
const json_t *object_agent(const json_t *list);

/* True when uid is among the object's ownerReferences. */
bool object_is_owned_by(const json_t *object, const char *uid);
