// SPDX-License-Identifier: Apache-2.0
/* SentencePiece's map, made by hand. What real ones do: tests/e2e/engine/test_tokenizers.sh. */
#include "agent/data/text/pattern/precompiled.h"

#include "lib/text/base64.h"
#include "tests/test.h"

#include <string.h>

enum { UNITS = 98 };

/* A map with the key "a", whose value is that place in the texts. The caller frees. */
static char *map_of(const char *texts, size_t size, uint32_t value) {
    uint32_t words[1 + UNITS] = {4 * UNITS};
    char bytes[sizeof words + 16];
    words[1 + 'a'] = 'a' | 1u << 8 | 1u << 10; /* has a value, 1 from here */
    words[1 + ('a' ^ 1)] = value | 1u << 31;
    memcpy(bytes, words, sizeof words);
    memcpy(bytes + sizeof words, texts, size);
    return base64_encode(bytes, sizeof words + size);
}

/* What "a" becomes, "-": it stays; or the error. The caller frees. */
static char *look(const char *texts, size_t size, uint32_t value) {
    struct error err = {0};
    struct precompiled *precompiled = NULL;
    AUTO(text_freep) char *map = map_of(texts, size, value);
    if (precompiled_new(map, &precompiled, &err) < 0) {
        return x_strdup(err.text);
    }
    size_t found_size = 0;
    const char *found = precompiled_find(precompiled, "ab", 2, &found_size);
    char *seen = found ? x_strndup(found, found_size) : x_strdup("-");
    precompiled_free(precompiled);
    return seen;
}

static void a_value_is_whole_characters(void) {
    static const struct {
        const char *texts, *wanted;
        size_t size;
        uint32_t value;
    } rows[] = {
        {"x\0\u00e9\0", "x", 5, 0},
        {"x\0\u00e9\0", "\u00e9", 5, 2},
        {"x\0\u00e9\0", "-", 5, 3}, /* in the middle of a character */
        {"x\0\u00e9\0", "-", 5, 5}, /* behind the end */
        {"x\0\u00e9", "\u00e9", 4, 2},
        {"x\0\xC3\0", "precompiled_charsmap: what characters become is not UTF-8: byte 398", 4, 0},
        {"x\0\xF0\x9F", "precompiled_charsmap: what characters become is not UTF-8: byte 398", 4,
         2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = look(rows[i].texts, rows[i].size, rows[i].value);
        CHECK_STR(seen, rows[i].wanted);
    }
}

int main(void) {
    TEST(a_value_is_whole_characters);
    return TEST_END();
}
