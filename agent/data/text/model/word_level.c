// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/model/word_level.h"

#include "agent/data/text/setting.h"
#include "agent/data/text/vocabulary.h"

#include <stdlib.h>
#include <string.h>

struct word_level {
    struct text_model base;
    struct vocabulary words;
    int32_t unknown; /* VOCABULARY_NONE: an unknown word has no token */
};

static void word_level_free(struct text_model *base) {
    struct word_level *model = (struct word_level *)base;
    vocabulary_release(&model->words);
    free(model);
}

static int32_t word_level_find(const struct text_model *base, const char *data, size_t size) {
    return vocabulary_find(&((const struct word_level *)base)->words, data, size);
}

static size_t word_level_count(const struct text_model *base) {
    return ((const struct word_level *)base)->words.count;
}

static int word_level_encode(const struct text_model *base, const char *data, size_t size,
                             struct text_ids *ids, struct error *err) {
    const struct word_level *model = (const struct word_level *)base;
    int32_t id = vocabulary_find(&model->words, data, size);
    id = id == VOCABULARY_NONE ? model->unknown : id;
    if (id == VOCABULARY_NONE) {
        return error_set(err, ERROR_INVALID,
                         "model: a word is not in the vocabulary, and neither is unk_token");
    }
    text_ids_add(ids, id);
    return 0;
}

static int read_words(struct word_level *model, const json_t *tree, struct error *err) {
    const json_t *words = json_object_get(tree, "vocab");
    const char *word;
    json_t *value;
    if (!json_is_object(words) || json_object_size(words) > TEXT_TOKENS_MAX) {
        return error_set(err, ERROR_INVALID, "vocab: expected an object of at most %d tokens",
                         TEXT_TOKENS_MAX);
    }
    json_object_foreach((json_t *)(uintptr_t)words, word, value) {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id > TEXT_ID_MAX) {
            return error_set(err, ERROR_INVALID,
                             "vocab: the id of token %zu: expected a whole number of 0 to %d",
                             model->words.count, TEXT_ID_MAX);
        }
        if (vocabulary_add(&model->words, word, strlen(word), (int32_t)id, err) < 0) {
            return error_context(err, "vocab");
        }
    }
    return 0;
}

static int word_level_open(const json_t *tree, struct text_model **ret_model, struct error *err) {
    struct word_level *model = x_calloc(1, sizeof *model);
    struct setting_text unknown;
    model->base.kind = &word_level_kind;
    if (read_words(model, tree, err) < 0 || setting_string(tree, "unk_token", &unknown, err) < 0) {
        word_level_free(&model->base);
        return -1;
    }
    if (!unknown.data) {
        unknown = (struct setting_text){"<unk>", 5};
    }
    model->unknown = vocabulary_find(&model->words, unknown.data, unknown.size);
    *ret_model = &model->base;
    return 0;
}

const struct text_model_kind word_level_kind = {.type = "WordLevel",
                                                .open = word_level_open,
                                                .free = word_level_free,
                                                .find = word_level_find,
                                                .count = word_level_count,
                                                .encode = word_level_encode};
