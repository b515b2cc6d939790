/* words.h: a command line, as remote shells get it, into words, as far as that needs no shell: an
 * image may have none. Plain words, quotes of both kinds, backslashes, and NAME=VALUE in front
 * (POSIX.1-2017, XCU 2.2 and 2.10.2). Whatever a shell might read otherwise is left to it. Pure. */
#pragma once

#include "lib/base.h"

enum { WORDS_LINE_MAX = 1 << 20 /* bytes */ };

struct words {
    char **items; /* NULL-ended; owned */
    size_t count;
    size_t assigned; /* the first ones, which are NAME=VALUE for the environment */
};

/* True: *ret_words is what a shell would execute. False: only a shell can. */
bool words_split(const char *line, struct words *ret_words);
void words_release(struct words *words);
