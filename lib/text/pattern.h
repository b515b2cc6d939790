/* pattern.h: POSIX extended expressions of a user's (regex(7)), without what makes one of them take
 * memory or time without bound: the controller looks at them, too. Pure. */
#pragma once

#include "lib/error.h"

enum { PATTERN_MAX = 256 /* bytes */, PATTERN_GROUPS_MAX = 9 };

struct pattern;

struct pattern_part { /* of the text; start is -1 where the group took no part */
    int start, end;
};

/* INVALID: it is longer than PATTERN_MAX, has a {count} or more than a few (...)+ (glibc writes
 * these out: nested ones fill the memory) or a \1 (exponential time), fewer than `groups` of (...),
 * or cannot be read. The error says what of it, and does not name it: "has a {...". \{ and [{] are
 * braces. */
NODISCARD int pattern_new(const char *text, size_t groups, struct pattern **ret_pattern,
                          struct error *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */
/* True where it matches somewhere in the text: parts of all of it and of the groups, in their
 * order. */
bool pattern_find(const struct pattern *pattern, const char *text,
                  struct pattern_part ret_parts[static PATTERN_GROUPS_MAX + 1]);
