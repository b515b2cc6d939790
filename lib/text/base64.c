// SPDX-License-Identifier: Apache-2.0
#include "lib/text/base64.h"

#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_decode(const char *text, char **ret_data, size_t *ret_size, struct error *err) {
    AUTO(text_freep) char *data = x_malloc(strlen(text) / 4 * 3 + 4);
    size_t size = 0, letters = 0, padding = 0;
    unsigned bits = 0;
    for (; *text; text++) {
        const char *letter = strchr(alphabet, *text);
        if (strchr(" \t\r\n", *text)) {
            continue;
        }
        padding += *text == '=';
        if ((!letter && *text != '=') || (letter && padding) || padding > 2) {
            return error_set(err, ERROR_INVALID, "not base64");
        }
        bits = bits << 6 | (letter ? (unsigned)(letter - alphabet) : 0);
        if (++letters % 4 == 0) {
            data[size++] = (char)(bits >> 16);
            data[size++] = (char)(bits >> 8);
            data[size++] = (char)bits;
            bits = 0;
        }
    }
    if (letters % 4) {
        return error_set(err, ERROR_INVALID, "not base64: the end is missing");
    }
    size -= padding;
    data[size] = 0;
    *ret_size = size;
    *ret_data = TAKE(data);
    return 0;
}

char *base64_encode(const void *data, size_t size) {
    const uint8_t *bytes = data;
    char *text = x_malloc((size + 2) / 3 * 4 + 1), *at = text;
    for (size_t i = 0; i < size; i += 3) {
        unsigned bits = (unsigned)bytes[i] << 16;
        bits |= i + 1 < size ? (unsigned)bytes[i + 1] << 8 : 0;
        bits |= i + 2 < size ? bytes[i + 2] : 0;
        *at++ = alphabet[bits >> 18];
        *at++ = alphabet[bits >> 12 & 63];
        *at++ = i + 1 < size ? alphabet[bits >> 6 & 63] : '=';
        *at++ = i + 2 < size ? alphabet[bits & 63] : '=';
    }
    *at = 0;
    return text;
}
