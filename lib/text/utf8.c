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

unsigned utf8_code(const char *at, size_t size) {
    const unsigned char *bytes = (const unsigned char *)at;
    unsigned code = size == 1 ? bytes[0] : bytes[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        code = code << 6 | (bytes[i] & 0x3Fu);
    }
    return code;
}

bool utf8_is_deceptive(unsigned code) {
    static const struct {
        unsigned first, last;
    } ranges[] = {{0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        if (code >= ranges[i].first && code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

void utf8_make_line(char *text) {
    utf8_repair(text);
    for (size_t size; *text; text += size) {
        size = utf8_character(text, strnlen(text, 4));
        unsigned code = utf8_code(text, size);
        if (code < ' ' || (code >= 0x7F && code < 0xA0)) {
            memset(text, ' ', size);
        } else if (utf8_is_deceptive(code)) {
            memset(text, '?', size);
        }
    }
}
