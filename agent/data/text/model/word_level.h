/* word_level.h: the model "WordLevel": a word is a token, or is unknown. */
#pragma once

#include "agent/data/text/text_model.h"

extern const struct text_model_kind word_level_kind;
