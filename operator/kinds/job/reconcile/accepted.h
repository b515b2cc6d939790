/* accepted.h: the spec that a job began with, kept as an apps/v1 ControllerRevision that the job
 * owns. A server without CEL lets through a change of what may not change, and so does every server
 * until the first status. The job then goes on with what it began with, and with the fields of the
 * new spec that may change. Pure. */
#pragma once

#include "operator/schema.h"

enum {
    ACCEPTED_FIELDS_MAX = 256,
    ACCEPTED_SLOTS = 2, /* names that a revision may be stored under: this many are there at most */
    ACCEPTED_NAMES = 3, /* names of a revision; the last one is an older controller's */
};

/* NAME-UID8-1 and NAME-UID8-2, which are this job's alone; and NAME-UID8-HASH8. Owned. */
char *accepted_name(const char *job, const char *uid, const char *hash, int slot);
/* The revision of the object's spec, under the name of that slot (from 0). hash: status.specHash of
 * that spec. Owned by the caller. */
json_t *accepted_revision(const json_t *object, const char *hash, int slot);
/* The spec of that revision, borrowed; NULL unless it has that hash: no one can plant another.
 * mutable_fields: paths that the hash leaves out (job_hash). */
const json_t *accepted_read(const json_t *revision, const char *const *mutable_fields,
                            const char *hash);
/* Whether the object's spec is not the one of status.specHash. */
bool accepted_differs(const json_t *object, const char *const *mutable_fields);
/* The same, as far as a user has changed it. With the generation that the status
 * is about, only a new default in the definition has changed it. */
bool accepted_is_changed(const json_t *object, const char *const *mutable_fields);
/* The object with this spec, but for the mutable fields, which are those of the object's. Owned. */
json_t *accepted_apply(const json_t *object, const json_t *spec, const char *const *mutable_fields);
/* Takes such an object: with the defaults of its kind's definition that the accepted spec lacks,
 * which an older controller has stored. SCHEMA_FILLED has these fields, too. schema: NULL: as it
 * is. Owned. */
json_t *accepted_fill(const struct schema *schema, json_t *applied_new);
/* The fields whose change is not accepted: "miniBatchSize, workers.gpus". */
void accepted_name_changes(const json_t *object, const json_t *spec,
                           const char *const *mutable_fields,
                           char ret_fields[static ACCEPTED_FIELDS_MAX]);
