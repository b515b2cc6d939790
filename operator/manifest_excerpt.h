/* manifest_excerpt.h: the line of a manifest that an error is about, as compilers show it:
 *
 *         7 | output: {path: data/out, mode: PerFil}
 *           |                                ^
 *
 * For terminals only: a manifest may hold secrets in any field, and what goes to a file or a pipe
 * is kept. What is known to be secret is not shown there either. Pure. */
#pragma once

#include "lib/base.h"

struct manifest_excerpt {
    size_t line;    /* from 1 */
    int caret, end; /* columns, in characters from 0: of the caret, and of the first character that
                       is not shown; -1: there is none */
};

/* Two lines, or one without a caret, each with its newline; control characters are spaces, a long
 * line is cut. NULL: the text has no such line. The caller frees. */
char *manifest_excerpt_text(const char *text, size_t size, const struct manifest_excerpt *excerpt);

/* Whether what is below a field of that name may be secret: env, headers and the like. */
bool manifest_excerpt_is_secret(const char *key);

/* For a text that is not YAML, whose fields are unknown: the line, unless it or a line before it
 * has a word of such fields. error: begins with "NAME:LINE: ". NULL: not shown. The caller frees.
 */
char *manifest_excerpt_of_text(const char *text, size_t size, const char *name, const char *error);
