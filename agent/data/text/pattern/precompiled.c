// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/pattern/precompiled.h"

#include "lib/text/base64.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

struct precompiled {
    char *bytes; /* all of the map; owned */
    const char *units;
    uint32_t unit_count;
    const char *texts; /* each ends with a NUL */
    size_t texts_size;
};

/* ---- reading -------------------------------------------------------------------------------- */

static uint32_t read_unit(const char *at) {
    const unsigned char *byte = (const unsigned char *)at;
    return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

int precompiled_new(const char *base64, struct precompiled **ret_precompiled, struct error *err) {
    struct precompiled *precompiled = x_calloc(1, sizeof *precompiled);
    size_t bytes = 0;
    struct error cause = {0};
    bool is_read = base64_decode(base64, &precompiled->bytes, &bytes, &cause) == 0;
    uint32_t trie = is_read && bytes >= 4 ? read_unit(precompiled->bytes) : 0;
    if (trie == 0 || trie % 4 != 0 || trie > bytes - 4) {
        precompiled_free(precompiled);
        return error_set(err, ERROR_INVALID,
                         "precompiled_charsmap: expected SentencePiece's map in base64");
    }
    precompiled->units = precompiled->bytes + 4;
    precompiled->unit_count = trie / 4;
    precompiled->texts = precompiled->units + trie;
    precompiled->texts_size = bytes - 4 - trie;
    size_t valid = utf8_valid_size(precompiled->texts, precompiled->texts_size);
    if (valid < precompiled->texts_size) {
        precompiled_free(precompiled);
        return error_set(err, ERROR_INVALID,
                         "precompiled_charsmap: what characters become is not UTF-8: byte %zu",
                         4 + trie + valid);
    }
    *ret_precompiled = precompiled;
    return 0;
}

void precompiled_free(struct precompiled *precompiled) {
    if (precompiled) {
        free(precompiled->bytes);
        free(precompiled);
    }
}

/* ---- the double array: a unit has a label, an offset to its children, and a flag: a value is
 * among them. */

static bool unit_at(const struct precompiled *precompiled, uint32_t place, uint32_t *ret_unit) {
    bool is_there = place < precompiled->unit_count;
    *ret_unit = is_there ? read_unit(precompiled->units + 4 * (size_t)place) : 0;
    return is_there;
}

static uint32_t offset_of(uint32_t unit) {
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* The value of the shortest key that the bytes begin with: so Hugging Face's takes it, whatever
 * follows. */
static bool find_value(const struct precompiled *precompiled, const char *data, size_t size,
                       uint32_t *ret_value) {
    uint32_t place, unit;
    if (!unit_at(precompiled, 0, &unit)) {
        return false;
    }
    place = offset_of(unit);
    for (size_t i = 0; i < size && data[i]; i++) {
        unsigned char byte = (unsigned char)data[i];
        place ^= byte;
        if (!unit_at(precompiled, place, &unit) || (unit & (1u << 31 | 0xff)) != byte) {
            return false;
        }
        place ^= offset_of(unit);
        if (unit >> 8 & 1) {
            *ret_value = 0;
            return unit_at(precompiled, place, ret_value);
        }
    }
    return false;
}

const char *precompiled_find(const struct precompiled *precompiled, const char *data, size_t size,
                             size_t *ret_size) {
    uint32_t value;
    if (!find_value(precompiled, data, size, &value)) {
        return NULL;
    }
    value &= ~(1u << 31);
    if (value >= precompiled->texts_size) {
        return NULL;
    }
    const char *text = precompiled->texts + value;
    if (((unsigned char)*text & 0xc0) == 0x80) { /* in the middle of a character */
        return NULL;
    }
    *ret_size = strnlen(text, precompiled->texts_size - value);
    return text;
}
