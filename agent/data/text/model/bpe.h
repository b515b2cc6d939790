/* bpe.h: a word is cut into characters, and the pair of neighbours that comes first in the file's
 * list of merges becomes one token, again and again. */
#pragma once

#include "agent/data/text/text_model.h"

extern const struct text_model_kind bpe_kind;
