/* row_line.h: a row of results as one line of JSON: an object with the members of its head
 * (row_head.h), then those of the result; of any other result a member "result". Floats
 * are spelled with nine digits, so that each can be read back exactly. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/tree.h"

struct row_line {
    const char *head;     /* members without braces; "": none */
    bool has_name;        /* the member "file" of the result is the item's name, and left out */
    const json_t *record; /* an object; NULL: */
    const char *json;     /* any value, valid */
    size_t json_size;
};

/* Appends the line, with its newline. A record's "values" of one number become "value", and the
 * best of its "classes" the columns index, label and score. FAILED: a member of the result has the
 * name of one of the head, or of another one. */
NODISCARD int row_line_add(const struct row_line *line, struct buffer *out, struct error *err);
