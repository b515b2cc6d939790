// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/name_pattern.h"

#include "lib/file.h"

#include <fnmatch.h>
#include <string.h>

static bool matches(const char *pattern, const char *name, int flags) {
    return strchr(pattern, '/') ? fnmatch(pattern, name, FNM_PATHNAME | flags) == 0
                                : fnmatch(pattern, file_basename(name), flags) == 0;
}

bool name_pattern_matches(const char *pattern, const char *name) {
    return matches(pattern, name, FNM_PERIOD);
}

bool name_pattern_covers(const char *pattern, const char *name) {
    return matches(pattern, name, 0);
}
