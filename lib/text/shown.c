// SPDX-License-Identifier: Apache-2.0
#include "lib/text/shown.h"

#include "lib/text/utf8.h"

#include <stdio.h>
#include <string.h>

enum { COLOR_MAX = 32, PIECE_MAX = 8 };

/* Bytes of ESC [ digits and semicolons m, or 0. */
static size_t color_size(const char *at, size_t left) {
    size_t size = 2;
    if (left < 3 || at[0] != '\x1B' || at[1] != '[') {
        return 0;
    }
    while (size < MIN(left, (size_t)COLOR_MAX) &&
           ((at[size] >= '0' && at[size] <= '9') || at[size] == ';' || at[size] == ':')) {
        size++;
    }
    return size < left && at[size] == 'm' ? size + 1 : 0;
}

/* Converts the first character or color of `left` bytes into piece; returns its bytes. */
static size_t convert(const char *at, size_t left, char piece[static PIECE_MAX], size_t *ret_size) {
    size_t color = color_size(at, left), size = utf8_character(at, left);
    unsigned code = size ? utf8_code(at, size) : (unsigned char)*at;
    *ret_size = 0;
    if (color) {
        return color;
    }
    if (code == '\r' || code == '\n') {
        piece[(*ret_size)++] = ' ';
    } else if (size == 0 || (code < ' ' && code != '\t') || (code >= 0x7F && code < 0xA0)) {
        *ret_size = (size_t)snprintf(piece, PIECE_MAX, "\\x%02X", code & 0xFF);
    } else if (utf8_is_deceptive(code)) {
        *ret_size = (size_t)snprintf(piece, PIECE_MAX, "\\u%04X", code & 0xFFFF);
    } else {
        memcpy(piece, at, size);
        *ret_size = size;
    }
    return MAX(size, (size_t)1);
}

char *shown_text(const char *text, size_t size) {
    char *shown = x_malloc(size * (PIECE_MAX - 2) + 1), *to = shown;
    for (size_t at = 0; at < size;) {
        char piece[PIECE_MAX];
        size_t length = 0;
        at += convert(text + at, size - at, piece, &length);
        memcpy(to, piece, length);
        to += length;
    }
    *to = 0;
    return shown;
}
