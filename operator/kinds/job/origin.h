/* origin.h: what a job's hub is told for result.json: the resource as it was accepted, and the
 * images of its pods. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"

/* {"apiVersion", "kind", "metadata": {"name", "namespace"}, "spec"} with all defaults. Values of
 * variables ("environment": {NAME: VALUE}, "env": [{"name", "value"}]) are left out, since people
 * put secrets there; Secrets themselves are only named in a manifest. Owned by the caller. */
json_t *origin_manifest(const struct job_spec *spec);

/* Adds WINDLASS_MANIFEST, WINDLASS_IMAGES (images: role -> image; taken over), and with
 * spec.signingKey WINDLASS_SIGNING_KEY, by its Secret, to a hub's environment. */
void origin_add(json_t *environment, const struct job_spec *spec, json_t *images_new);
