// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/tail.h"

#include "lib/text/utf8.h"

#include <string.h>

enum { LINE_BYTES = 300 }; /* of one of several lines: so that one cannot push all others out */

/* As UTF-8 without control characters, C1 among them; the bytes that were written. */
static size_t tidy(const char *text, size_t size, char *line, size_t room) {
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        unsigned char byte = (unsigned char)text[at];
        size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        length = MIN(length, size - at);
        bool is_sound = utf8_valid_size(text + at, length) == length;
        bool is_control = byte < ' ' || byte == 127 ||
                          (byte == 0xC2 && length == 2 && (unsigned char)text[at + 1] < 0xA0);
        size_t needs = is_sound && !is_control ? length : 1;
        if (used + needs > room) {
            break;
        }
        if (is_sound && !is_control) {
            memcpy(line + used, text + at, length);
        } else {
            line[used] = is_sound ? ' ' : '?';
        }
        used += needs;
        at += is_sound ? length : 1;
    }
    while (used > 0 && line[used - 1] == ' ') {
        used--;
    }
    return used;
}

void tail_format(const char *text, size_t size, char tail[static TAIL_BYTES + 1]) {
    size_t start = TAIL_BYTES; /* filled from its end */
    for (int lines = 0; size > 0 && lines < TAIL_LINES;) {
        const char *before = memrchr(text, '\n', size);
        const char *begin = before ? before + 1 : text;
        char line[LINE_BYTES];
        size_t length = tidy(begin, size - (size_t)(begin - text), line, sizeof line);
        size_t newline = lines > 0;
        if (length + newline > start) {
            break;
        }
        if (length > 0) {
            start -= newline;
            if (newline) {
                tail[start] = '\n';
            }
            start -= length;
            memcpy(tail + start, line, length);
            lines++;
        }
        size = before ? (size_t)(before - text) : 0;
    }
    memmove(tail, tail + start, TAIL_BYTES - start);
    tail[TAIL_BYTES - start] = 0;
}
