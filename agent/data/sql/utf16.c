// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/utf16.h"

#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd };

uint16_t *utf16_from_text(const char *text, size_t *ret_count) {
    size_t left = strlen(text), count = 0;
    uint16_t *units = x_calloc(left + 1, sizeof *units); /* a character has no fewer bytes */
    while (left > 0) {
        size_t size = utf8_character(text, left);
        unsigned code = size ? utf8_code(text, size) : REPLACEMENT;
        size = size ? size : 1;
        if (code >= 0x10000) {
            units[count++] = (uint16_t)(0xd800 + ((code - 0x10000) >> 10));
            units[count++] = (uint16_t)(0xdc00 + ((code - 0x10000) & 0x3ff));
        } else {
            units[count++] = (uint16_t)code;
        }
        text += size;
        left -= size;
    }
    if (ret_count) {
        *ret_count = count;
    }
    return units;
}

int utf16_append(struct buffer *text, const uint16_t *units, size_t count, struct error *err) {
    char bytes[1024];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned code = units[i];
        bool is_high = code >= 0xd800 && code < 0xdc00;
        if (is_high && i + 1 < count && units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (units[++i] - 0xdc00u);
        } else if (code >= 0xd800 && code < 0xe000) {
            code = REPLACEMENT;
        }
        used += utf8_write(bytes + used, code);
        if (used > sizeof bytes - 4) {
            if (buffer_append(text, bytes, used, err) < 0) {
                return -1;
            }
            used = 0;
        }
    }
    return buffer_append(text, bytes, used, err);
}
