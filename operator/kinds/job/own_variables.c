// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/own_variables.h"

#include "lib/file.h"

#include <string.h>

#define PREFIX "WINDLASS_"
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static bool is_listed(const char *const *names, const char *name, size_t length) {
    for (; *names; names++) {
        if (strlen(*names) == length && strncmp(*names, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The first name in the text, without its $ and bracket; NULL: none. Where names are replaced,
 * ${NAME%x} is for a shell. In $(NAME) names of volumes may have dashes. */
static const char *find(const char *text, const char *const *allowed) {
    for (const char *at = text; (at = strchr(at, '$')); at += 1 + (at[1] == '$')) {
        char closing = at[1] == '(' ? ')' : at[1] == '{' ? '}' : 0;
        const char *name = at + 1 + (closing != 0);
        size_t length = strspn(name, closing == ')' ? NAME_CHARACTERS "-" : NAME_CHARACTERS);
        bool is_whole = !closing || name[length] == closing;
        bool is_left =
            is_whole ? allowed && is_listed(allowed, name, length) : allowed && closing == '}';
        if (text_starts(name, PREFIX) && !is_left) {
            return name;
        }
    }
    return NULL;
}

static int length_of(const char *name) {
    return (int)MIN(strspn(name, NAME_CHARACTERS), (size_t)60);
}

int own_variables_check_path(const char *field, const char *path, struct error *err) {
    const char *name = find(path, NULL);
    return name ? error_set(err, ERROR_INVALID,
                            "spec.%s: $%.*s is not replaced in a path; write the name itself: "
                            "%.100s",
                            field, length_of(name), name, path)
                : 0;
}

static bool is_shell(const char *word) {
    static const char *const shells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"};
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(file_basename(word), shells[i]) == 0) {
            return true;
        }
    }
    return false;
}

int own_variables_check_command(const json_t *spec, const char *field, const char *const *allowed,
                                struct error *err) {
    const json_t *words = tree_get(spec, field);
    bool has_shell = false, has_option = false; /* before this word */
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        const char *name = word && !has_option ? find(word, allowed) : NULL;
        if (name) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s[%zu]: $%.*s is not replaced there; a program can read it "
                             "from its environment, or start it with: sh -c",
                             field, i, length_of(name), name);
        }
        has_option |= has_shell && word && word[0] == '-' && word[1] != '-' && strchr(word, 'c');
        has_shell |= word && is_shell(word);
    }
    return 0;
}

static int check_tree(const json_t *tree, const char *field, const char *const *allowed,
                      struct error *err) {
    const char *key, *text = json_string_value(tree), *name = text ? find(text, allowed) : NULL;
    json_t *child;
    if (name) {
        return error_set(err, ERROR_INVALID, "spec.%s: $%.*s is not replaced there: %.100s", field,
                         length_of(name), name, text);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        if (check_tree(json_array_get(tree, i), field, allowed, err) < 0) {
            return -1;
        }
    }
    json_object_foreach((json_t *)tree, key, child) {
        if (check_tree(child, field, allowed, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int own_variables_check_tree(const json_t *spec, const char *field, const char *const *allowed,
                             struct error *err) {
    return check_tree(tree_get(spec, field), field, allowed, err);
}
