// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/last.h"

#include "lib/text/utf8.h"

#include <string.h>

enum { LAST_LINES = 5 };

/* Empty lines and control characters are no words. */
static bool is_kept(const struct last *last, char byte) {
    return (unsigned char)byte >= ' ' ||
           (byte == '\n' && last->size && last->text[last->size - 1] != '\n');
}

void last_add(struct last *last, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (!is_kept(last, data[i])) {
            continue;
        }
        if (last->size == sizeof last->text - 1) {
            memmove(last->text, last->text + last->size - LAST_WORDS_MAX, LAST_WORDS_MAX);
            last->size = LAST_WORDS_MAX;
            last->is_cut = true;
        }
        last->text[last->size++] = data[i];
    }
    last->text[last->size] = 0;
}

/* Bytes of the character in the words: a line's end, if another line follows, is " | ". */
static size_t width(const char *at) {
    return *at != '\n' ? 1 : at[1] ? 3 : 0;
}

/* Where the words start: with a whole line, of as many lines as may be and as there is room for.
 * The end is what says why: of a last line that is too long itself, its end. */
static const char *first_word(const struct last *last) {
    const char *at = last->text + last->size, *start = NULL;
    size_t size = 0;
    for (int lines = 0; at > last->text && lines < LAST_LINES; at--) {
        size += width(at - 1);
        if (size >= LAST_WORDS_MAX) {
            break;
        }
        bool is_line = at - 1 == last->text ? !last->is_cut : at[-2] == '\n';
        if (is_line) {
            start = at - 1;
            lines++;
        }
    }
    if (start) {
        return start;
    }
    while (((unsigned char)*at & 0xC0) == 0x80) { /* whose character has left already */
        at++;
    }
    return at;
}

void last_words(const struct last *last, char words[static LAST_WORDS_MAX]) {
    size_t size = 0;
    for (const char *at = first_word(last); *at; at++) {
        if (width(at) == 3) {
            memcpy(words + size, " | ", 3);
        } else if (width(at)) {
            words[size] = *at;
        }
        size += width(at);
    }
    words[size] = 0;
    utf8_repair(words);
}
