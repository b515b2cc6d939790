/* import_forms.h: the systems whose jobs become manifests. Pure; used by `windlass import`. No
 * value of a Secret of the file is copied. */
#pragma once

#include "operator/kinds/import/import_notes.h"

/* One kind of another system's job. */
struct import_form {
    const char *from;                 /* "an MPIJob of Kubeflow" */
    const char *made;                 /* the kind that it becomes */
    const char *group;                /* of its apiVersion; NULL: it has none */
    const char *kind;                 /* with a group; else NULL */
    bool (*is)(const json_t *object); /* without a group */
    /* Fills in metadata, spec, notes and left_out. INVALID: it has a value that a manifest cannot
     * express. */
    int (*fill)(struct import *import, const json_t *object, struct error *err);
};

/* Ends with a NULL from. */
extern const struct import_form import_forms[];

/* NULL: none knows it. */
const struct import_form *import_find(const json_t *object);
/* The name of the object itself, if it has one that a job may have; owned; NULL: none. */
char *import_name(const json_t *object);
/* *ret_text (owned): the manifest of the only object of the documents (an array) that has a form,
 * with a line for each of the others. name: of the job; NULL: the object's own, or fallback.
 * INVALID: none has a form, or several have. */
NODISCARD int import_documents(const json_t *documents, const char *name, const char *fallback,
                               char **ret_text, struct error *err);
