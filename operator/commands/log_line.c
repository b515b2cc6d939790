// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/log_line.h"

#include <stdio.h>

void log_line_print(const char *pod, const char *text, size_t size, bool is_terminal) {
    printf("[%s] ", pod);
    if (!is_terminal) {
        fwrite(text, 1, size, stdout);
    }
    for (size_t i = 0; is_terminal && i < size; i++) {
        bool is_plain = ((unsigned char)text[i] >= ' ' && text[i] != 127) || text[i] == '\t';
        putchar(is_plain ? text[i] : ' ');
    }
    putchar('\n');
}
