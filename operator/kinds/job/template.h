/* template.h: applies the user's pod templates: spec.template (every pod), then
 * spec.workers.template or spec.coordinator.template. Pure. docs/pods.md is the user's manual.
 *
 * Objects are merged field by field, null removes a field, any other value replaces it. Lists whose
 * entries have a key (containers, initContainers, env, volumes, imagePullSecrets: name;
 * volumeMounts: mountPath, volumeDevices: devicePath, ports: containerPort, hostAliases: ip) are
 * merged entry by entry, with new entries after ours. tolerations are appended; other lists are
 * replaced. A template cannot change restartPolicy, the labels of windlass.dev, and of the
 * container "agent" command, args and our variables and mounts. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Refuses, in every template of a spec, changes of these fields and lists that cannot be merged.
 * ERROR_INVALID and "spec.template.spec.containers[0].command: ...". */
NODISCARD int template_check(const json_t *spec, struct error *err);

/* pod: as made by pods.h, changed in place. template: checked; NULL changes nothing. */
void template_apply(json_t *pod, const json_t *template);
