/* jsonrow.h: reads a list of JSON from left to right, without a tree: for lines and messages that
 * come by the million. The first value that is not what is asked for makes the row bad, and all
 * later ones are 0, "" or NULL. Accepts what jansson does (JSON_ALLOW_NUL), down to
 * JSONTEXT_DEPTH_MAX levels (jsontext.h). Pure. */
#pragma once

#include "lib/base.h"

#include <jansson.h>

struct jsonrow {
    const char *at, *end;
    char *room; /* where texts are put: at least as many bytes as the list has */
    bool is_first, is_bad;
};

/* The list begins at `text`. */
void jsonrow_begin(struct jsonrow *row, const char *text, const char *end, char *room);
/* The first byte of the next value, which is not taken; ']': there is none. */
char jsonrow_peek(struct jsonrow *row);
int64_t jsonrow_integer(struct jsonrow *row);
/* An integer from 0 to `most`. */
int64_t jsonrow_number(struct jsonrow *row, int64_t most);
/* Without escapes, and with a NUL behind it, in row->room, which goes on behind that. */
const char *jsonrow_text(struct jsonrow *row, size_t *ret_size);
/* Any list or object; the caller owns it. */
json_t *jsonrow_tree(struct jsonrow *row);
/* Behind the list's end; NULL: the row is bad, or has more values. */
const char *jsonrow_end(struct jsonrow *row);
