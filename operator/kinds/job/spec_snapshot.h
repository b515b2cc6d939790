/* spec_snapshot.h: what a job began with, as recorded on its Service. The Service is the first
 * object that is created for a job, and it is created only once. So it fixes the run, the spec and
 * the image that the pods are made from, and the Secret's name, before the status does: in a rush a
 * status can wait, pods cannot. Once the status has these values, only the status counts, and a
 * Service that was deleted is created again from it. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"

/* The value of ANNOTATION_SPEC_SNAPSHOT, one line of JSON; owned by the caller:
 *    {"agentImage": absent when the spec has an image, "generation": of the spec, "run",
 * "specHash"}
 */
char *spec_snapshot_write(const struct job_spec *spec);

/* The resource as if its status had been written already: with credentials, run, specHash,
 * agentImage and observedGeneration from its Service. It is the unmodified resource when its status
 * has credentials, when the Service has no valid record (no Service, one of an older controller, a
 * modified one), or when the job has not begun: there are no pods and the spec has changed since,
 * so that it may begin again. Owned by the caller. */
json_t *spec_snapshot_restore(const json_t *object, const json_t *service, bool has_pods);
