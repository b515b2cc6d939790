// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/variables.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256 };

struct expansion {
    expand_lookup *lookup;
    void *context;
    struct buffer out;
    int replaced;
};

/* Reads the name after the $ at `at`. Returns its size; *ret_end is after the whole reference. 0:
 * not a reference. */
static size_t read_name(const char *at, const char **ret_name, const char **ret_end) {
    /* In $(NAME), Kubernetes' form, names of volumes may have dashes, which are first here. */
    static const char all[] = "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    char closing = at[1] == '{' ? '}' : at[1] == '(' ? ')' : 0;
    const char *name = at + 1 + (closing != 0);
    size_t size = *name >= '0' && *name <= '9' ? 0 : strspn(name, closing == ')' ? all : all + 1);
    *ret_name = name;
    *ret_end = name + size + (closing != 0);
    return size > NAME_MAX_BYTES || (closing && name[size] != closing) ? 0 : size;
}

static int put(struct expansion *expansion, const char *text, size_t size, struct error *err) {
    struct error full = {0};
    return buffer_append(&expansion->out, text, size, &full) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "longer than %d bytes after its variables are replaced", EXPAND_MAX);
}

static int expand(struct expansion *expansion, const char *text, int depth, struct error *err) {
    for (const char *at = text;;) {
        const char *name = NULL, *end = NULL;
        size_t plain = strcspn(at, "$");
        if (put(expansion, at, plain, err) < 0) {
            return -1;
        }
        at += plain;
        if (!*at) {
            return 0;
        }
        bool is_dollar = at[1] == '$';
        size_t size = is_dollar ? 0 : read_name(at, &name, &end);
        AUTO(text_freep) char *key = size ? x_strndup(name, size) : NULL;
        const char *found =
            key && depth < EXPAND_DEPTH ? expansion->lookup(expansion->context, key) : NULL;
        AUTO(text_freep) char *value = x_strdup(found); /* the next lookup may change it */
        end = size ? end : at + 1 + is_dollar;
        if (value && ++expansion->replaced > EXPAND_COUNT_MAX) {
            return error_set(err, ERROR_INVALID,
                             "more than %d variables are to be replaced; does one refer to itself?",
                             EXPAND_COUNT_MAX);
        }
        if (value ? expand(expansion, value, depth + 1, err) < 0
                  : put(expansion, at, is_dollar ? 1 : (size_t)(end - at), err) < 0) {
            return -1;
        }
        at = end;
    }
}

int variables_expand(const char *text, expand_lookup *lookup, void *context, char **ret_text,
                     struct error *err) {
    struct expansion expansion = {.lookup = lookup, .context = context};
    buffer_init(&expansion.out, EXPAND_MAX);
    int result = expand(&expansion, text, 0, err);
    if (result == 0) {
        *ret_text = buffer_take(&expansion.out, NULL);
    }
    buffer_release(&expansion.out);
    return result;
}
