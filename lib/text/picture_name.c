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
    const char *dot = strrchr(name, '.');
    return dot && dot > name && picture_name_is_ending(dot + 1);
}
