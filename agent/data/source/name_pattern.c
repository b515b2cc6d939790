// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/name_pattern.h"

#include "lib/file.h"

#include <fnmatch.h>
#include <string.h>

bool name_pattern_matches(const char *pattern, const char *name) {
    return strchr(pattern, '/') ? fnmatch(pattern, name, FNM_PATHNAME | FNM_PERIOD) == 0
                                : fnmatch(pattern, file_basename(name), FNM_PERIOD) == 0;
}
