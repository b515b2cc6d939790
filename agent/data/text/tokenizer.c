// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/tokenizer.h"

#include "agent/data/text/added_tokens.h"
#include "agent/data/text/pre_tokenizer.h"
#include "agent/data/text/row_order.h"
#include "agent/data/text/token_lengths.h"
#include "lib/file.h"
#include "lib/text/utf8.h"
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

struct tokenizer {
    struct normalizer *normalizer;
    struct pre_tokenizer *pre_tokenizer;
    struct text_model *model;
    struct added_tokens *added;
    struct row_orders rows;
    struct token_lengths lengths;
};

struct tokenizer_memory {
    struct normalizer_memory normalizer;
    struct passage passage;
    struct passage_pieces given; /* the text as given, cut at added tokens */
    struct passage_pieces parts; /* one of its pieces, normalized and cut again */
    struct text_ids ids[2];      /* of the two texts */
    int32_t *row;                /* the result */
    uint8_t *types, *mask;
    size_t row_capacity;
};

/* ---- loading -------------------------------------------------------------------------------- */

static void tokenizer_free(struct tokenizer *tokenizer) {
    added_tokens_free(tokenizer->added);
    text_model_free(tokenizer->model);
    pre_tokenizer_free(tokenizer->pre_tokenizer);
    normalizer_free(tokenizer->normalizer);
    free(tokenizer);
}

void tokenizer_freep(struct tokenizer **tokenizer) {
    if (*tokenizer) {
        tokenizer_free(TAKE(*tokenizer));
    }
}

static int read_tree(struct tokenizer *tokenizer, const json_t *tree, struct error *err) {
    if (!json_is_object(tree) || !json_is_object(json_object_get(tree, "model"))) {
        return error_set(err, ERROR_INVALID,
                         "expected an object with a model, as in a tokenizer.json");
    }
    const struct unicode *unicode = unicode_table();
    if (text_model_open(json_object_get(tree, "model"), &tokenizer->model, err) < 0 ||
        normalizer_new(json_object_get(tree, "normalizer"), unicode, &tokenizer->normalizer, err) <
            0 ||
        pre_tokenizer_new(json_object_get(tree, "pre_tokenizer"), unicode,
                          &tokenizer->pre_tokenizer, err) < 0 ||
        row_order_read(json_object_get(tree, "post_processor"), &tokenizer->rows, err) < 0 ||
        token_lengths_read(tree, &tokenizer->lengths, err) < 0) {
        return -1;
    }
    return added_tokens_new(json_object_get(tree, "added_tokens"), tokenizer->model,
                            tokenizer->normalizer, unicode, &tokenizer->added, err);
}

int tokenizer_parse(const char *json, size_t size, struct tokenizer **ret_tokenizer,
                    struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(json, size, TOKENIZER_FILE_MAX, &tree, err) < 0) {
        return -1;
    }
    struct tokenizer *tokenizer = x_calloc(1, sizeof *tokenizer);
    if (read_tree(tokenizer, tree, err) < 0) {
        tokenizer_free(tokenizer);
        return -1;
    }
    *ret_tokenizer = tokenizer;
    return 0;
}

int tokenizer_open(const char *path, struct tokenizer **ret_tokenizer, struct error *err) {
    AUTO(text_freep) char *json = NULL;
    size_t size;
    if (file_read(path, TOKENIZER_FILE_MAX, &json, &size, err) < 0) {
        return -1;
    }
    if (tokenizer_parse(json, size, ret_tokenizer, err) < 0) {
        return error_context(err, "%s", path);
    }
    return 0;
}

size_t tokenizer_length_max(const struct tokenizer *tokenizer) {
    return tokenizer->lengths.max;
}

bool tokenizer_cuts_left(const struct tokenizer *tokenizer) {
    return tokenizer->lengths.is_cut_left;
}

