/* schema_patterns.h: the patterns of a schema, each compiled once: to compile them for every value
 * took three quarters of the time of a check. */
#pragma once

#include "lib/base.h"

#include <stdbool.h>

struct schema_patterns;

/* Adds a POSIX extended regular expression (a second time: nothing) to the list, which begins as
 * NULL. -1: it is not one. */
NODISCARD int schema_patterns_add(struct schema_patterns **patterns, const char *pattern);
/* Whether an added pattern matches anywhere in the text; true for one that was not added. */
bool schema_patterns_fit(const struct schema_patterns *patterns, const char *pattern,
                         const char *text);
void schema_patterns_free(struct schema_patterns *patterns); /* accepts NULL */
