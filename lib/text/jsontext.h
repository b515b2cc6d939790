/* jsontext.h: scans JSON text in place, without a tree and without allocating: for table rows and
 * HTTP responses of many megabytes of which a few values are needed. Checks the grammar alone
 * (RFC 8259): numbers of any size, "\u0000" and lone surrogates pass. Pure. */
#pragma once

#include "lib/buffer.h"

enum { JSONTEXT_DEPTH_MAX = 512 };

/* Skips white space: the first other byte, or end. */
const char *jsontext_space(const char *at, const char *end);
/* Skips what a string has as it is: ASCII without control characters (DEL counts as plain), quotes
 * and backslashes. */
const char *jsontext_plain(const char *at, const char *end);
/* Skips the value that starts at `at`. NULL: not a value, nested deeper than JSONTEXT_DEPTH_MAX, or
 * not UTF-8. */
const char *jsontext_value(const char *at, const char *end);
/* True when the bytes are exactly one value, white space around it allowed. */
bool jsontext_is_value(const char *data, size_t size);

/* Appends the text of a valid value, or of the members of one, without the white space between its
 * tokens; numbers and strings keep their spelling. */
NODISCARD int jsontext_compact(struct buffer *buffer, const char *data, size_t size,
                               struct error *err);

/* A member of an object, in place; both with what they are spelled in, such as quotes. */
struct jsontext_member {
    const char *name, *value;
    size_t name_size, value_size;
};
/* Reads the member at *at of a valid object, which begins there or goes on there, and advances *at.
 * False: there are no more. */
bool jsontext_next_member(const char **at, const char *end, struct jsontext_member *ret_member);
/* Whether two members have one name, however it is spelled. */
bool jsontext_is_same_name(const struct jsontext_member *a, const struct jsontext_member *b);
/* Whether the member has this name, which is a JSON string with its quotes. */
bool jsontext_is_named(const struct jsontext_member *member, const char *quoted);

/* Appends UTF-8 text escaped for a JSON string, without the quotes. */
NODISCARD int jsontext_escape(struct buffer *buffer, const char *data, size_t size,
                              struct error *err);