struct tokenizer_padding tokenizer_read_padding(const struct tokenizer *tokenizer) {
    static const char *const names[] = {"[PAD]", "<pad>"};
    const struct token_lengths *lengths = &tokenizer->lengths;
    struct tokenizer_padding padding = {lengths->pad_id, lengths->pad_type,
                                        lengths->is_padded_left};
    for (size_t i = 0; i < ARRAY_LEN(names) && !lengths->is_padded; i++) {
        int32_t id = tokenizer->model->kind->find(tokenizer->model, names[i], strlen(names[i]));
        if (id >= 0) {
            padding.id = id;
            break;
        }
    }
    return padding;
}

struct tokenizer_memory *tokenizer_memory_new(void) {
    return x_calloc(1, sizeof(struct tokenizer_memory));
}

void tokenizer_memory_freep(struct tokenizer_memory **memory) {
    struct tokenizer_memory *old = TAKE(*memory);
    if (!old) {
        return;
    }
    normalizer_memory_release(&old->normalizer);
    passage_release(&old->passage);
    passage_pieces_release(&old->given);
    passage_pieces_release(&old->parts);
    text_ids_release(&old->ids[0]);
    text_ids_release(&old->ids[1]);
    free(old->row);
    free(old->types);
    free(old->mask);
    free(old);
}

/* ---- one text ------------------------------------------------------------------------------- */

/* Normalizes a piece of the text as given and adds it to the passage, cut at the added tokens of a
 * normalized text. */
static int add_normalized(const struct tokenizer *tokenizer, struct tokenizer_memory *memory,
                          const char *text, struct passage_piece piece, struct error *err) {
    struct passage *passage = &memory->passage;
    struct normalized normalized;
    if (normalizer_run(tokenizer->normalizer, &memory->normalizer, text + piece.start,
                       piece.end - piece.start, &normalized, err) < 0) {
        return -1;
    }
    memory->parts.count = 0;
    added_tokens_cut(tokenizer->added, true, normalized.data, normalized.size, &memory->parts);
    uint32_t start = (uint32_t)passage->text.size;
    for (size_t i = 0; i < memory->parts.count; i++) {
        struct passage_piece part = memory->parts.items[i];
        part.start += start;
        part.end += start;
        part.is_first = part.is_first && piece.is_first && !normalized.is_cut;
        passage_add(&passage->pieces, part);
    }
    return passage_text_append(&passage->text, normalized.data, normalized.size, err);
}

static int cut_text(const struct tokenizer *tokenizer, struct tokenizer_memory *memory,
                    const char *text, size_t size, struct error *err) {
    memory->given.count = 0;
    memory->passage.text.size = 0;
    memory->passage.pieces.count = 0;
    regex_memory_begin(&memory->normalizer.regex, size);
    added_tokens_cut(tokenizer->added, false, text, size, &memory->given);
    for (size_t i = 0; i < memory->given.count; i++) {
        struct passage_piece piece = memory->given.items[i];
        if (piece.token >= 0) {
            passage_add(&memory->passage.pieces, piece);
        } else if (add_normalized(tokenizer, memory, text, piece, err) < 0) {
            return -1;
        }
    }
    return pre_tokenizer_run(tokenizer->pre_tokenizer, &memory->passage, err);
}

