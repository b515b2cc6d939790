// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/last.h"

#include "lib/jsontext.h"

#include <string.h>

enum { LAST_LINES = 5 };

void last_add(struct last *last, const char *data, size_t size) {
    size_t room = sizeof last->text - 1;
    if (size > room) {
        data += size - room;
        size = room;
    }
    size_t over = last->size + size > room ? last->size + size - room : 0;
    memmove(last->text, last->text + over, last->size - over);
    memcpy(last->text + last->size - over, data, size);
    last->size += size - over;
    last->text[last->size] = 0;
}

void last_words(const struct last *last, char words[static LAST_WORDS_MAX]) {
    const char *start = last->text + last->size;
    for (int lines = 0; start > last->text; start--) {
        if (start[-1] == '\n' && start[0] && lines++ == LAST_LINES - 1) {
            break;
        }
    }
    while (((unsigned char)*start & 0xC0) == 0x80) { /* whose character has left already */
        start++;
    }
    size_t size = 0;
    for (const char *at = start; *at && size + 4 < LAST_WORDS_MAX; at++) {
        if (*at == '\n' && at[1]) {
            memcpy(words + size, " | ", 3);
            size += 3;
        } else if ((unsigned char)*at >= ' ') {
            words[size++] = *at;
        }
    }
    words[size] = 0;
    jsontext_make_utf8(words);
}
