// SPDX-License-Identifier: Apache-2.0
/* A text is encoded whole, as it is when it is scored, and once more word by word. A word must have
 * the same tokens in both, or its class would be at a token of another word. */
#include "agent/train/dataset/text_rows.h"

#include <stdlib.h>
#include <string.h>

enum { WHOLE = 1 << 24 /* tokens: not cut */ };

json_t *text_words_split(const json_t *field) {
    const char *text = json_string_value(field);
    if (!text) {
        return json_is_array(field) ? json_copy((json_t *)(uintptr_t)field) : NULL;
    }
    json_t *words = json_array();
    while (*(text += strspn(text, " \t\r\n"))) {
        size_t size = strcspn(text, " \t\r\n");
        json_array_append_new(words, json_stringn(text, size));
        text += size;
    }
    return words;
}

char *text_words_join(const json_t *words) {
    size_t size = 1, used = 0;
    for (size_t i = 0; i < json_array_size(words); i++) {
        size += json_string_length(json_array_get(words, i)) + 1;
    }
    char *text = x_malloc(size);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i);
        text[used] = ' ';
        used += i > 0;
        memcpy(text + used, json_string_value(word), json_string_length(word));
        used += json_string_length(word);
    }
    text[used] = 0;
    return text;
}

/* Without what the file adds and fills up. */
static int encode(const struct text_rows *rows, const char *text, bool is_bare,
                  struct tokenizer_tokens *ret_tokens, struct error *err) {
    const struct tokenizer_input input = {
        .text = text, .size = strlen(text), .length_max = WHOLE, .is_bare = is_bare};
    if (tokenizer_encode(rows->tokenizer, rows->memory, &input, ret_tokens, err) < 0) {
        return -1;
    }
    while (ret_tokens->count && !ret_tokens->mask[0]) {
        ret_tokens->ids++;
        ret_tokens->mask++;
        ret_tokens->count--;
    }
    while (ret_tokens->count && !ret_tokens->mask[ret_tokens->count - 1]) {
        ret_tokens->count--;
    }
    return 0;
}

/* How many tokens of the text the word has from here on; 0: its own are others. A tokenizer that
 * keeps spaces knows the word only behind one. */
static size_t match_word(const struct text_rows *rows, const char *word, const int32_t *bare,
                         size_t left) {
    for (int i = 0; i < 2; i++) {
        AUTO(text_freep) char *text = x_printf("%s%s", i ? " " : "", word);
        struct tokenizer_tokens own;
        struct error ignored = {0};
        if (encode(rows, text, true, &own, &ignored) == 0 && own.count && own.count <= left &&
            memcmp(own.ids, bare, own.count * sizeof *bare) == 0) {
            return own.count;
        }
    }
    return 0;
}

/* Where those of the text's tokens that are kept begin in the row, behind those that the file
 * adds; -1: they are not there. */
static int64_t find_start(const struct text_words *words, const int32_t *kept, size_t count) {
    for (size_t at = 0; at + count <= words->count; at++) {
        if (memcmp(words->ids + at, kept, count * sizeof *kept) == 0) {
            return (int64_t)at;
        }
    }
    return -1;
}

char *text_words_place(struct text_rows *rows, const struct text_words *words, int32_t *labels) {
    AUTO(text_freep) char *text = text_words_join(words->words);
    struct tokenizer_tokens tokens;
    struct error err = {0};
    if (encode(rows, text, false, &tokens, &err) < 0) {
        return x_strdup(err.text);
    }
    size_t whole = tokens.count;
    if (encode(rows, text, true, &tokens, &err) < 0) {
        return x_strdup(err.text);
    }
    size_t count = tokens.count, added = whole - MIN(whole, count), at = 0;
    size_t kept = MIN(words->count - MIN(words->count, added), count);
    size_t from = tokenizer_cuts_left(rows->tokenizer) ? count - kept : 0; /* the first one kept */
    int32_t *bare = x_calloc(count + 1, sizeof *bare);
    memcpy(bare, tokens.ids, count * sizeof *bare);
    int64_t start = find_start(words, bare + from, kept);
    char *fault = start < 0 ? x_strdup("its tokens are not found in the row") : NULL;
    memset(labels, -1, words->count * sizeof *labels);
    for (size_t i = 0; !fault && i < json_array_size(words->words); i++) {
        const char *word = json_string_value(json_array_get(words->words, i));
        size_t own = match_word(rows, word, bare + at, count - at);
        if (own == 0) {
            fault = x_printf(
                "word %zu, \"%.40s\", has no tokens, or other tokens alone than in the text, "
                "so its class belongs to none",
                i + 1, word);
        } else if (at >= from && at < from + kept) {
            labels[(size_t)start + at - from] = words->classes[i];
        }
        at += own;
    }
    if (!fault && at != count) {
        fault = x_strdup("the text has more tokens than its words");
    }
    free(bare);
    return fault;
}
