/* shell_words.h: splits a command line into words as a POSIX shell would (POSIX.1-2017, XCU 2.2 and
 * 2.10.2), so that simple commands run in images without a shell. Knows plain words, both kinds of
 * quotes, backslashes, and NAME=VALUE before the command. Everything else is left to a real shell.
 * Pure. */
#pragma once

#include "lib/base.h"

enum { SHELL_WORDS_LINE_MAX = 1 << 20 /* bytes */ };

struct shell_words {
    char **items; /* NULL-ended; owned */
    size_t count;
    size_t assigned; /* this many of the first items are NAME=VALUE, for the environment */
};

/* False: the line needs a shell, or is longer than SHELL_WORDS_LINE_MAX; *ret_words is untouched.
 */
bool shell_words_split(const char *line, struct shell_words *ret_words);
void shell_words_release(struct shell_words *words);
