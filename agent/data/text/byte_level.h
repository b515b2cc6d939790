/* byte_level.h: the words of GPT-2, and its alphabet, in which each byte of a text is one character
 * that can be seen. */
#pragma once

#include "agent/data/text/passage.h"
#include "agent/data/text/unicode.h"

/* Bytes of the first word of a text that is not empty: 's and its like, a run of letters, of
 * numbers or of other characters, each with a space before it, or a run of spaces, of which the
 * last goes to what follows. */
size_t byte_level_word(const struct unicode *unicode, const char *at, const char *end);
/* Appends the text in that alphabet. EXHAUSTED: as passage_text_append. */
NODISCARD int byte_level_write(struct passage_text *into, const char *data, size_t size,
                               struct error *err);
