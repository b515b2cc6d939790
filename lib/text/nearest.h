/* nearest.h: "did you mean ...?" */
#pragma once

#include "lib/tree.h"

/* The key of an object that is most similar to `word`; NULL when none is similar. Borrowed. */
const char *nearest_key(const json_t *object, const char *word);
/* The same among words. */
const char *nearest_word(const char *const *words, size_t count, const char *word);
