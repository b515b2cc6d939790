/* progress_fields.h: fields of a hub's /progress that are copied to a job's status: only valid
 * values, because the hub is another program. Pure. */
#pragma once

#include "lib/tree.h"

enum { PROGRESS_FIELDS_PATH_MAX = 4096 /* bytes */ };

/* Text of at most `max` bytes; otherwise the status keeps what it has. */
void progress_fields_text(json_t *status, const json_t *progress, const char *name, size_t max);
/* An integer of at least 0. False: there is none, and the status keeps what it has. */
bool progress_fields_number(json_t *status, const json_t *progress, const char *name);
/* "outputs": the paths of at most 16 outputs. */
void progress_fields_outputs(json_t *status, const json_t *progress);
