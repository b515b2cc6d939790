/* tokenizer.h: Hugging Face's tokenizer.json: texts to ids, as its own library (tokenizers 0.23)
 * makes them. What the file says and is not read is refused with its place in the file. A tokenizer
 * is read-only, and so safe in any thread; each thread has a memory of its own. */
#pragma once

#include "lib/error.h"

enum { TOKENIZER_FILE_MAX = 256 << 20 };

struct tokenizer;
/* Errors name the file. */
NODISCARD int tokenizer_open(const char *path, struct tokenizer **ret_tokenizer, struct error *err);
NODISCARD int tokenizer_parse(const char *json, size_t size, struct tokenizer **ret_tokenizer,
                              struct error *err);
void tokenizer_freep(struct tokenizer **tokenizer);

/* The file's truncation: tokens of a row at most; 0: any number. */
size_t tokenizer_length_max(const struct tokenizer *tokenizer);
/* Which of its tokens a text that is too long keeps: true: the last ones; false: the first ones. */
bool tokenizer_cuts_left(const struct tokenizer *tokenizer);
/* What rows are filled up with, as the file says, else with its [PAD] or <pad>, behind the row. */
struct tokenizer_padding {
    int32_t id;
    uint8_t type;
    bool is_left; /* in front of the row */
};
struct tokenizer_padding tokenizer_read_padding(const struct tokenizer *tokenizer);

/* What a thread encodes with. */
struct tokenizer_memory;
struct tokenizer_memory *tokenizer_memory_new(void);
void tokenizer_memory_freep(struct tokenizer_memory **memory);

struct tokenizer_input {
    const char *text, *second; /* second: NULL: one text */
    size_t size, second_size;
    size_t length_max; /* tokens; 0: as the file says */
    bool is_bare;      /* without the tokens that the file adds at the ends */
};
/* Borrowed from the memory, until the next text. */
struct tokenizer_tokens {
    const int32_t *ids;
    const uint8_t *types; /* which text the token is of, as the file numbers them */
    const uint8_t *mask;  /* 0: filled up, as the file says */
    size_t count;
};
/* INVALID: not UTF-8; two texts where the file has no place for them; a text that truncation cannot
 * make short enough. EXHAUSTED: the text is too long. */
NODISCARD int tokenizer_encode(const struct tokenizer *tokenizer, struct tokenizer_memory *memory,
                               const struct tokenizer_input *input,
                               struct tokenizer_tokens *ret_tokens, struct error *err);
