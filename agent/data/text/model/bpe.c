// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/model/bpe.h"

#include "agent/data/text/merges.h"
#include "agent/data/text/setting.h"
#include "agent/data/text/unicode.h"
#include "agent/data/text/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_BYTES_MAX = 16 << 20,
    SYMBOLS_MAX = WORD_BYTES_MAX, /* of a word, before any are merged */
    END_BYTES_MAX = 64,           /* of a prefix and a suffix, which many characters get */
};

struct bpe {
    struct text_model base;
    struct vocabulary vocabulary;
    struct merges merges;
    int32_t bytes[256];    /* the token of each byte; VOCABULARY_NONE: none */
    char *prefix, *suffix; /* owned; of what is not the first, and of what is the last of a word */
    size_t prefix_size, suffix_size;
    int32_t unknown; /* VOCABULARY_NONE: none */
    bool has_bytes, is_fused, is_whole_first;
};

/* ---- merging -------------------------------------------------------------------------------- */

/* A token of the word; they are linked, as merges take some away. */
struct symbol {
    int32_t id; /* VOCABULARY_NONE: taken away */
    int32_t before, next;
};
/* A pair that may be merged; out of date when another token is at `at`, or behind it. */
struct candidate {
    uint32_t rank;
    int32_t at;
    int32_t id; /* the merged one */
};
struct word {
    const struct bpe *model;
    struct symbol *symbols;
    struct candidate *heap; /* the least rank, and of those the leftmost, is at the top */
    size_t count, room, heap_count;
    bool is_full; /* it has more symbols than SYMBOLS_MAX; the others are left out */
};

static bool is_sooner(const struct candidate *one, const struct candidate *other) {
    return one->rank != other->rank ? one->rank < other->rank : one->at < other->at;
}

static void push(struct word *word, struct candidate candidate) {
    size_t at = word->heap_count++;
    while (at > 0 && is_sooner(&candidate, &word->heap[(at - 1) / 2])) {
        word->heap[at] = word->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    word->heap[at] = candidate;
}

static struct candidate pop(struct word *word) {
    struct candidate top = word->heap[0], last = word->heap[--word->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < word->heap_count && is_sooner(&word->heap[child + 1], &word->heap[child])) {
            child++;
        }
        if (child >= word->heap_count || !is_sooner(&word->heap[child], &last)) {
            break;
        }
        word->heap[at] = word->heap[child];
        at = child;
    }
    word->heap[at] = last;
    return top;
}

static void push_pair(struct word *word, int32_t at) {
    if (at < 0 || word->symbols[at].next < 0) {
        return;
    }
    const struct merge *merge = merges_find(&word->model->merges, word->symbols[at].id,
                                            word->symbols[word->symbols[at].next].id);
    if (merge) {
        push(word, (struct candidate){merge->rank, at, merge->id});
    }
}

/* A candidate holds while the two at its place still make its token. */
static bool holds(const struct word *word, const struct candidate *candidate) {
    const struct symbol *symbol = &word->symbols[candidate->at];
    if (symbol->id == VOCABULARY_NONE || symbol->next < 0) {
        return false;
    }
    const struct merge *merge =
        merges_find(&word->model->merges, symbol->id, word->symbols[symbol->next].id);
    return merge && merge->id == candidate->id;
}

/* Each merge takes away one symbol and brings at most two candidates: the heap has room for three
 * times the symbols. */
static void merge_all(struct word *word) {
    for (size_t i = 0; i + 1 < word->count; i++) {
        push_pair(word, (int32_t)i);
    }
    while (word->heap_count > 0) {
        struct candidate top = pop(word);
        if (!holds(word, &top)) {
            continue;
        }
        struct symbol *symbol = &word->symbols[top.at];
        struct symbol *taken = &word->symbols[symbol->next];
        symbol->id = top.id;
        symbol->next = taken->next;
        taken->id = VOCABULARY_NONE;
        if (symbol->next >= 0) {
            word->symbols[symbol->next].before = top.at;
        }
        push_pair(word, symbol->before);
        push_pair(word, top.at);
    }
}

/* ---- the characters of a word -----------------------------------------------------------------
 */

struct splitting {
    struct word word;
    bool is_unknown; /* the last character is an unknown one, which is not yet added */
};

static void add_symbol(struct word *word, int32_t id) {
    if (word->count == SYMBOLS_MAX) {
        word->is_full = true;
        return;
    }
    if (word->count == word->room) {
        word->room = MIN(2 * word->room + 64, (size_t)SYMBOLS_MAX);
        word->symbols = x_realloc_array(word->symbols, word->room, sizeof *word->symbols);
    }
    int32_t at = (int32_t)word->count++;
    word->symbols[at] = (struct symbol){.id = id, .before = at - 1, .next = at + 1};
}

static void flush_unknown(struct splitting *splitting) {
    if (splitting->is_unknown) {
        add_symbol(&splitting->word, splitting->word.model->unknown);
    }
    splitting->is_unknown = false;
}

