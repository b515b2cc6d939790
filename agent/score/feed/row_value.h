/* row_value.h: a column of a row, which is a JSON object. Pure. */
#pragma once

#include "lib/tree.h"

/* The member of that name; otherwise, of a name that begins with a slash, the value that it leads
 * to as a JSON pointer (RFC 6901): "/user/age", "/marks/0". NULL: there is none, or the row is
 * not an object. Borrowed. */
const json_t *row_value(const json_t *row, const char *name);
/* Adds the name to an array of names, unless it has it. */
void row_value_add_name(json_t *names, const char *name);
