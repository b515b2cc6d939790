/* token_roles.h: which of a tokenizer's results an input of a network takes. Pure. */
#pragma once

#include "lib/tree.h"

enum token_role { TOKEN_IDS, TOKEN_MASK, TOKEN_TYPE_IDS, TOKEN_POSITIONS, TOKEN_ROLE_COUNT };
extern const char *const token_role_names[TOKEN_ROLE_COUNT]; /* as the spec writes them */
#define TOKEN_ROLE_NAMES "input_ids, attention_mask, token_type_ids and position_ids"

/* What the entry of spec.scorer.onnx.inputs says; without an entry, or with another kind of one,
 * what the input's name says: one of those above and of their usual synonyms, in any case, also
 * behind a prefix ("serving_default_input_ids:0"). False: neither says anything. */
bool token_role_find(const json_t *entry, const char *input, enum token_role *ret_role);
