// SPDX-License-Identifier: Apache-2.0
#include "lib/text/picture_name.h"

#include "lib/base.h"

#include <string.h>
#include <strings.h>

bool picture_name_is_ending(const char *ending) {
    static const char *const endings[] = {"jpg", "jpeg", "png"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        if (strcasecmp(ending, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool picture_name_is_known(const char *name) {
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    return dot && dot > base && picture_name_is_ending(dot + 1);
}
