/* last.h: the end of what a program said: five whole lines at most, as one; empty ones are none.
 * Pure. */
#pragma once

#include "lib/base.h"

enum { LAST_WORDS_MAX = 512 };

struct last {                      /* {0} at first */
    char text[3 * LAST_WORDS_MAX]; /* so that it need not be moved at each byte */
    size_t size;
    bool is_cut; /* more was said before */
};

void last_add(struct last *last, const char *data, size_t size);
/* "one | two": UTF-8, "?" for what is none, without control characters. No line is cut but one that
 * is longer than all the room: of that the end stays. */
void last_words(const struct last *last, char words[static LAST_WORDS_MAX]);