static int encode_text(const struct tokenizer *tokenizer, struct tokenizer_memory *memory,
                       const char *text, size_t size, struct text_ids *ids, struct error *err) {
    size_t valid = size <= PASSAGE_TEXT_MAX ? utf8_valid_size(text, size) : 0;
    ids->count = 0;
    if (size > PASSAGE_TEXT_MAX) {
        return error_set(err, ERROR_EXHAUSTED, "the text has %zu bytes, at most %d are read", size,
                         PASSAGE_TEXT_MAX);
    }
    if (valid < size) {
        return error_set(err, ERROR_INVALID, "the text is not UTF-8: byte %zu", valid);
    }
    if (cut_text(tokenizer, memory, text, size, err) < 0) {
        return -1;
    }
    const struct passage *passage = &memory->passage;
    for (size_t i = 0; i < passage->pieces.count; i++) {
        const struct passage_piece *piece = &passage->pieces.items[i];
        if (piece->token >= 0) {
            text_ids_add(ids, piece->token);
        } else if (tokenizer->model->kind->encode(tokenizer->model,
                                                  passage->text.data + piece->start,
                                                  piece->end - piece->start, ids, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the row -------------------------------------------------------------------------------- */

static int shorten(const struct tokenizer *tokenizer, const struct tokenizer_input *input,
                   size_t added, size_t counts[2], struct error *err) {
    size_t max = input->length_max ? input->length_max : tokenizer->lengths.max;
    if (max == 0) {
        return 0;
    }
    if (max < added) {
        return error_set(err, ERROR_INVALID,
                         "a length of at most %zu tokens: %zu of them are added to each text", max,
                         added);
    }
    const struct token_limit limit = {max, added, input->second != NULL};
    return token_lengths_cut(&tokenizer->lengths, &limit, counts, err);
}

static void reserve(struct tokenizer_memory *memory, size_t count) {
    if (memory->row_capacity < count) {
        memory->row_capacity = MAX(count, 2 * memory->row_capacity);
        memory->row = x_realloc_array(memory->row, memory->row_capacity, sizeof *memory->row);
        memory->types = x_realloc(memory->types, memory->row_capacity);
        memory->mask = x_realloc(memory->mask, memory->row_capacity);
    }
}

static void put(struct tokenizer_memory *memory, size_t at, const struct row_part *part,
                const int32_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++) {
        memory->row[at + i] = ids[i];
        memory->types[at + i] = part->type;
        memory->mask[at + i] = 1;
    }
}

static void put_padding(const struct token_lengths *lengths, struct tokenizer_memory *memory,
                        size_t at, size_t count) {
    for (size_t i = at; i < at + count; i++) {
        memory->row[i] = lengths->pad_id;
        memory->types[i] = lengths->pad_type;
        memory->mask[i] = 0;
    }
}

static void fill_row(const struct tokenizer *tokenizer, struct tokenizer_memory *memory,
                     const struct row_order *order, const size_t counts[2], bool is_bare,
                     struct tokenizer_tokens *ret_tokens) {
    const struct token_lengths *lengths = &tokenizer->lengths;
    size_t count = counts[0] + counts[1] + (is_bare ? 0 : order->added);
    size_t padded = token_lengths_padded(lengths, count);
    size_t at = lengths->is_padded_left ? padded - count : 0;
    reserve(memory, padded + 1);
    put_padding(lengths, memory, lengths->is_padded_left ? 0 : count, padded - count);
    for (size_t i = 0; i < order->count; i++) {
        const struct row_part *part = &order->parts[i];
        if (part->what == ROW_TOKEN) {
            if (!is_bare) {
                put(memory, at++, part, &part->id, 1);
            }
            continue;
        }
        const struct text_ids *ids = &memory->ids[part->what == ROW_SECOND];
        size_t kept = counts[part->what == ROW_SECOND];
        if (kept > 0) {
            size_t from = lengths->is_cut_left ? ids->count - kept : 0;
            put(memory, at, part, ids->items + from, kept);
            at += kept;
        }
    }
    *ret_tokens = (struct tokenizer_tokens){memory->row, memory->types, memory->mask, padded};
}

int tokenizer_encode(const struct tokenizer *tokenizer, struct tokenizer_memory *memory,
                     const struct tokenizer_input *input, struct tokenizer_tokens *ret_tokens,
                     struct error *err) {
    const struct row_order *order = &tokenizer->rows.orders[input->second != NULL];
    if (!order->is_whole) {
        return error_set(err, ERROR_INVALID,
                         "two texts: the tokenizer's post_processor has no place for both");
    }
    memory->ids[1].count = 0;
    if (encode_text(tokenizer, memory, input->text, input->size, &memory->ids[0], err) < 0) {
        return -1;
    }
    if (input->second && encode_text(tokenizer, memory, input->second, input->second_size,
                                     &memory->ids[1], err) < 0) {
        return error_context(err, "second");
    }
    size_t counts[2] = {memory->ids[0].count, memory->ids[1].count};
    if (shorten(tokenizer, input, input->is_bare ? 0 : order->added, counts, err) < 0) {
        return -1;
    }
    fill_row(tokenizer, memory, order, counts, input->is_bare, ret_tokens);
    return 0;
}
