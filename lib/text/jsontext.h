/* jsontext.h: scans JSON text in place, without a tree and without allocating: for table rows and
 * HTTP responses of many megabytes of which a few values are needed. Checks the grammar alone
 * (RFC 8259): numbers of any size, "\u0000" and lone surrogates pass. Pure. */
#pragma once

#include "lib/buffer.h"

enum { JSONTEXT_DEPTH_MAX = 512 };

/* Skips white space: the first other byte, or end. */
const char *jsontext_space(const char *at, const char *end);
/* Skips the value that starts at `at`. NULL: not a value, nested deeper than JSONTEXT_DEPTH_MAX, or
 * not UTF-8. */
const char *jsontext_value(const char *at, const char *end);
/* True when the bytes are exactly one value, white space around it allowed. */
bool jsontext_is_value(const char *data, size_t size);

/* Appends UTF-8 text escaped for a JSON string, without the quotes. */
NODISCARD int jsontext_escape(struct buffer *buffer, const char *data, size_t size,
                              struct error *err);
