/* output_tail.h: the end of a program's output, as people are shown it: as one line, collected
 * while the program runs, or as several lines cut from a text. Both are UTF-8, "?" for a byte that
 * is not, and have no control characters. Empty lines do not count. Pure. */
#pragma once

#include "lib/base.h"

enum {
    OUTPUT_TAIL_LINE_MAX = 512,    /* bytes of the one line, NUL included */
    OUTPUT_TAIL_TEXT_BYTES = 1024, /* of the several, without NUL */
    OUTPUT_TAIL_TEXT_LINES = 10,
};

struct output_tail {                     /* {0} at first */
    char text[3 * OUTPUT_TAIL_LINE_MAX]; /* more than is shown, so that few bytes are moved */
    size_t size;
    bool is_cut; /* there was output before this */
};

void output_tail_add(struct output_tail *tail, const char *data, size_t size);
/* "one | two": the last five lines at most. Lines are left out whole; of a last line that alone is
 * too long, the end is kept. */
void output_tail_line(const struct output_tail *tail, char line[static OUTPUT_TAIL_LINE_MAX]);

/* The last OUTPUT_TAIL_TEXT_LINES lines of a text, which may be any bytes, in at most
 * OUTPUT_TAIL_TEXT_BYTES bytes: '\n' between them, none at the end. Long lines lose their end.
 * ret_tail is "" when there is nothing to show. The worker cuts what it sends, and the coordinator
 * cuts what it receives: neither trusts the sender. */
void output_tail_text(const char *text, size_t size,
                      char ret_tail[static OUTPUT_TAIL_TEXT_BYTES + 1]);
