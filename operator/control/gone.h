/* gone.h: which objects were deleted while requests about them were under way: an answer may be
 * older than the deletion, and does not bring the object back. Used by controller.c for writes, and
 * by queries.c. */
#pragma once

#include "lib/tree.h"

struct gone;

struct gone *gone_new(void);
void gone_free(struct gone *gone); /* NULL is allowed */

/* A request about the object begins; several may be under way for the same one, that is, for the
 * same kind, namespace and name. */
void gone_begin(struct gone *gone, const json_t *object);
/* The cluster reports that the object, with its metadata.uid, was deleted. */
void gone_note(struct gone *gone, const json_t *object);
/* A request about the object has ended. True: what it answered (NULL: nothing) has been deleted
 * since the first of the requests began. */
bool gone_end(struct gone *gone, const json_t *object, const json_t *answer);
