// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/model/unigram.h"

#include "agent/data/text/byte_trie.h"
#include "agent/data/text/setting.h"
#include "agent/data/text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES_MAX = 16 << 20 };
static const double unknown_penalty =
    10; /* of the score of an unknown character, below the least one */

struct unigram {
    struct text_model base;
    struct byte_trie trie;
    double *scores; /* of each id */
    size_t count;
    double unknown_score;
    int32_t unknown;    /* -1: none */
    int32_t bytes[256]; /* the token of each byte; -1: none */
    bool has_bytes;
};

/* ---- cutting -------------------------------------------------------------------------------- */

/* The best way to the end of a byte; its last token begins at `start`. */
struct way {
    double score;
    int32_t start, id; /* start: -1: there is none yet */
};

static void offer(struct way *way, double score, size_t start, int32_t id) {
    if (way->start < 0 || score > way->score) {
        *way = (struct way){score, (int32_t)start, id};
    }
}

/* Offers every token that begins at a character, or the unknown one. */
static void step(const struct unigram *model, const char *data, size_t size, size_t start,
                 struct way *ways) {
    size_t character = unicode_size(data[start]);
    double score = ways[start].score;
    bool is_known = false;
    uint32_t node = 0;
    for (size_t at = start; at < size; at++) {
        node = byte_trie_child(&model->trie, node, data[at]);
        if (node == 0) {
            break;
        }
        int32_t id = model->trie.nodes[node].value;
        if (id != BYTE_TRIE_NONE) {
            offer(&ways[at + 1], score + model->scores[id], start, id);
            is_known = is_known || at + 1 == start + character;
        }
    }
    if (!is_known) {
        offer(&ways[start + character], score + model->unknown_score, start, model->unknown);
    }
}

/* Unknown characters: a token that they make together, or their bytes', or the unknown one. */
static void add_unknown(const struct unigram *model, const char *data, size_t size,
                        struct text_ids *ids) {
    int32_t whole = byte_trie_find(&model->trie, data, size);
    bool has_bytes = model->has_bytes && whole == BYTE_TRIE_NONE;
    for (size_t i = 0; i < size && has_bytes; i++) {
        has_bytes = model->bytes[(unsigned char)data[i]] >= 0;
    }
    if (!has_bytes) {
        text_ids_add(ids, whole == BYTE_TRIE_NONE ? model->unknown : whole);
    }
    for (size_t i = 0; i < size && has_bytes; i++) {
        text_ids_add(ids, model->bytes[(unsigned char)data[i]]);
    }
}

/* Turns the best way around: at the first byte of each of its tokens, `start` is the token's end.
 */
static void reverse(struct way *ways, size_t size) {
    int32_t end = (int32_t)size;
    struct way way = ways[end];
    while (end > 0) {
        int32_t start = way.start;
        struct way before = ways[start];
        ways[start] = (struct way){way.score, end, way.id};
        end = start;
        way = before;
    }
}

static void add_tokens(const struct unigram *model, const char *data, size_t size,
                       const struct way *ways, struct text_ids *ids) {
    for (size_t at = 0; at < size;) {
        size_t end = (size_t)ways[at].start;
        if (ways[at].id != model->unknown) {
            text_ids_add(ids, ways[at].id);
            at = end;
            continue;
        }
        while (end < size && ways[end].id == model->unknown) {
            end = (size_t)ways[end].start;
        }
        add_unknown(model, data + at, end - at, ids);
        at = end;
    }
}

