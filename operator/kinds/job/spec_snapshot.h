/* spec_snapshot.h: what a job began with, as its Service says it. The Service is the first that is
 * made of a job, and only once; so it settles the run, the spec and the image of which the pods are
 * made, and the Secret's name, before the status does: a status can wait in a rush, pods cannot.
 * Once the status has them it alone counts, and a Service that somebody deletes is made anew from
 * it. Pure.
 */
#pragma once

#include "operator/kinds/job/spec.h"

/* The value of ANNOTATION_SPEC_SNAPSHOT, one line of JSON; owned by the caller:
 *   {"agentImage": absent when the spec has an image, "generation": of the spec, "run", "specHash"}
 */
char *spec_snapshot_write(const struct job_spec *spec);

/* The resource as if its status had been written already: with credentials, run, specHash,
 * agentImage and observedGeneration as its Service has them. The resource itself when its status
 * has credentials, when the Service says nothing (none, one of an older controller, one that was
 * tampered with), or when nothing has begun: no pod is there, and the spec has changed since, so it
 * may begin anew. Owned by the caller. */
json_t *spec_snapshot_restore(const json_t *object, const json_t *service, bool has_pods);
