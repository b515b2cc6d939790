/* strays.h: counts the files of a data set's folder (or members of its archives) that are not
 * samples, by reason, so that none is ignored silently. One thread. */
#pragma once

#include "lib/base.h"

enum { STRAYS_REASONS = 12, STRAYS_REASON_MAX = 96, STRAYS_FIRST_MAX = 200 };

struct strays { /* {0}: none */
    int64_t count;
    size_t reason_count;
    struct strays_reason {
        char reason[STRAYS_REASON_MAX]; /* the last one also counts those for which there is no room
                                         */
        char first[STRAYS_FIRST_MAX];   /* a name */
        int64_t count;
    } reasons[STRAYS_REASONS];
};

void strays_add(struct strays *left, const char *reason, const char *name);
/* A hidden name, or one that is not a file; a source_leave (source.h) of a struct strays. */
void strays_add_left_out(void *strays, const char *name);
/* A file that is not a picture by the ending of its name: the reason names the ending. */
void strays_add_ending(struct strays *left, const char *name);
/* "3 files are left out: 2 end in .gif, which is not read (first: a/x.gif); 1 ...". The caller
 * frees; NULL: none. One line that is safe to print, whatever the names are. */
char *strays_text(const struct strays *left);
