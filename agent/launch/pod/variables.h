/* variables.h: $NAME and ${NAME} in texts of the user's (environment, command, prepare, paths), as
 * Batch AI has them, and $(NAME), Kubernetes' own form; $$ is one $. What is unknown stays as it
 * stands: a shell may know it. Pure. */
#pragma once

#include "lib/buffer.h"

enum {
    EXPAND_DEPTH = 3,           /* a value's own variables, and theirs */
    EXPAND_COUNT_MAX = 1 << 16, /* variables that are replaced in one text */
    EXPAND_MAX = 128 << 10,     /* bytes of the result */
};

/* The value of a name, borrowed until the next call; NULL: there is none. */
typedef const char *expand_lookup(void *context, const char *name);

/* The caller frees. INVALID: the result is too long, or never ends. */
NODISCARD int variables_expand(const char *text, expand_lookup *lookup, void *context,
                               char **ret_text, struct error *err);
