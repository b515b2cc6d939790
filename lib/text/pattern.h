/* pattern.h: users' POSIX extended regular expressions (regex(7)), restricted so that their memory
 * and time are bounded: the controller compiles them as well. Pure. */
#pragma once

#include "lib/error.h"

enum { PATTERN_MAX = 256 /* bytes */, PATTERN_GROUPS_MAX = 9 };

struct pattern;

struct pattern_part { /* offsets in the text; start is -1 for a group that did not match */
    int start, end;
};

/* Compiles an expression. INVALID: longer than PATTERN_MAX; a {count}; a repetition of a repetition
 * (x?+); more than a few (...)+, or groups nested deeply (glibc expands these, for minutes); a \1
 * (exponential time); fewer than `groups` groups; a syntax error. The message is a predicate
 * without the expression ("has a {..."). \{ and [{] match braces. */
NODISCARD int pattern_new(const char *text, size_t groups, struct pattern **ret_pattern,
                          struct error *err);
void pattern_free(struct pattern *pattern); /* accepts NULL */
/* True when it matches anywhere in the text. ret_parts: the whole match, then the groups in
 * order. */
bool pattern_find(const struct pattern *pattern, const char *text,
                  struct pattern_part ret_parts[static PATTERN_GROUPS_MAX + 1]);