static int unigram_encode(const struct text_model *base, const char *data, size_t size,
                          struct text_ids *ids, struct error *err) {
    const struct unigram *model = (const struct unigram *)base;
    if (size > WORD_BYTES_MAX) {
        return error_set(err, ERROR_EXHAUSTED,
                         "a piece of the text has %zu bytes, at most %d can be cut", size,
                         WORD_BYTES_MAX);
    }
    struct way *ways = x_realloc_array(NULL, size + 1, sizeof *ways);
    for (size_t i = 0; i <= size; i++) {
        ways[i] = (struct way){.start = -1, .id = -1};
    }
    ways[0].score = 0;
    for (size_t at = 0; at < size; at += unicode_size(data[at])) {
        step(model, data, size, at, ways);
    }
    int result = 0;
    reverse(ways, size);
    for (size_t at = 0; at < size && result == 0; at = (size_t)ways[at].start) {
        if (ways[at].id < 0) {
            result =
                error_set(err, ERROR_INVALID,
                          "no token has a character of the text, and the model's unk_id is null");
        }
    }
    if (result == 0) {
        add_tokens(model, data, size, ways, ids);
    }
    free(ways);
    return result;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void unigram_free(struct text_model *base) {
    struct unigram *model = (struct unigram *)base;
    byte_trie_release(&model->trie);
    free(model->scores);
    free(model);
}

static int32_t unigram_find(const struct text_model *base, const char *data, size_t size) {
    return byte_trie_find(&((const struct unigram *)base)->trie, data, size);
}

static size_t unigram_count(const struct text_model *base) {
    return ((const struct unigram *)base)->count;
}

/* [["token", score], ...]; the place is the id. */
static int read_tokens(struct unigram *model, const json_t *list, struct byte_trie_string *strings,
                       struct error *err) {
    double least = INFINITY;
    for (size_t i = 0; i < model->count; i++) {
        const json_t *pair = json_array_get(list, i);
        const json_t *token = json_array_get(pair, 0), *score = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_string(token) || !json_is_number(score)) {
            return error_set(err, ERROR_INVALID, "vocab[%zu]: expected [TOKEN, SCORE]", i);
        }
        strings[i] = (struct byte_trie_string){json_string_value(token), json_string_length(token),
                                               (int32_t)i};
        model->scores[i] = json_number_value(score);
        least = MIN(least, model->scores[i]);
    }
    model->unknown_score = least - unknown_penalty;
    return 0;
}

static int read_vocabulary(struct unigram *model, const json_t *tree, struct error *err) {
    const json_t *list = json_object_get(tree, "vocab");
    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > TEXT_TOKENS_MAX) {
        return error_set(err, ERROR_INVALID, "vocab: expected a list of 1 to %d tokens",
                         TEXT_TOKENS_MAX);
    }
    model->count = json_array_size(list);
    model->scores = x_calloc(model->count, sizeof *model->scores);
    struct byte_trie_string *strings = x_calloc(model->count, sizeof *strings);
    int result = read_tokens(model, list, strings, err);
    if (result == 0 && byte_trie_init(&model->trie, strings, model->count, err) < 0) {
        result = error_context(err, "vocab");
    }
    free(strings);
    return result;
}

static int read_settings(struct unigram *model, const json_t *tree, struct error *err) {
    const json_t *unknown = json_object_get(tree, "unk_id");
    int64_t id = -1;
    if (setting_bool(tree, "byte_fallback", false, &model->has_bytes, err) < 0 ||
        read_vocabulary(model, tree, err) < 0 ||
        (unknown && !json_is_null(unknown) &&
         setting_whole(tree, "unk_id", (int64_t)model->count - 1, &id, err) < 0)) {
        return -1;
    }
    model->unknown = (int32_t)id;
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        int size = snprintf(name, sizeof name, "<0x%02X>", byte);
        model->bytes[byte] = byte_trie_find(&model->trie, name, (size_t)size);
    }
    return 0;
}

static int unigram_open(const json_t *tree, struct text_model **ret_model, struct error *err) {
    struct unigram *model = x_calloc(1, sizeof *model);
    model->base.kind = &unigram_kind;
    if (read_settings(model, tree, err) < 0) {
        unigram_free(&model->base);
        return -1;
    }
    *ret_model = &model->base;
    return 0;
}

const struct text_model_kind unigram_kind = {.type = "Unigram",
                                             .open = unigram_open,
                                             .free = unigram_free,
                                             .find = unigram_find,
                                             .count = unigram_count,
                                             .encode = unigram_encode};
