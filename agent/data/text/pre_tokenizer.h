/* pre_tokenizer.h: the "pre_tokenizer" of a tokenizer file: steps that cut pieces of a text into
 * words; some also change the text. Read-only once it is made. */
#pragma once

#include "agent/data/text/passage.h"
#include "agent/data/text/unicode.h"

#include <jansson.h>

struct pre_tokenizer;
/* tree: NULL or null: no steps. UNSUPPORTED: a type that is not read. */
NODISCARD int pre_tokenizer_new(const json_t *tree, const struct unicode *unicode,
                                struct pre_tokenizer **ret_pre_tokenizer, struct error *err);
void pre_tokenizer_free(struct pre_tokenizer *pre_tokenizer);

/* Pieces of added tokens stay as they are. EXHAUSTED: the text grows to more than PASSAGE_TEXT_MAX,
 * or takes too many steps. */
NODISCARD int pre_tokenizer_run(const struct pre_tokenizer *pre_tokenizer, struct passage *passage,
                                struct error *err);
