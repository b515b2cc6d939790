/* cache_transform.h: the parts of a job and of its objects that the controller keeps in memory:
 * only the fields that are used. Of a finished job these are when and how it ended. Pure. The
 * results are new trees (cache.h's cache_transform). */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* For a Pod or Service of a job. */
json_t *job_transform_owned(const json_t *object);
/* For a Pod or Service of a finished job: the fields needed to delete it. */
json_t *job_transform_ended(const json_t *object);
/* For a job. annotations: the keys that are kept; ends with NULL. */
json_t *job_transform(const json_t *job, const char *const *annotations);
/* The job has ended and its status is complete. */
bool job_is_settled(const json_t *job);

/* A new tree with these fields (ends with NULL). Values are shared, because they never change. */
json_t *transform_pick(const json_t *from, const char *const *fields);
