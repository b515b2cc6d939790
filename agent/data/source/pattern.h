/* pattern.h: the shell patterns of input kinds that look for files. Pure. */
#pragma once

#include "lib/base.h"

/* `*`, `?` and `[a-z]` as in a shell. Without a slash the pattern is held against the last part of
 * the name; with one against all of it, where `*` does not cross a slash. No wildcard takes a dot
 * at the start of a part. */
bool pattern_matches(const char *pattern, const char *name);
