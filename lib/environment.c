// SPDX-License-Identifier: Apache-2.0
#include "lib/environment.h"

#include <stdlib.h>
#include <string.h>

int environment_missing(const char *name, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "the environment variable %s is missing: this command is started by windlass",
                     name);
}

int environment_read(const char *name, const char **ret_value, struct error *err) {
    const char *value = getenv(name);
    if (!value || !*value) {
        return environment_missing(name, err);
    }
    *ret_value = value;
    return 0;
}

char *environment_expand(const char *text, environment_lookup *lookup, void *context) {
    AUTO(text_freep) char *out = x_strdup("");
    while (*text) {
        size_t plain = strcspn(text, "$");
        const char *value = "", *next = text + plain;
        const char *end = next[0] && next[1] == '(' ? strchr(next, ')') : NULL;
        if (next[0] && next[1] == '$') {
            value = "$";
            next += 2;
        } else if (end) {
            AUTO(text_freep) char *name = x_strndup(next + 2, (size_t)(end - next - 2));
            value = lookup(context, name);
            next = end + 1;
        } else if (next[0]) {
            value = "$";
            next++;
        }
        plain = value ? plain : (size_t)(next - text); /* not known: as it is */
        char *more = x_printf("%s%.*s%s", out, (int)plain, text, value ? value : "");
        free(out);
        out = more;
        text = next;
    }
    return TAKE(out);
}
