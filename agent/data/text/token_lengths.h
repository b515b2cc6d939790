/* token_lengths.h: the "truncation" and "padding" of a tokenizer file. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

enum { TOKEN_LENGTH_MAX = 1 << 24 };

enum truncation_strategy { LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND };
struct token_lengths {
    size_t max; /* tokens, with those that are added; 0: any */
    int strategy;
    bool is_cut_left;
    bool is_padded, is_padded_left;
    bool is_fixed;
    size_t fixed;    /* filled up to this many, if is_fixed */
    size_t multiple; /* filled up to a multiple of it; 0: not */
    int32_t pad_id;
    uint8_t pad_type;
};
/* Reads both from the file's tree. */
NODISCARD int token_lengths_read(const json_t *tree, struct token_lengths *ret_lengths,
                                 struct error *err);

struct token_limit {
    size_t row;   /* maximum of tokens of a row */
    size_t added; /* of these, those that are added to the texts; at most `row` */
    bool is_pair; /* two texts */
};
/* Shortens the lengths of one text (the second one is 0) or two. INVALID: the text that is to be
 * cut is too short for it. */
NODISCARD int token_lengths_cut(const struct token_lengths *lengths,
                                const struct token_limit *limit, size_t counts[2],
                                struct error *err);
/* What a row of `count` tokens is filled up to. */
size_t token_lengths_padded(const struct token_lengths *lengths, size_t count);