static bool add_bytes(struct word *word, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (word->model->bytes[(unsigned char)data[i]] == VOCABULARY_NONE) {
            return false;
        }
    }
    for (size_t i = 0; i < size; i++) {
        add_symbol(word, word->model->bytes[(unsigned char)data[i]]);
    }
    return true;
}

/* The token of a character with its prefix and suffix. */
static void add_character(struct splitting *splitting, const char *data, size_t size) {
    const struct bpe *model = splitting->word.model;
    int32_t id = vocabulary_find(&model->vocabulary, data, size);
    if (id != VOCABULARY_NONE) {
        flush_unknown(splitting);
        add_symbol(&splitting->word, id);
        return;
    }
    if (model->has_bytes && add_bytes(&splitting->word, data, size)) {
        return;
    }
    if (model->unknown != VOCABULARY_NONE) {
        if (!model->is_fused) {
            flush_unknown(splitting);
        }
        splitting->is_unknown = true;
    }
}

static void split(struct splitting *splitting, const char *data, size_t size, char *room) {
    const struct bpe *model = splitting->word.model;
    for (size_t at = 0, next; at < size; at = next) {
        next = at + unicode_size(data[at]);
        size_t prefix = at > 0 ? model->prefix_size : 0;
        size_t suffix = next == size ? model->suffix_size : 0;
        if (prefix + suffix == 0) {
            add_character(splitting, data + at, next - at);
            continue;
        }
        memcpy(room, model->prefix, prefix);
        memcpy(room + prefix, data + at, next - at);
        memcpy(room + prefix + next - at, model->suffix, suffix);
        add_character(splitting, room, prefix + next - at + suffix);
    }
    flush_unknown(splitting);
    if (splitting->word.count) {
        splitting->word.symbols[splitting->word.count - 1].next = -1;
    }
}

static int bpe_encode(const struct text_model *base, const char *data, size_t size,
                      struct text_ids *ids, struct error *err) {
    const struct bpe *model = (const struct bpe *)base;
    int32_t whole =
        model->is_whole_first ? vocabulary_find(&model->vocabulary, data, size) : VOCABULARY_NONE;
    if (whole != VOCABULARY_NONE) {
        text_ids_add(ids, whole);
        return 0;
    }
    if (size > WORD_BYTES_MAX) {
        return error_set(err, ERROR_EXHAUSTED,
                         "a piece of the text has %zu bytes, at most %d can be merged", size,
                         WORD_BYTES_MAX);
    }
    /* A character has at most its bytes in symbols. Those of a prefix and a suffix may be in them,
     * too, for which there is room when they come. */
    struct splitting splitting = {.word = {.model = model, .room = size + 1}};
    struct word *word = &splitting.word;
    word->symbols = x_realloc_array(NULL, word->room, sizeof *word->symbols);
    char room[2 * END_BYTES_MAX + 4];
    split(&splitting, data, size, room);
    if (!word->is_full) {
        word->heap = x_realloc_array(NULL, 3 * word->count + 1, sizeof *word->heap);
        merge_all(word);
    }
    for (size_t i = 0; i < word->count && !word->is_full; i++) {
        if (word->symbols[i].id != VOCABULARY_NONE) {
            text_ids_add(ids, word->symbols[i].id);
        }
    }
    free(word->symbols);
    free(word->heap);
    return word->is_full ? error_set(err, ERROR_EXHAUSTED,
                                     "a piece of the text becomes more than %d tokens before any "
                                     "are merged",
                                     SYMBOLS_MAX)
                         : 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void bpe_free(struct text_model *base) {
    struct bpe *model = (struct bpe *)base;
    vocabulary_release(&model->vocabulary);
    merges_release(&model->merges);
    free(model->prefix);
    free(model->suffix);
    free(model);
}

static int32_t bpe_find(const struct text_model *base, const char *data, size_t size) {
    return vocabulary_find(&((const struct bpe *)base)->vocabulary, data, size);
}

static size_t bpe_count(const struct text_model *base) {
    return ((const struct bpe *)base)->vocabulary.count;
}

static int read_vocabulary(struct bpe *model, const json_t *tree, struct error *err) {
    json_t *tokens = json_object_get(tree, "vocab");
    const char *key;
    json_t *value;
    if (!json_is_object(tokens)) {
        return error_set(err, ERROR_INVALID, "vocab: expected an object");
    }
    json_object_foreach(tokens, key, value) {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id > TEXT_ID_MAX) {
            return error_set(err, ERROR_INVALID,
                             "vocab: the id of token %zu: expected a whole number of 0 to %d",
                             model->vocabulary.count, TEXT_ID_MAX);
        }
        if (vocabulary_add(&model->vocabulary, key, strlen(key), (int32_t)id, err) < 0) {
            return error_context(err, "vocab");
        }
    }
    return 0;
}

