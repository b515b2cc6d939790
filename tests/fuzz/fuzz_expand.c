// SPDX-License-Identifier: Apache-2.0
/* Lines NAME=VALUE, and one more that is expanded with them: expansion ends within its limits; a
 * text without $ is unchanged. */
#include "agent/launch/pod/variables.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct lines {
    char *items[16];
    size_t count;
};

static const char *look_up(void *context, const char *name) {
    struct lines *lines = context;
    size_t size = strlen(name);
    for (size_t i = 0; i + 1 < lines->count; i++) {
        if (strncmp(lines->items[i], name, size) == 0 && lines->items[i][size] == '=') {
            return lines->items[i] + size + 1;
        }
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    AUTO(text_freep) char *expanded = NULL;
    struct lines lines = {0};
    struct error err = {0};
    for (char *at = text; at && lines.count < ARRAY_LEN(lines.items);) {
        char *end = strchr(at, '\n');
        lines.items[lines.count++] = at;
        if (end) {
            *end++ = 0;
        }
        at = end;
    }
    const char *last = lines.items[lines.count - 1];
    if (variables_expand(last, look_up, &lines, &expanded, &err) < 0) {
        if (err.kind != ERROR_INVALID || !err.text[0]) {
            abort();
        }
    } else if (strlen(expanded) > EXPAND_MAX ||
               (!strchr(last, '$') && strcmp(last, expanded) != 0)) {
        abort();
    }
    return 0;
}
