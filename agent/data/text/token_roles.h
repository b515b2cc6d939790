/* token_roles.h: which of a tokenizer's results an input of a network takes. Pure. */
#pragma once

#include "lib/tree.h"

enum token_role { TOKEN_IDS, TOKEN_MASK, TOKEN_TYPE_IDS, TOKEN_POSITIONS, TOKEN_ROLE_COUNT };
extern const char *const token_role_names[]; /* as the spec writes them */
#define TOKEN_ROLE_NAMES "input_ids, attention_mask, token_type_ids and position_ids"

/* The role in the entry of spec.scorer.onnx.inputs. Without an entry, or with one of another kind,
 * it is guessed from the input's name: one of the names above or a common synonym, in any case,
 * with any prefix ("serving_default_input_ids:0"). False: the name says none. */
bool token_role_find(const json_t *entry, const char *input, enum token_role *ret_role);
