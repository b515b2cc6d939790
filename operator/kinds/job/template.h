/* template.h: what a user puts over the pods that we make: spec.template (every pod), then
 * spec.workers.template or spec.coordinator.template. Pure. docs/pods.md is the user's side of it.
 *
 * Objects are merged field by field, null takes a field away, anything else replaces. Lists whose
 * entries have a name of some kind (containers, initContainers, env, volumes, imagePullSecrets by
 * name; volumeMounts by mountPath, volumeDevices by devicePath, ports by containerPort, hostAliases
 * by ip) are merged entry by entry, new ones behind ours; tolerations are appended; other lists
 * replace. Ours stay: restartPolicy, the labels of windlass.dev, and of the container "agent"
 * command, args and the variables and mounts that we make. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Refuses what must stay ours and lists that cannot be merged, in every template of a spec.
 * ERROR_INVALID and "spec.template.spec.containers[0].command: ...". */
NODISCARD int template_check(const json_t *spec, struct error *err);

/* pod: as pods.h makes it, changed in place. template: checked; NULL changes nothing. */
void template_apply(json_t *pod, const json_t *template);
