/* spec_snapshot.h: what a job began with, as recorded on its Service. The Service is the first
 * object that is created for a job. So it fixes the run, the spec and the image that the pods are
 * made from, and the Secret's name, before the status does: a status can wait, pods cannot. Once
 * the status has these values, only the status counts, a Service that was deleted is created again
 * from it, and a change that is accepted while the job is suspended moves the record along. So a
 * status that is wiped (a restored backup) comes back from the Service. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"

enum { SPEC_SNAPSHOT_MAX = 32 << 10 }; /* bytes; a spec that makes it longer is left out */

/* The value of ANNOTATION_SPEC_SNAPSHOT, one line of JSON; owned by the caller:
 *    {"agentImage": absent when the spec has an image, "begun": true once the status had it,
 *     "generation": of the spec, "run", "spec": the spec itself, absent when it is too long,
 *     "specHash"} */
char *spec_snapshot_write(const struct job_spec *spec, bool has_begun);
/* The spec on the Service, owned by the caller; NULL unless it has that hash: no one can plant
 * another. mutable_fields: paths that the hash leaves out (job_hash). */
json_t *spec_snapshot_read(const json_t *service, const char *const *mutable_fields,
                           const char *hash);
/* Whether a Service of ours records the spec with that hash. made: by spec_snapshot_write, or moved
 * along; false of what somebody else wrote differently. */
bool spec_snapshot_has(const json_t *made, const char *hash);
/* The value for a job whose status.specHash, that of its spec, is not the recorded one; owned by
 * the caller. NULL: it is, or the Service has no record. */
char *spec_snapshot_move(const json_t *service, const json_t *object);

/* The resource as if its status had been written already: with credentials, run, specHash,
 * agentImage and observedGeneration from its Service. It is the unmodified resource when its status
 * has credentials, when the Service has no valid record (no Service, one of an older controller, a
 * modified one), or when the job has not begun: there are no pods, no status ever had the record,
 * and the spec has changed since, so that it may begin again. Owned by the caller. */
json_t *spec_snapshot_restore(const json_t *object, const json_t *service, bool has_pods);
