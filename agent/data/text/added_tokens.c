// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/added_tokens.h"

#include "agent/data/text/byte_trie.h"
#include "agent/data/text/setting.h"

#include <stdlib.h>
#include <string.h>

enum { ADDED_MAX = 1 << 20 };

struct added_token {
    char *data; /* owned */
    size_t size;
    int32_t id;
    bool is_word;           /* only outside words */
    bool is_left, is_right; /* takes the spaces on that side */
    bool is_normalized;     /* looked for in the normalized text, and normalized itself */
};
struct added_tokens {
    const struct unicode *unicode;
    struct added_token *items;
    size_t count;
    struct byte_trie tries[2]; /* where they are looked for: as given, normalized */
};

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_word_at(const struct added_tokens *tokens, const char *at) {
    return unicode_is(tokens->unicode, unicode_read(&at), UNICODE_WORD);
}

/* The character before `at`, which is behind `start`. */
static const char *before(const char *start, const char *at) {
    do {
        at--;
    } while (at > start && ((unsigned char)*at & 0xc0) == 0x80);
    return at;
}

static bool is_apart(const struct added_tokens *tokens, const char *data, size_t size, size_t start,
                     size_t end) {
    return (start == 0 || !is_word_at(tokens, before(data, data + start))) &&
           (end == size || !is_word_at(tokens, data + end));
}

static bool is_space_at(const struct added_tokens *tokens, const char *at) {
    return unicode_is(tokens->unicode, unicode_read(&at), UNICODE_SPACE);
}

static size_t without_spaces_before(const struct added_tokens *tokens, const char *data,
                                    size_t start, size_t low) {
    while (start > low) {
        const char *last = before(data, data + start);
        if (!is_space_at(tokens, last)) {
            break;
        }
        start = (size_t)(last - data);
    }
    return MAX(start, low);
}

static size_t with_spaces_behind(const struct added_tokens *tokens, const char *data, size_t end,
                                 size_t size) {
    while (end < size && is_space_at(tokens, data + end)) {
        end += unicode_size(data[end]);
    }
    return end;
}

static void add_piece(struct passage_pieces *pieces, size_t start, size_t end, int32_t token) {
    passage_add(pieces, (struct passage_piece){.start = (uint32_t)start,
                                               .end = (uint32_t)end,
                                               .token = token,
                                               .is_first = start == 0});
}

/* The leftmost one, and of those the longest. The search goes on behind the text of the token, also
 * where the spaces that it takes go further. */
void added_tokens_cut(const struct added_tokens *tokens, bool is_normalized, const char *data,
                      size_t size, struct passage_pieces *pieces) {
    const struct byte_trie *trie = &tokens->tries[is_normalized];
    size_t rest = 0; /* what is before it has its pieces */
    for (size_t at = 0; at < size;) {
        size_t taken = 0;
        int32_t place = byte_trie_child(trie, 0, data[at])
                            ? byte_trie_longest(trie, data + at, size - at, &taken)
                            : BYTE_TRIE_NONE;
        if (place == BYTE_TRIE_NONE) {
            at++;
            continue;
        }
        const struct added_token *token = &tokens->items[place];
        size_t start = at, end = at + taken;
        at = end;
        if (token->is_word && !is_apart(tokens, data, size, start, end)) {
            continue;
        }
        if (token->is_left) {
            start = without_spaces_before(tokens, data, start, rest);
        }
        if (token->is_right) {
            end = with_spaces_behind(tokens, data, end, size);
        }
        add_piece(pieces, rest, start, -1);
        add_piece(pieces, start, end, token->id);
        rest = end;
    }
    add_piece(pieces, rest, size, -1);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_token(const json_t *tree, struct added_token *token, struct error *err) {
    struct setting_text content;
    if (setting_needed(tree, "content", &content, err) < 0 ||
        setting_bool(tree, "single_word", false, &token->is_word, err) < 0 ||
        setting_bool(tree, "lstrip", false, &token->is_left, err) < 0 ||
        setting_bool(tree, "rstrip", false, &token->is_right, err) < 0 ||
        setting_bool(tree, "normalized", true, &token->is_normalized, err) < 0) {
        return -1;
    }
    token->data = x_malloc(content.size + 1);
    memcpy(token->data, content.data, content.size);
    token->size = content.size;
    return 0;
}

/* Numbers tokens as Hugging Face's own reader does, which does not look at their ids. */
struct numbering {
    const struct text_model *model;
    int32_t highest; /* of the added tokens so far; -1: none */
};

static int number_token(const json_t *tree, struct numbering *numbering, struct added_token *token,
                        struct error *err) {
    const struct text_model *model = numbering->model;
    int32_t count = (int32_t)model->kind->count(model);
    int64_t given;
    if (setting_whole(tree, "id", TEXT_ID_MAX, &given, err) < 0) {
        return -1;
    }
    token->id = model->kind->find(model, token->data, token->size);
    if (token->id < 0) {
        token->id = MAX(numbering->highest + 1, count);
    }
    numbering->highest = MAX(numbering->highest, token->id);
    if (token->id != given) {
        return error_set(err, ERROR_INVALID,
                         "id: expected %d: the model's for this token, or the next one behind its "
                         "vocabulary",
                         token->id);
    }
    return 0;
}

static int read_tokens(struct added_tokens *tokens, const json_t *list,
                       const struct text_model *model, struct error *err) {
    struct numbering numbering = {.model = model, .highest = -1};
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct added_token *token = &tokens->items[tokens->count];
        const json_t *item = json_array_get(list, i);
        if (read_token(item, token, err) < 0) {
            return error_context(err, "[%zu]", i);
        }
        tokens->count++;
        if (token->size > 0 && number_token(item, &numbering, token, err) < 0) {
            return error_context(err, "[%zu]", i);
        }
    }
    return 0;
}

