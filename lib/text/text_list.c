// SPDX-License-Identifier: Apache-2.0
#include "lib/text/text_list.h"

#include <stdlib.h>
#include <string.h>

char **text_list_copy(char *const *texts) {
    size_t count = 0;
    while (texts && texts[count]) {
        count++;
    }
    char **copy = x_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = x_strdup(texts[i]);
    }
    return copy;
}

void text_list_free(char **texts) {
    for (char **text = texts; text && *text; text++) {
        free(*text);
    }
    free(texts);
}

bool text_list_has(const char *const *texts, const char *text) {
    while (*texts && strcmp(*texts, text) != 0) {
        texts++;
    }
    return *texts;
}
