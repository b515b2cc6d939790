// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_text.h"

#include "lib/text/shown.h"

#include <string.h>

char *ui_text_of(const char *bytes, size_t size, size_t bytes_max) {
    AUTO(text_freep) char *shown = shown_text(bytes, MIN(size, bytes_max + 1));
    size_t length = strlen(shown);
    if (length <= bytes_max && size <= bytes_max) {
        return TAKE(shown);
    }
    size_t end = MIN(length, bytes_max);
    while (end > 0 && (shown[end] & 0xC0) == 0x80) { /* not within a character */
        end--;
    }
    return x_printf("%.*s…", (int)end, shown);
}

json_t *ui_text(const char *text, size_t bytes_max) {
    AUTO(text_freep) char *fit = ui_text_of(text ? text : "", strlen(text ? text : ""), bytes_max);
    return json_string(fit);
}

json_t *ui_text_at(const json_t *tree, const char *path, size_t bytes_max) {
    return ui_text(tree_text(tree, path, ""), bytes_max);
}
