/* import_notes.h: the state of an import of another system's job, and its notes: comments in the
 * written manifest about fields that have no exact counterpart. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* The state of an import. */
struct import {
    const json_t *properties; /* of a job.json of Batch AI */
    const json_t *documents;  /* all documents of the file; NULL: there is but one */
    const char *name;         /* of the job, and the prefix of its Secrets' names */
    const char *prefix;       /* of what is left out: "trialSpec."; NULL: none */
    /* Fills in a DistTrain of another object: a trial's (import_forms.c). */
    int (*fill_trial)(struct import *trial, const json_t *object, struct error *err);
    json_t *metadata; /* owned, as all below; without the name */
    json_t *spec;
    json_t *notes;    /* {FIELD of spec: [line, ...]}: comments above it */
    json_t *left_out; /* [line, ...]: fields without counterpart */
    json_t *mounts;   /* Batch AI: {relativeMountPath: volume} */
};

void import_init(struct import *import, const char *name);
void import_release(struct import *import); /* for AUTO, too */

/* Adds a comment above that field. */
void import_note(struct import *import, const char *field, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Records a field without counterpart, once. */
void import_leave_out(struct import *import, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- fields of the other job ---- */

/* What the import of one object knows. */
struct import_field {
    const char *name;
    const char *why; /* it is left out, with this line; NULL: it is read */
};

/* Leaves out each member of the object that the table does not have, or has with a reason.
 * where: "spec.", before the member's name. The table ends with a NULL name. */
void import_report(struct import *import, const json_t *object, const char *where,
                   const struct import_field *table);

/* A text, a number or a boolean as text; owned; NULL: anything else. */
char *import_scalar(const json_t *value);
/* A whole number, which may be written as text. Anything else that is there is left out, and the
 * fallback counts. At most a quarter of int64_t's range: a few may be added. */
int64_t import_integer(struct import *import, const json_t *object, const char *path,
                       int64_t fallback);
/* A list of texts, with numbers as texts; owned. */
json_t *import_words(const json_t *list);
/* Sets spec.FIELD to a copy of the value, unless there is none. */
void import_set(struct import *import, const char *field, const json_t *value);
