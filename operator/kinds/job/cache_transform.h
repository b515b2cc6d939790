/* cache_transform.h: what the controller remembers of what jobs own, and of a job: no more than is
 * used. Of a finished job that is when it ended and how. Pure. New trees (cache.h's
 * cache_transform). */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Of a Pod or Service of a job. */
json_t *job_transform_owned(const json_t *object);
/* The same of one whose job has ended: enough to delete it. */
json_t *job_transform_ended(const json_t *object);
/* Of a job. annotations: of it that are kept, ends with NULL. */
json_t *job_transform(const json_t *job, const char *const *annotations);
/* It has ended, and nothing is left to say of it. */
bool job_is_settled(const json_t *job);

/* A new tree with these fields, ending with NULL; values are shared, as they never change. */
json_t *transform_pick(const json_t *from, const char *const *fields);
