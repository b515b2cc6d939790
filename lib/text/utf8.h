/* utf8.h: checks and repairs UTF-8 (RFC 3629) of any origin. Pure. */
#pragma once

#include "lib/base.h"

/* Bytes of the character that starts at `at`, 1 to 4, where `left` bytes (at least 1) are readable.
 * 0: not a whole character (overlong, a surrogate, above U+10FFFF, cut off). */
size_t utf8_character(const char *at, size_t left);
/* The bytes before the first one that is not part of a whole character; size: all are valid. */
size_t utf8_valid_size(const char *data, size_t size);
/* Replaces each invalid byte of the text, such as those of half a character, by "?". */
void utf8_repair(char *text);
/* The number of a whole character (utf8_character) of `size` bytes. */
unsigned utf8_code(const char *at, size_t size);
/* Whether the character changes the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E,
 * U+2066 to U+2069) or ends a line for some viewers (U+2028, U+2029). */
bool utf8_is_deceptive(unsigned code);
/* Repairs the text, and replaces control characters (below U+0020, U+007F to U+009F) by spaces and
 * each byte of deceptive ones by "?": the text becomes one line that is safe to print.
 * lib/text/shown.h names them instead. */
void utf8_make_line(char *text);

/* Writes the character to at most 4 bytes; returns its bytes, 1 to 4. */
static inline size_t utf8_write(char *to, unsigned code) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
