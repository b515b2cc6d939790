/* unigram.h: a word is cut into the tokens whose scores have the greatest sum. A character that no
 * token has is unknown; unknown ones that follow each other are one token, or a token for each of
 * their bytes. */
#pragma once

#include "agent/data/text/text_model.h"

extern const struct text_model_kind unigram_kind;
