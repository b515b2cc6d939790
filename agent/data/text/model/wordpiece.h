/* wordpiece.h: a word is cut from the left into the longest tokens of the vocabulary; those
 * behind the first one begin with a prefix ("##"). A word that cannot be cut, or is too long, is
 * the unknown token. */
#pragma once

#include "agent/data/text/text_model.h"

extern const struct text_model_kind wordpiece_kind;
