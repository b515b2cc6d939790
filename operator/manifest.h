/* manifest.h: reads YAML as JSON trees, and records the line of every field. The only user of
 * libyaml.
 *
 * Scalars follow YAML 1.2's core schema: quoted scalars are text; true, false, null, integers and
 * decimal numbers have their types; all others (yes, on, 2026-11-21, 010x) are text. Anchors and
 * aliases are expanded and counted; duplicate keys are refused. Errors read "FILE:LINE: ...". */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    MANIFEST_BYTES_MAX = 1 << 20,
    MANIFEST_NODES_MAX = 20000, /* with aliases expanded: limits exponential expansion */
    MANIFEST_DEPTH_MAX = 32,
    MANIFEST_DOCUMENTS_MAX = 16,
};

struct manifest_document {
    json_t *tree;   /* an object */
    json_t *places; /* {"spec.workers.min": place, ...}; "" is the document itself; the numbers are
                       known to manifest.c alone */
};

struct manifest {
    char *name;    /* the file, for messages */
    char *text;    /* of the file */
    size_t size;   /* bytes of it */
    json_t *cover; /* {"LINE": column}: that line has a secret, from that column on */
    struct manifest_document documents[MANIFEST_DOCUMENTS_MAX];
    size_t count; /* empty documents are left out */
};

/* All functions fail with ERROR_INVALID when the text is invalid. path "-" is standard input.
 * manifest_read reads only the text, which the caller frees. */
NODISCARD int manifest_read(const char *path, char **ret_text, size_t *ret_size, struct error *err);
NODISCARD int manifest_load(const char *path, struct manifest **ret_manifest, struct error *err);
NODISCARD int manifest_parse(const char *name, const char *text, size_t size,
                             struct manifest **ret_manifest, struct error *err);
/* For a text of ours: without places and cover (NULL), which take longer than the rest. */
NODISCARD int manifest_parse_bare(const char *name, const char *text, size_t size,
                                  struct manifest **ret_manifest, struct error *err);
void manifest_free(struct manifest *manifest);
void manifest_freep(struct manifest **manifest); /* for AUTO */

/* The line of the field, or of the nearest enclosing field that has one. */
int manifest_line(const struct manifest_document *document, const char *field);

/* Prepends "FILE:LINE: " to an error that begins with "FIELD: ", like those of schema.h and the
 * kinds' spec.h. Always returns -1. */
int manifest_context(const struct manifest *manifest, const struct manifest_document *document,
                     struct error *err);

/* The line of an error of manifest_context's form, to be printed below it (manifest_excerpt.h):
 * with a caret where the field's value begins, or the name of a field that is unknown or lacks
 * another. NULL: the error names no field of the file. The caller frees. The value of an unknown
 * field may be a misspelt secret: no line shows it whose errors were all given to manifest_cover
 * before. */
void manifest_cover(struct manifest *manifest, const struct manifest_document *document,
                    const char *error);
char *manifest_show(const struct manifest *manifest, const struct manifest_document *document,
                    const char *error);

/* Writes FIELD.KEY (or FIELD[KEY] where the key contains a dot), the form of all errors. False, and
 * a truncated text, when the buffer is too small. An empty FIELD is the root. */
bool manifest_field(char *text, size_t room, const char *field, const char *key);
bool manifest_field_at(char *text, size_t room, const char *field, size_t index);
enum { MANIFEST_FIELD_MAX = 384 };
