/* import_notes.h: the state of an import, and its notes: comments in the written manifest about
 * fields that have no exact counterpart. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* The state of an import. */
struct import {
    const json_t *properties; /* of the job */
    const char *name;         /* of the DistTrain, and the prefix of its Secrets' names */
    json_t *spec;             /* owned, as all below */
    json_t *notes;            /* {FIELD of spec: [line, ...]}: comments above it */
    json_t *left_out;         /* [line, ...]: fields without counterpart */
    json_t *mounts;           /* {relativeMountPath: volume} */
};

/* Adds a comment above that field. */
void import_note(struct import *import, const char *field, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Records a field without counterpart. */
void import_leave_out(struct import *import, const char *format, ...) PRINTF_LIKE(2, 3);