static int fill_normalized(struct added_tokens *tokens, const struct normalizer *normalizer,
                           struct error *err) {
    struct normalizer_memory memory = {0};
    struct passage_text all = {0}; /* the normalized tokens, one after the other */
    struct byte_trie_string *strings = x_calloc(tokens->count + 1, sizeof *strings);
    size_t count = 0;
    int result = 0;
    for (size_t i = 0; i < tokens->count && result == 0; i++) {
        const struct added_token *token = &tokens->items[i];
        struct normalized text = {0};
        if (token->is_normalized) {
            regex_memory_begin(&memory.regex, token->size);
            result = normalizer_run(normalizer, &memory, token->data, token->size, &text, err);
            result = result < 0 ? -1 : passage_text_append(&all, text.data, text.size, err);
            strings[count++] = (struct byte_trie_string){NULL, text.size, (int32_t)i};
        }
    }
    size_t start = 0;
    for (size_t i = 0; i < count; i++) {
        strings[i].data = all.data + start;
        start += strings[i].size;
    }
    if (result == 0) {
        result = byte_trie_init(&tokens->tries[1], strings, count, err);
    }
    free(strings);
    passage_text_release(&all);
    normalizer_memory_release(&memory);
    return result;
}

static int fill_plain(struct added_tokens *tokens, struct error *err) {
    struct byte_trie_string *strings = x_calloc(tokens->count + 1, sizeof *strings);
    size_t count = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct added_token *token = &tokens->items[i];
        if (!token->is_normalized) {
            strings[count++] = (struct byte_trie_string){token->data, token->size, (int32_t)i};
        }
    }
    int result = byte_trie_init(&tokens->tries[0], strings, count, err);
    free(strings);
    return result;
}

int added_tokens_new(const json_t *tree, const struct text_model *model,
                     const struct normalizer *normalizer, const struct unicode *unicode,
                     struct added_tokens **ret_tokens, struct error *err) {
    bool is_absent = !tree || json_is_null(tree);
    if (!is_absent && (!json_is_array(tree) || json_array_size(tree) > ADDED_MAX)) {
        return error_set(err, ERROR_INVALID, "added_tokens: expected a list of at most %d",
                         ADDED_MAX);
    }
    struct added_tokens *tokens = x_calloc(1, sizeof *tokens);
    tokens->unicode = unicode;
    tokens->items = x_calloc(json_array_size(tree) + 1, sizeof *tokens->items);
    if (read_tokens(tokens, tree, model, err) < 0 || fill_normalized(tokens, normalizer, err) < 0 ||
        fill_plain(tokens, err) < 0) {
        added_tokens_free(tokens);
        return error_context(err, "added_tokens");
    }
    *ret_tokens = tokens;
    return 0;
}

void added_tokens_free(struct added_tokens *tokens) {
    if (tokens) {
        for (size_t i = 0; i < tokens->count; i++) {
            free(tokens->items[i].data);
        }
        free(tokens->items);
        byte_trie_release(&tokens->tries[0]);
        byte_trie_release(&tokens->tries[1]);
        free(tokens);
    }
}
