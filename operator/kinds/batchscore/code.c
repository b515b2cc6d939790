// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/code.h"

#include "operator/kinds/batchscore/spec.h"

#include <stdlib.h>
#include <string.h>

/* Where a path inside a word ends: "cd $(code)/src && python3 score.py", "--config='$(code)/a'";
 * and inside a variable, "$(code)/lib:$(more)/lib". */
#define PATH_ENDS " \t\r\n\"'`;&|<>()"
static const char word_ends[] = "/" PATH_ENDS, list_ends[] = "/:" PATH_ENDS;

/* Texts that may name code. */
struct words {
    const json_t *spec;
    const char *ends; /* a slash, and what ends a path */
    bool is_server;   /* they name models */
    bool is_setting;  /* of a variable that may name a cache, where a library puts code that it
                         downloads (HF_HOME), as well as code */
    json_t *code;
};

/* Without parts that lead nowhere else, by which two paths of one file differ. */
static bool is_plain(const char *path) {
    AUTO(text_freep) char *text = x_printf("%s/", path);
    return !strstr(text, "//") && !strstr(text, "/./");
}

/* path: VOLUME/path. It is that folder, or below. */
static bool is_in(const char *path, const char *folder) {
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 && (!path[size] || path[size] == '/');
}

/* Whether one of the paths of the spec is in the folder, not told apart within a volume where a
 * path is not plain. is_either: or the folder in it. */
static bool has_path(const json_t *spec, const char *folder, bool is_either) {
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        const char *path = tree_text(spec, *field, NULL);
        if (!path || !job_place(spec, path)) {
            continue;
        }
        AUTO(text_freep) char *volume = x_strndup(path, strcspn(path, "/"));
        bool is_known = is_plain(path) && is_plain(folder);
        const char *place = is_known ? path : volume;
        if (is_in(place, folder) || (is_either && is_in(folder, place))) {
            return true;
        }
    }
    return false;
}

/* Whether inputs, outputs or logs, which change while the job runs, are in the folder, or it is in
 * one of theirs. */
static bool has_data(const json_t *spec, const char *folder) {
    return has_path(spec, folder, /* is_either= */ true);
}

static void add_to(json_t *code, const char *kind, const char *path) {
    json_t *list = tree_ensure_list(code, kind);
    if (!tree_has_text(list, path)) {
        json_array_append_new(list, json_string(path));
    }
}

/* A whole volume may be a cache. */
static void add_model(const struct words *words, const char *path) {
    if (strchr(path, '/') && !has_path(words->spec, path, /* is_either= */ false)) {
        add_to(words->code, "models", path);
    }
}

/* at: the characters behind "$(NAME)". Beside data a setting names files alone. */
static void add_path(const struct words *words, const char *volume, const char *at) {
    const json_t *spec = words->spec;
    const json_t *place = tree_find(json_object_get(spec, "volumes"), "name", volume);
    if (!place || json_object_get(place, "emptyDir") || (*at && !strchr(words->ends, *at))) {
        return;
    }
    AUTO(text_freep)
    char *path = x_printf("%s%.*s", volume, (int)strcspn(at, words->ends + 1), at);
    for (size_t size = strlen(path); size > 0 && path[size - 1] == '/'; size--) {
        path[size - 1] = 0;
    }
    const char *slash = strrchr(path, '/');
    AUTO(text_freep) char *above = slash ? x_strndup(path, (size_t)(slash - path)) : NULL;
    if (job_has_parent_part(path)) { /* the agents refuse it */
        return;
    }
    if (words->is_server) {
        add_model(words, path);
        return;
    }
    bool is_alone = words->is_setting && has_data(spec, volume);
    if (!is_alone && !has_data(spec, above ? above : path)) {
        add_to(words->code, "folders", path);
    } else if (above) {
        add_to(words->code, "files", path);
        if (!is_alone && !has_data(spec, path)) {
            add_to(words->code, "own", path);
        }
    }
}

static void add_word(const struct words *words, const char *word) {
    for (const char *at = strchr(word, '$'); at; at = strchr(at, '$')) {
        const char *end = at[1] == '(' ? strchr(at, ')') : NULL;
        if (end) {
            AUTO(text_freep) char *name = x_strndup(at + 2, (size_t)(end - at - 2));
            add_path(words, name, end + 1);
        }
        at = end ? end + 1 : at + 1 + (at[1] == '$'); /* $$ is a plain $ */
    }
}

/* All texts of the tree: words, variables, and arguments, which a program expands itself. */
static void add_tree(const struct words *words, const json_t *tree) {
    const char *key, *word = json_string_value(tree);
    json_t *child;
    if (word) {
        add_word(words, word);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        add_tree(words, json_array_get(tree, i));
    }
    json_object_foreach((json_t *)tree, key, child) {
        add_tree(words, child);
    }
}

/* PYTHONPATH, CLASSPATH, NODE_PATH: where a program searches for code. */
static bool is_search_path(const char *name) {
    size_t size = strlen(name);
    return size >= 4 && strcmp(name + size - 4, "PATH") == 0;
}

json_t *batchscore_code(const json_t *spec) {
    AUTO(tree_freep) json_t *code = json_object();
    struct words words = {.spec = spec, .ends = word_ends, .code = code};
    const json_t *variables = tree_get(spec, "scorer.command.environment");
    const char *name;
    json_t *value;
    add_tree(&words, tree_get(spec, "scorer.command.command"));
    add_tree(&words, tree_get(spec, "scorer.command.arguments"));
    words.is_server = true;
    add_tree(&words, tree_get(spec, "scorer.endpoint.server.command"));
    words.is_server = false;
    words.ends = list_ends;
    json_object_foreach((json_t *)variables, name, value) {
        words.is_setting = !is_search_path(name);
        add_tree(&words, value);
    }
    return json_object_size(code) > 0 ? TAKE(code) : NULL;
}
