// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/name_list.h"

#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = 320, NAME_SHOWN = 48 };

void name_list_add(struct name_list *names, const char *name) {
    size_t used = strlen(names->text), length = strnlen(name, NAME_SHOWN);
    names->count++;
    if (used + length + strlen("\"\", ") >= LIST_BYTES) {
        names->left_out++;
        return;
    }
    snprintf(names->text + used, LIST_BYTES - used, "%s\"%.*s\"", used ? ", " : "", (int)length,
             name);
}

const char *name_list_end(struct name_list *names) {
    size_t used = strlen(names->text);
    if (names->count == 0) {
        snprintf(names->text, sizeof names->text, "none");
    } else if (names->left_out) {
        snprintf(names->text + used, sizeof names->text - used, " and %d more", names->left_out);
    }
    return names->text;
}
