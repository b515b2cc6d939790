/* precompiled.h: the normalizer "Precompiled": SentencePiece's map of characters, as Hugging Face's
 * tokenizers apply it: to each grapheme of less than six bytes as a whole, else to each character.
 * The map is a double array of a trie, whose values are places in a text of what they become
 * (https://github.com/google/sentencepiece, doc/normalization.md; darts-clone). Read-only. */
#pragma once

#include "agent/data/text/passage.h"

struct precompiled;
/* The map in base64. INVALID: it is not a map. */
NODISCARD int precompiled_new(const char *base64, struct precompiled **ret_precompiled,
                              struct error *err);
void precompiled_free(struct precompiled *precompiled); /* accepts NULL */
/* What the characters become, borrowed, valid UTF-8; NULL: they stay as they are. */
const char *precompiled_find(const struct precompiled *precompiled, const char *data, size_t size,
                             size_t *ret_size);
