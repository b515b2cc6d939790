// SPDX-License-Identifier: Apache-2.0
#include "operator/local/volume_beside.h"

#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 63 };

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define NAME_BYTES LETTERS "0123456789-"

struct search {
    const char *folder;
    json_t *volumes;
    char *names; /* "data, model"; NULL: none yet */
};

/* Declares the volume if there is a folder of that name. */
static void declare(struct search *search, const char *text, size_t length) {
    if (length == 0 || length > NAME_MAX_BYTES || strspn(text, NAME_BYTES) < length ||
        !strchr(LETTERS, *text) || text[length - 1] == '-') {
        return;
    }
    AUTO(text_freep) char *name = x_strndup(text, length);
    AUTO(text_freep) char *path = file_join(search->folder, name);
    if (tree_find(search->volumes, "name", name) || !file_is_folder(path)) {
        return;
    }
    json_array_append_new(search->volumes, json_pack("{s:s, s:{s:s}}", "name", name,
                                                     "persistentVolumeClaim", "claimName", name));
    AUTO(text_freep) char *before = search->names;
    search->names = x_printf("%s%s%s", before ? before : "", before ? ", " : "", name);
}

/* Whether a member of that name holds a path VOLUME/path/in/it. A pattern or an argument of a
 * command does not, though it may look like a path. */
static bool holds_path(const char *member) {
    static const char *const members[] = {"path",  "manifest", "labels",   "images",
                                          "masks", "samples",  "tokenizer"};
    for (size_t i = 0; member && i < ARRAY_LEN(members); i++) {
        if (strcmp(member, members[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "data/photos", a member path: data, and any number of $(data). */
static void scan_text(struct search *search, const char *member, const char *text) {
    size_t first = strcspn(text, "/");
    if (holds_path(member) && (text[first] == '/' || strcmp(member, "path") == 0)) {
        declare(search, text, first);
    }
    for (const char *at = strstr(text, "$("); at; at = strstr(at + 2, "$(")) {
        declare(search, at + 2, strcspn(at + 2, ")"));
    }
}

static void walk(struct search *search, const char *member, const json_t *value) {
    const char *key;
    json_t *child;
    size_t i;
    if (json_is_string(value)) {
        scan_text(search, member, json_string_value(value));
    }
    json_array_foreach(value, i, child) {
        walk(search, NULL, child);
    }
    json_object_foreach((json_t *)value, key, child) {
        if (strcmp(key, "volumes") != 0 && strcmp(key, "image") != 0) {
            walk(search, key, child);
        }
    }
}

char *volume_beside_declare(json_t *object, const char *within, const char *folder) {
    json_t *spec = tree_get(object, within);
    json_t *declared = json_object_get(spec, "volumes");
    if (!json_is_object(spec) || (declared && !json_is_array(declared))) {
        return NULL;
    }
    struct search search = {.folder = folder,
                            .volumes = declared ? json_incref(declared) : json_array()};
    walk(&search, NULL, spec);
    if (search.names) {
        json_object_set(spec, "volumes", search.volumes);
    }
    json_decref(search.volumes);
    return search.names;
}
