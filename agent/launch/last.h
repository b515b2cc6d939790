/* last.h: the end of what a program said: five whole lines at most, as one. Pure. */
#pragma once

#include "lib/base.h"

enum { LAST_WORDS_MAX = 512 };

struct last { /* {0} at first */
    char text[LAST_WORDS_MAX];
    size_t size;
    bool is_cut; /* more was said before */
};

void last_add(struct last *last, const char *data, size_t size);
/* "one | two": UTF-8, "?" for what is none, without control characters. No line is cut but one that
 * is longer than all the room: of that the end stays. */
void last_words(const struct last *last, char words[static LAST_WORDS_MAX]);