/* ["a", "b"], or "a b" in older files */
static int read_pair(const json_t *item, struct setting_text *ret_first,
                     struct setting_text *ret_second, struct error *err) {
    const json_t *first = json_array_get(item, 0), *second = json_array_get(item, 1);
    const char *text = json_string_value(item), *space = text ? strchr(text, ' ') : NULL;
    if (space && space > text && space[1] && !strchr(space + 1, ' ')) {
        *ret_first = (struct setting_text){text, (size_t)(space - text)};
        *ret_second = (struct setting_text){space + 1, strlen(space + 1)};
        return 0;
    }
    if (json_array_size(item) != 2 || !json_is_string(first) || !json_is_string(second)) {
        return error_set(err, ERROR_INVALID, "expected [\"A\", \"B\"] or \"A B\"");
    }
    *ret_first = (struct setting_text){json_string_value(first), json_string_length(first)};
    *ret_second = (struct setting_text){json_string_value(second), json_string_length(second)};
    return 0;
}

static int read_merge(struct bpe *model, const json_t *item, uint32_t rank, struct error *err) {
    struct setting_text first = {0}, second = {0};
    char both[2 * VOCABULARY_TOKEN_BYTES];
    if (read_pair(item, &first, &second, err) < 0) {
        return -1;
    }
    int32_t one = vocabulary_find(&model->vocabulary, first.data, first.size);
    int32_t other = vocabulary_find(&model->vocabulary, second.data, second.size);
    int32_t id = VOCABULARY_NONE;
    if (one != VOCABULARY_NONE && other != VOCABULARY_NONE && second.size >= model->prefix_size) {
        size_t rest = second.size - model->prefix_size;
        memcpy(both, first.data, first.size);
        memcpy(both + first.size, second.data + model->prefix_size, rest);
        id = vocabulary_find(&model->vocabulary, both, first.size + rest);
    }
    if (id == VOCABULARY_NONE) {
        return error_set(err, ERROR_INVALID,
                         "its tokens, or the merged one, are not in the vocabulary");
    }
    merges_add(&model->merges,
               (struct merge){(uint64_t)(uint32_t)one << 32 | (uint32_t)other, rank, id});
    return 0;
}

static int read_merges(struct bpe *model, const json_t *tree, struct error *err) {
    const json_t *list = json_object_get(tree, "merges");
    if (!json_is_array(list) || json_array_size(list) > TEXT_TOKENS_MAX) {
        return error_set(err, ERROR_INVALID, "merges: expected a list of at most %d",
                         TEXT_TOKENS_MAX);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (read_merge(model, json_array_get(list, i), (uint32_t)i, err) < 0) {
            return error_context(err, "merges[%zu]", i);
        }
    }
    return 0;
}

static int read_end(const json_t *tree, const char *name, char **ret_text, size_t *ret_size,
                    struct error *err) {
    struct setting_text text;
    if (setting_string(tree, name, &text, err) < 0) {
        return -1;
    }
    if (text.size > END_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "%s: has %zu bytes, at most %d are read", name,
                         text.size, END_BYTES_MAX);
    }
    *ret_text = x_malloc(text.size + 1);
    memcpy(*ret_text, text.data ? text.data : "", text.size);
    *ret_size = text.size;
    return 0;
}

static int read_settings(struct bpe *model, const json_t *tree, struct error *err) {
    struct setting_text unknown;
    const json_t *dropout = json_object_get(tree, "dropout");
    if (dropout && !json_is_null(dropout) && json_number_value(dropout) != 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "dropout is not supported: it makes tokens random");
    }
    if (setting_bool(tree, "byte_fallback", false, &model->has_bytes, err) < 0 ||
        setting_bool(tree, "fuse_unk", false, &model->is_fused, err) < 0 ||
        setting_bool(tree, "ignore_merges", false, &model->is_whole_first, err) < 0 ||
        read_end(tree, "continuing_subword_prefix", &model->prefix, &model->prefix_size, err) < 0 ||
        read_end(tree, "end_of_word_suffix", &model->suffix, &model->suffix_size, err) < 0 ||
        setting_string(tree, "unk_token", &unknown, err) < 0 ||
        read_vocabulary(model, tree, err) < 0 || read_merges(model, tree, err) < 0) {
        return -1;
    }
    model->unknown = unknown.data ? vocabulary_find(&model->vocabulary, unknown.data, unknown.size)
                                  : VOCABULARY_NONE;
    if (unknown.data && model->unknown == VOCABULARY_NONE) {
        return error_set(err, ERROR_INVALID, "unk_token: not in the vocabulary");
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        int size = snprintf(name, sizeof name, "<0x%02X>", byte);
        model->bytes[byte] = vocabulary_find(&model->vocabulary, name, (size_t)size);
    }
    return 0;
}

static int bpe_open(const json_t *tree, struct text_model **ret_model, struct error *err) {
    struct bpe *model = x_calloc(1, sizeof *model);
    model->base.kind = &bpe_kind;
    if (read_settings(model, tree, err) < 0) {
        bpe_free(&model->base);
        return -1;
    }
    *ret_model = &model->base;
    return 0;
}

const struct text_model_kind bpe_kind = {.type = "BPE",
                                         .open = bpe_open,
                                         .free = bpe_free,
                                         .find = bpe_find,
                                         .count = bpe_count,
                                         .encode = bpe_encode};
