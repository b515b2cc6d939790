/* cache_transform.h: reduces a job and its objects to the fields that the controller keeps in
 * memory (cache.h's cache_transform). For a finished job only its end time, outcome and output are
 * kept. Pure. Each result is a new reference (json_decref), whose members may be shared with the
 * argument: modify neither. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* In the metadata of a cached Pod: another owner than its controller, {"kind", "name"}. As long as
 * that exists, the cluster keeps the Pod when its job is gone. */
#define CACHE_OTHER_OWNER "otherOwner"

/* For a Pod or Service of a job. */
json_t *cache_transform_owned(const json_t *object);
/* For a Pod or Service of a finished job: only the fields needed to delete it. */
json_t *cache_transform_leftover(const json_t *object);
/* For a job. annotations: the keys that are kept; ends with NULL. */
json_t *cache_transform_job(const json_t *job, const char *const *annotations);
/* True if the job has ended and its status is complete. */
bool cache_transform_is_final(const json_t *job);

/* An object with these top-level members (the list ends with NULL); absent ones are omitted. */
json_t *cache_transform_pick(const json_t *from, const char *const *fields);
