/* labels.h: the names of classes or characters, from a text file with one name a line. */
#pragma once

#include "lib/tree.h"

enum { LABELS_MAX = 1 << 20, LABEL_BYTES_MAX = 16 << 20 };

struct labels {
    char *text;   /* owned; the names point into it */
    char **names; /* owned; NULL: there is no file */
    size_t count;
    char digest[65]; /* SHA-256 of the file, in hex; "": there is no file */
};

/* Reads the file that the spec's field names; without the field there are no names. INVALID names
 * the field: too many lines; other errors are those of reading the file. */
NODISCARD int labels_read(const json_t *spec, const char *field, struct labels *ret_labels,
                          struct error *err);
void labels_release(struct labels *labels);
/* The name of class `index`; NULL: it has none. */
const char *labels_name(const struct labels *labels, int64_t index);
/* Adds the file's digest under the name of its field. */
void labels_add_digest(const struct labels *labels, const char *field, json_t *files);
