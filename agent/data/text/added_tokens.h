/* added_tokens.h: the "added_tokens" of a tokenizer file: texts that are tokens wherever they
 * stand, before anything else is looked at. Read-only once they are made. */
#pragma once

#include "agent/data/text/normalizer.h"
#include "agent/data/text/text_model.h"

struct added_tokens;
/* tree: NULL or null: none. The ids are the model's; those of tokens that it has not follow its
 * last one. */
NODISCARD int added_tokens_new(const json_t *tree, const struct text_model *model,
                               const struct normalizer *normalizer, const struct unicode *unicode,
                               struct added_tokens **ret_tokens, struct error *err);
void added_tokens_free(struct added_tokens *tokens);
/* Adds the pieces of a text: tokens, and what is between them. is_normalized: those that are looked
 * for in a normalized text; else those that are looked for in the text as given. */
void added_tokens_cut(const struct added_tokens *tokens, bool is_normalized, const char *data,
                      size_t size, struct passage_pieces *pieces);
