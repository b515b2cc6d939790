// SPDX-License-Identifier: Apache-2.0
#include "lib/text/utf8.h"

#include <string.h>

size_t utf8_character(const char *text, size_t left) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) {
        return 1;
    }
    size_t size = at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;
    if (size == 0 || size > left) {
        return 0;
    }
    /* The first byte narrows the second: that excludes overlong forms, surrogates, large values. */
    unsigned char low = at[0] == 0xE0 ? 0xA0 : at[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = at[0] == 0xED ? 0x9F : at[0] == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return size;
}

size_t utf8_valid_size(const char *data, size_t size) {
    size_t at = 0;
    while (at < size) {
        uint64_t eight;
        if (size - at >= sizeof eight) { /* most text is ASCII */
            memcpy(&eight, data + at, sizeof eight);
            if (!(eight & 0x8080808080808080)) {
                at += sizeof eight;
                continue;
            }
        }
        size_t length = utf8_character(data + at, size - at);
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return size;
}

void utf8_repair(char *text) {
    size_t size = strlen(text);
    for (size_t at = 0; (at += utf8_valid_size(text + at, size - at)) < size;) {
        text[at] = '?';
    }
}

void utf8_make_line(char *text) {
    utf8_repair(text);
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        bool is_second_set = at[0] == 0xC2 && at[1] < 0xA0; /* U+0080 to U+009F */
        if (*at < ' ' || *at == 127 || is_second_set) {
            *at = ' ';
            at[1] = is_second_set ? ' ' : at[1];
        }
    }
}
