/* output_tail.h: the end of a program's output, for people: as one line, collected while the
 * program runs, or as several lines cut from a text. Both are UTF-8 without control characters;
 * invalid bytes become "?". Empty lines are left out. Pure. */
#pragma once

#include "lib/base.h"

enum {
    OUTPUT_TAIL_LINE_MAX = 512,    /* bytes of the one line, NUL included */
    OUTPUT_TAIL_TEXT_BYTES = 1024, /* of the several lines, without NUL */
    OUTPUT_TAIL_TEXT_LINES = 10,
};

struct output_tail {                     /* {0}: no output yet */
    char text[3 * OUTPUT_TAIL_LINE_MAX]; /* more than is shown, so that bytes are moved rarely */
    size_t size;
    bool is_cut; /* earlier output was dropped */
};

void output_tail_add(struct output_tail *tail, const char *data, size_t size);
/* "one | two": at most the last five lines, before them that with which a program's help begins
 * (usage_error.h); of windlass-trainer only the last one, its error. Lines that do not fit are left
 * out; if the last line alone is too long, its end is kept. */
void output_tail_line(const struct output_tail *tail, char line[static OUTPUT_TAIL_LINE_MAX]);

/* The last OUTPUT_TAIL_TEXT_LINES lines of a text of any bytes, in at most OUTPUT_TAIL_TEXT_BYTES
 * bytes, separated by '\n'. Long lines lose their end. "": there is nothing to show. The worker
 * cuts what it sends, and the coordinator what it receives: neither trusts the sender. */
void output_tail_text(const char *text, size_t size,
                      char ret_tail[static OUTPUT_TAIL_TEXT_BYTES + 1]);
