/* jsontext.h: looks at JSON text where it lies, without a tree and without memory: for rows and
 * answers of many megabytes, of which only the places of a few values are wanted. Grammar alone
 * (RFC 8259): numbers of any size, "\u0000" and half surrogates pass. Pure. */
#pragma once

#include "lib/buffer.h"

enum { JSONTEXT_DEPTH_MAX = 512 };

/* Past the white space at `at`; end when there is nothing else. */
const char *jsontext_space(const char *at, const char *end);
/* Past the one value that begins at `at`; NULL when there is none, it is deeper than
 * JSONTEXT_DEPTH_MAX, or it is no UTF-8. */
const char *jsontext_value(const char *at, const char *end);
/* True when the bytes are one value, with white space around it or not. */
bool jsontext_is_value(const char *data, size_t size);

/* Appends UTF-8 as what stands between the quotes of a JSON string. */
NODISCARD int jsontext_escape(struct buffer *buffer, const char *data, size_t size,
                              struct error *err);
