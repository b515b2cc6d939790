/* variables.h: replaces variables in texts of the user (environment, command, prepare, paths):
 * $NAME and ${NAME}, as in Batch AI, and $(NAME), as in Kubernetes. $$ becomes $. An unknown name
 * stays as it is, for a shell that may know it. Pure. */
#pragma once

#include "lib/buffer.h"

enum {
    EXPAND_DEPTH = 3,           /* passes: a value may refer to variables, and theirs to others */
    EXPAND_COUNT_MAX = 1 << 16, /* replacements in one text */
    EXPAND_MAX = 128 << 10,     /* bytes of the result */
};

/* The value of a variable, borrowed until the next call; NULL: unknown. */
typedef const char *expand_lookup(void *context, const char *name);

/* The caller frees *ret_text. INVALID: the result is longer than EXPAND_MAX, or needs more than
 * EXPAND_COUNT_MAX replacements. */
NODISCARD int variables_expand(const char *text, expand_lookup *lookup, void *context,
                               char **ret_text, struct error *err);
