/* normalizer.h: the "normalizer" of a tokenizer file: steps that each make a new text of the last
 * one's. Read-only once it is made. */
#pragma once

#include "agent/data/text/passage.h"
#include "agent/data/text/unicode.h"

#include <jansson.h>

struct normalizer;
/* tree: NULL or null: no steps. UNSUPPORTED: a type that is not read. */
NODISCARD int normalizer_new(const json_t *tree, const struct unicode *unicode,
                             struct normalizer **ret_normalizer, struct error *err);
void normalizer_free(struct normalizer *normalizer);

/* A thread's memory for it; {0} is empty. */
struct normalizer_memory {
    struct passage_text texts[2];
    int32_t *codes; /* of the characters that a form of normalization is made of */
    size_t code_count, code_capacity;
    struct regex_memory regex;
};
void normalizer_memory_release(struct normalizer_memory *memory);

struct normalized {
    const char *data; /* the text as given, or the memory's */
    size_t size;
    bool is_cut; /* what begins here does not begin where the text as given begins */
};
/* The text must be valid UTF-8; regex_memory_begin was called for it, or for the text that it is
 * of. EXHAUSTED: it grows to more than PASSAGE_TEXT_MAX, or takes too many steps. */
NODISCARD int normalizer_run(const struct normalizer *normalizer, struct normalizer_memory *memory,
                             const char *data, size_t size, struct normalized *ret_text,
                             struct error *err);
