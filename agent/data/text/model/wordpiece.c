// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/model/wordpiece.h"

#include "agent/data/text/byte_trie.h"
#include "agent/data/text/setting.h"
#include "agent/data/text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_CHARACTERS_MAX = 1 << 20 };

struct wordpiece {
    struct text_model base;
    struct byte_trie all;  /* every token */
    struct byte_trie rest; /* tokens that continue a word, without their prefix */
    size_t count;
    size_t word_max; /* characters */
    int32_t unknown;
};

static void wordpiece_free(struct text_model *base) {
    struct wordpiece *model = (struct wordpiece *)base;
    byte_trie_release(&model->all);
    byte_trie_release(&model->rest);
    free(model);
}

static int32_t wordpiece_find(const struct text_model *base, const char *data, size_t size) {
    return byte_trie_find(&((const struct wordpiece *)base)->all, data, size);
}

static size_t wordpiece_count(const struct text_model *base) {
    return ((const struct wordpiece *)base)->count;
}

static bool has_more_characters(const char *data, size_t size, size_t most) {
    size_t count = 0;
    for (size_t at = 0; size > most && at < size; at += unicode_size(data[at])) {
        count++;
    }
    return count > most;
}

/* A token and the word are complete characters, so the bytes of a match are, too. */
static int wordpiece_encode(const struct text_model *base, const char *data, size_t size,
                            struct text_ids *ids, struct error *err UNUSED) {
    const struct wordpiece *model = (const struct wordpiece *)base;
    size_t before = ids->count;
    size_t at = has_more_characters(data, size, model->word_max) ? SIZE_MAX : 0;
    while (at < size) {
        size_t taken = 0;
        int32_t id =
            byte_trie_longest(at ? &model->rest : &model->all, data + at, size - at, &taken);
        if (id == BYTE_TRIE_NONE) {
            at = SIZE_MAX;
            break;
        }
        text_ids_add(ids, id);
        at += taken;
    }
    if (at == SIZE_MAX) {
        ids->count = before;
        text_ids_add(ids, model->unknown);
    }
    return 0;
}

/* Every token to `all`, and what continues a word to `rest`, whose items count up to *ret_rest. */
static int read_tokens(const json_t *vocabulary, struct setting_text prefix,
                       struct byte_trie_string *all, struct byte_trie_string *rest,
                       size_t *ret_rest, struct error *err) {
    const char *key;
    json_t *value;
    size_t count = 0, rest_count = 0;
    json_object_foreach((json_t *)(uintptr_t)vocabulary, key, value) {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id > TEXT_ID_MAX) {
            return error_set(err, ERROR_INVALID,
                             "the id of token %zu: expected a whole number of 0 to %d", count,
                             TEXT_ID_MAX);
        }
        struct byte_trie_string token = {key, strlen(key), (int32_t)id};
        all[count++] = token;
        if (token.size > prefix.size && memcmp(key, prefix.data, prefix.size) == 0) {
            rest[rest_count++] =
                (struct byte_trie_string){key + prefix.size, token.size - prefix.size, (int32_t)id};
        }
    }
    *ret_rest = rest_count;
    return 0;
}

static int read_vocabulary(struct wordpiece *model, const json_t *tree, struct error *err) {
    struct setting_text prefix;
    const json_t *vocabulary = json_object_get(tree, "vocab");
    if (setting_string(tree, "continuing_subword_prefix", &prefix, err) < 0) {
        return -1;
    }
    if (!prefix.data) {
        prefix = (struct setting_text){"##", 2};
    }
    if (!json_is_object(vocabulary) || json_object_size(vocabulary) > TEXT_TOKENS_MAX) {
        return error_set(err, ERROR_INVALID, "vocab: expected an object of at most %d tokens",
                         TEXT_TOKENS_MAX);
    }
    model->count = json_object_size(vocabulary);
    struct byte_trie_string *all = x_calloc(model->count + 1, sizeof *all);
    struct byte_trie_string *rest = x_calloc(model->count + 1, sizeof *rest);
    size_t rest_count = 0;
    int result = read_tokens(vocabulary, prefix, all, rest, &rest_count, err);
    if (result == 0 && (byte_trie_init(&model->all, all, model->count, err) < 0 ||
                        byte_trie_init(&model->rest, rest, rest_count, err) < 0)) {
        result = -1;
    }
    free(all);
    free(rest);
    return result < 0 ? error_context(err, "vocab") : 0;
}

static int read_settings(struct wordpiece *model, const json_t *tree, struct error *err) {
    struct setting_text unknown;
    int64_t most = 100;
    if (setting_string(tree, "unk_token", &unknown, err) < 0 ||
        (json_object_get(tree, "max_input_chars_per_word") &&
         setting_whole(tree, "max_input_chars_per_word", WORD_CHARACTERS_MAX, &most, err) < 0) ||
        read_vocabulary(model, tree, err) < 0) {
        return -1;
    }
    if (!unknown.data) {
        unknown = (struct setting_text){"[UNK]", 5};
    }
    model->word_max = (size_t)most;
    model->unknown = byte_trie_find(&model->all, unknown.data, unknown.size);
    if (model->unknown == BYTE_TRIE_NONE) {
        return error_set(err, ERROR_INVALID, "unk_token: not in the vocabulary");
    }
    return 0;
}

static int wordpiece_open(const json_t *tree, struct text_model **ret_model, struct error *err) {
    struct wordpiece *model = x_calloc(1, sizeof *model);
    model->base.kind = &wordpiece_kind;
    if (read_settings(model, tree, err) < 0) {
        wordpiece_free(&model->base);
        return -1;
    }
    *ret_model = &model->base;
    return 0;
}

const struct text_model_kind wordpiece_kind = {.type = "WordPiece",
                                               .open = wordpiece_open,
                                               .free = wordpiece_free,
                                               .find = wordpiece_find,
                                               .count = wordpiece_count,
                                               .encode = wordpiece_encode};
