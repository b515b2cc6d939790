/* spec_texts.h: all texts of a spec, and the references in them that are replaced: $(after.…) and
 * $(parameters.…). $$( is not one. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum { SPEC_TEXT_MAX = 64 << 10 }; /* bytes of a text with its values */

/* What a text is for. */
enum spec_text_use {
    SPEC_TEXT_PATH,    /* a path or another field */
    SPEC_TEXT_PROGRAM, /* a program gets it: command, arguments, environment, templates */
};

struct spec_text {
    const char *text, *field; /* field: its path, as errors have it */
    enum spec_text_use use;
};

typedef int spec_text_visitor(const struct spec_text *text, const void *context, struct error *err);
/* The text with values in place, owned; NULL: it stays as it is. */
typedef char *spec_text_filler(const char *text, enum spec_text_use use, const void *context);

/* Calls it for each text, except those of spec.after and spec.parameters, until it fails. */
NODISCARD int spec_texts_visit(const json_t *spec, spec_text_visitor *each, const void *context,
                               struct error *err);
/* The spec with its texts replaced; a new reference. */
json_t *spec_texts_fill(const json_t *spec, spec_text_filler *fill, const void *context);
/* Where the next `opens` ("$(after.") begins, from `at` on, that is not escaped; NULL: nowhere. */
const char *spec_text_find(const char *at, const char *opens);
/* Reads letters into `out`, of max + 1 bytes, and moves on. False: none, or more than max. */
bool spec_text_read(const char **at, const char *letters, char *out, size_t max);
/* VOLUME/path as a text of that use needs it: a program gets $(VOLUME)/path. Owned. */
char *spec_text_place(const char *path, enum spec_text_use use);
/* Whether a shell that reads it finds nothing of its own in it: letters, digits, . _ / : = @ + -
 */
bool spec_text_is_plain(const char *value);
