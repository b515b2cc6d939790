/* name_pattern.h: matches file names with shell patterns (spec.input.files.pattern). Pure. */
#pragma once

#include "lib/base.h"

/* `*`, `?` and `[a-z]` as in a shell. A pattern without a slash is matched against the last part of
 * the name; one with a slash against the whole name, and `*` does not match a slash. No wildcard
 * matches a dot at the start of a part. */
bool name_pattern_matches(const char *pattern, const char *name);
/* The same, but a wildcard matches such a dot, too: would it match but for its dot? */
bool name_pattern_covers(const char *pattern, const char *name);
