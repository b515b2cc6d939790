// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/code.h"

#include "operator/kinds/batchscore/spec.h"

#include <stdlib.h>
#include <string.h>

/* Where a path inside a word ends: "cd $(code)/src && python3 score.py", "--config='$(code)/a'";
 * and inside a variable, "$(code)/lib:$(more)/lib". */
#define PATH_ENDS " \t\r\n\"'`;&|<>()"
static const char word_ends[] = "/" PATH_ENDS, list_ends[] = "/:" PATH_ENDS;

/* Whether inputs, outputs or logs are in the volume. */
static bool has_data(const json_t *spec, const char *volume) {
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        const char *path = tree_text(spec, *field, NULL);
        const json_t *place = path ? job_place(spec, path) : NULL;
        if (place && strcmp(tree_text(place, "name", ""), volume) == 0) {
            return true;
        }
    }
    return false;
}

/* at: the characters behind "$(NAME)". ends: a slash, and what ends a path. */
static void add_path(const json_t *spec, const char *volume, const char *at, const char *ends,
                     json_t *code) {
    const json_t *place = tree_find(json_object_get(spec, "volumes"), "name", volume);
    if (!place || json_object_get(place, "emptyDir") || (*at && !strchr(ends, *at))) {
        return;
    }
    AUTO(text_freep) char *path = x_printf("%s%.*s", volume, (int)strcspn(at, ends + 1), at);
    bool is_file = has_data(spec, volume);
    const char *kind = is_file ? "files" : "folders";
    /* The agents refuse paths with ".."; a volume itself is a folder. */
    if (job_has_parent_part(path) || (is_file && !strchr(path, '/'))) {
        return;
    }
    json_t *list = tree_ensure_list(code, kind);
    if (!tree_has_text(list, path)) {
        json_array_append_new(list, json_string(path));
    }
}

static void add_word(const json_t *spec, const char *word, const char *ends, json_t *code) {
    for (const char *at = strchr(word, '$'); at; at = strchr(at, '$')) {
        const char *end = at[1] == '(' ? strchr(at, ')') : NULL;
        if (end) {
            AUTO(text_freep) char *name = x_strndup(at + 2, (size_t)(end - at - 2));
            add_path(spec, name, end + 1, ends, code);
        }
        at = end ? end + 1 : at + 1 + (at[1] == '$'); /* $$ is a plain $ */
    }
}

/* All texts of the tree: words, variables, and arguments, which a program expands itself. */
static void add_tree(const json_t *spec, const json_t *tree, const char *ends, json_t *code) {
    const char *key, *word = json_string_value(tree);
    json_t *child;
    if (word) {
        add_word(spec, word, ends, code);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        add_tree(spec, json_array_get(tree, i), ends, code);
    }
    json_object_foreach((json_t *)tree, key, child) {
        add_tree(spec, child, ends, code);
    }
}

json_t *batchscore_code(const json_t *spec) {
    AUTO(tree_freep) json_t *code = json_object();
    add_tree(spec, tree_get(spec, "scorer.command.command"), word_ends, code);
    add_tree(spec, tree_get(spec, "scorer.command.arguments"), word_ends, code);
    add_tree(spec, tree_get(spec, "scorer.command.environment"), list_ends, code);
    return json_object_size(code) > 0 ? TAKE(code) : NULL;
}
