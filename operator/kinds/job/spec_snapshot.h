/* spec_snapshot.h: what a job began with, as recorded on its Service. The Service is the first
 * object that is created for a job. So it fixes the run, the spec and the image that the pods are
 * made from, and the Secret's name, before the status does: a status can wait, pods cannot. Once
 * the status has these values, only the status counts, a Service that was deleted is created again
 * from it, and a change that is accepted while the job is suspended moves the record along.
 * Any user who may create Services could plant one. So a record counts only if this controller made
 * it, or if a pod of the job has its digest: a user who may create pods needs no Service to run
 * something. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"

enum { SPEC_SNAPSHOT_MAX = 32 << 10 }; /* bytes; a spec that makes it longer is left out */

/* The value of ANNOTATION_SPEC_SNAPSHOT, one line of JSON; owned by the caller:
 *    {"agentImage": absent when the spec has an image, "generation": of the spec, "run",
 *     "spec": the spec itself, absent when it is too long, "specHash"} */
char *spec_snapshot_write(const struct job_spec *spec);
/* The spec on the Service, owned by the caller; NULL unless it has that hash: no one can plant
 * another. mutable_fields: paths that the hash leaves out (job_hash). */
json_t *spec_snapshot_read(const json_t *service, const char *const *mutable_fields,
                           const char *hash);
/* Whether a Service of ours records the spec with that hash. made: the annotation as this
 * controller wrote it; false for one that was edited. */
bool spec_snapshot_has(const json_t *made, const char *hash);
/* The value for a job whose status.specHash, that of its spec, is not the recorded one; owned by
 * the caller. NULL: it is, or the Service has no record. */
char *spec_snapshot_move(const json_t *service, const json_t *object);

/* The digest of what a status says that its job began with: Secret, certificate, run, hash of the
 * spec, image. For ANNOTATION_BEGUN_DIGEST. */
enum { SPEC_SNAPSHOT_DIGEST = 32 + 1 };
void spec_snapshot_digest(const json_t *status, char ret_digest[static SPEC_SNAPSHOT_DIGEST]);
/* The same of the record on a Service; false: there is no whole one. */
bool spec_snapshot_digest_of(const json_t *service, char ret_digest[static SPEC_SNAPSHOT_DIGEST]);

/* What is known about a job whose Services are looked at. All borrowed. */
struct spec_snapshot_known {
    const json_t *object, *pods;           /* the resource; an array of its pods */
    const struct credentials *credentials; /* of this controller, not yet in use; NULL: none */
};

/* Which of a job's Services is its hub's: the one of the Secret and the certificate that its status
 * names, else the one that this controller made, else, before a status was written, the one whose
 * record a pod has the digest of. Without such a one the first, and *ret_is_known is false: nothing
 * in it counts, and it must be overwritten. Borrowed; NULL: there is none. */
const json_t *spec_snapshot_choose(const struct spec_snapshot_known *known, const json_t *services,
                                   bool *ret_is_known);

/* The resource as if its status had been written already: with credentials, run, specHash,
 * agentImage and observedGeneration from its Service. It is the unmodified resource when its status
 * has credentials, when the Service has no record that is believed (no Service, one of an older
 * controller, somebody else's), or when the job has not begun: there are no pods, and the spec has
 * changed since, so that it may begin again. Owned by the caller. */
json_t *spec_snapshot_restore(const struct spec_snapshot_known *known, const json_t *service);
