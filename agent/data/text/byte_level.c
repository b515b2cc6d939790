// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/byte_level.h"

#include "lib/text/utf8.h"

#include <string.h>

enum { CLASSES = UNICODE_LETTER | UNICODE_NUMBER | UNICODE_SPACE };

static unsigned class_at(const struct unicode *unicode, const char *at) {
    return unicode->flags[unicode_read(&at)] & (unsigned)CLASSES;
}

static size_t suffix_size(const char *at, const char *end) {
    static const char *const suffixes[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; *at == '\'' && i < ARRAY_LEN(suffixes); i++) {
        size_t size = strlen(suffixes[i]);
        if ((size_t)(end - at) >= size && memcmp(at, suffixes[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

size_t byte_level_word(const struct unicode *unicode, const char *at, const char *end) {
    size_t suffix = suffix_size(at, end);
    if (suffix) {
        return suffix;
    }
    const char *from = at, *last = at;
    if (*from == ' ' && from + 1 < end && class_at(unicode, from + 1) != UNICODE_SPACE) {
        from++;
    }
    unsigned class = class_at(unicode, from);
    const char *behind = from;
    while (behind < end && class_at(unicode, behind) == class) {
        last = behind;
        behind += unicode_size(*behind);
    }
    bool is_left = class == UNICODE_SPACE && behind < end && last > at;
    return (size_t)((is_left ? last : behind) - at);
}

/* Bytes that are visible characters of Latin-1 stay; the others follow behind those 256, in order.
 */
static unsigned shown(unsigned char byte) {
    if ((byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad)) {
        return byte;
    }
    return byte <= ' ' ? 0x100u + byte : byte == 0xad ? 0x143u : 0x121u + byte - 0x7fu;
}

int byte_level_write(struct passage_text *into, const char *data, size_t size, struct error *err) {
    if (passage_text_room(into, 2 * size, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < size; i++) {
        into->size += utf8_write(into->data + into->size, shown((unsigned char)data[i]));
    }
    return 0;
}
