// SPDX-License-Identifier: Apache-2.0
#include "agent/score/scorer/code_files.h"

#include "agent/store/path.h"
#include "agent/store/stored_file.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 << 10, END_BYTES = 32 << 20, FOLDERS_MAX = 64 };

static const char *const extensions[] = {
    "py",  "pyx", "pxd", "ipynb", "sh", "bash", "zsh", "pl",   "pm",  "rb",  "r",
    "jl",  "js",  "mjs", "cjs",   "ts", "lua",  "php", "java", "jar", "c",   "cc",
    "cpp", "h",   "cu",  "go",    "rs", "so",   "exe", "whl",  "egg", "sql", NULL};

static const char *const weights[] = {
    "gguf", "ggml",  "safetensors", "bin",  "pt", "pth",    "onnx",  "data", "json",  "model",
    "txt",  "jinja", "engine",      "plan", "h5", "tflite", "keras", "npz",  "index", NULL};

/* What was found: its spec path, size and change token. */
struct search {
    const char *folder;
    json_t *found; /* [[path, size, token]] */
    size_t before; /* length of found without this folder's files */
    int64_t bytes, names;
    bool is_full;
    bool is_of_models; /* not of code */
    json_t *listed;    /* the folders' own paths, and for each the spec path through which it was
                          found: a program follows links to folders */
    char *unseen;      /* the first link of which nothing is known; NULL: none */
};

static void search_release(struct search *search) {
    json_decref(search->listed);
    free(search->unseen);
}

/* ---- which files ---------------------------------------------------------------------------- */

static bool has_extension(const char *name, const char *const *list) {
    const char *dot = strrchr(file_basename(name), '.');
    for (; dot && *list; list++) {
        if (strcasecmp(dot + 1, *list) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_code(const char *name) {
    return has_extension(name, extensions);
}

static bool is_generated(const char *name) {
    return text_starts(name, "__pycache__/") || strstr(name, "/__pycache__/");
}

static void add_found(json_t *found, const char *path, const struct store_info *info) {
    json_array_append_new(found,
                          json_pack("[s,I,s]", path, (json_int_t)info->size_bytes, info->token));
}

/* Each folder once, so that links in a circle end. */
static void add_folder(struct search *search, const char *path) {
    AUTO(text_freep) char *own = NULL;
    struct error ignored = {0};
    if (path_resolve(path, &own, &ignored) < 0) { /* elsewhere than on this machine: no links */
        own = x_strdup(path);
    }
    if (!json_object_get(search->listed, own)) {
        json_object_set_new(search->listed, own, json_string(path));
    }
}

/* What is behind a link that leaves the volume, or has a name that is too long, is not compared. It
 * may be code, or a folder of it. */
static void note_link(struct search *search, const char *name, const struct store_info *info) {
    if (info->is_folder) {
        AUTO(text_freep) char *path = x_printf("%s/%s", search->folder, name);
        add_folder(search, path);
    } else if (!search->unseen &&
               (info->is_beyond ||
                has_extension(name, search->is_of_models ? weights : extensions) ||
                !strchr(file_basename(name), '.'))) {
        search->unseen = x_strdup(info->fault);
    }
}

/* 1 ends the listing: there are too many. */
static int on_file(void *context, const char *name, const struct store_info *info,
                   struct error *err UNUSED) {
    struct search *search = context;
    if (++search->names > CODE_NAMES_MAX) {
        search->is_full = true;
        return 1;
    }
    if (info->fault) {
        note_link(search, name, info);
        return 0;
    }
    bool is_wanted =
        search->is_of_models ? has_extension(name, weights) : is_code(name) && !is_generated(name);
    if (!is_wanted) {
        return 0;
    }
    search->bytes += search->is_of_models ? 0 : info->size_bytes;
    size_t count = json_array_size(search->found) - search->before;
    if (count == CODE_FILES_MAX || search->bytes > CODE_BYTES_MAX) {
        search->is_full = true;
        return 1;
    }
    AUTO(text_freep) char *path = x_printf("%s/%s", search->folder, name);
    AUTO(tree_freep) json_t *text = json_string(path);
    if (text) { /* other names than UTF-8 cannot be listed */
        add_found(search->found, path, info);
    }
    return 0;
}

static bool is_passing_by(const struct error *why) {
    return why->kind == ERROR_NOT_FOUND || why->kind == ERROR_DENIED || why->kind == ERROR_INVALID;
}

static int find_file(const char *path, json_t *found, struct error *err) {
    AUTO(stored_file_release) struct stored_file file = {0};
    struct store_info info;
    struct error why = {0};
    if (stored_file_open(path, &file, &why) == 0 &&
        store_stat(file.store, file.name, &info, &why) == 0) {
        add_found(found, path, &info);
        return 0;
    }
    if (is_passing_by(&why)) {
        return 0;
    }
    *err = why;
    return -1;
}

static int list_one(struct search *search, const char *folder, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    struct error why = {0};
    search->folder = folder;
    if ((store_open(folder, /* writes= */ false, &store, &why) == 0 &&
         store_list_infos(store, "", NULL, on_file, search, &why) == 0) ||
        is_passing_by(&why)) {
        return 0;
    }
    *err = why;
    return -1;
}

/* 1: all its files were found; 0: there are too many. */
static int find_folder(const char *folder, bool is_of_models, json_t *found, struct error *err) {
    AUTO(search_release)
    struct search search = {.found = found,
                            .before = json_array_size(found),
                            .is_of_models = is_of_models,
                            .listed = json_object()};
    const char *own;
    json_t *path;
    size_t count = 0;
    int result = 0;
    add_folder(&search, folder);
    json_object_foreach(search.listed, own, path) { /* links that it finds are added behind */
        search.is_full = search.is_full || ++count > FOLDERS_MAX;
        result =
            result < 0 || search.is_full ? result : list_one(&search, json_string_value(path), err);
    }
    while (search.is_full && json_array_size(found) > search.before) {
        json_array_remove(found, json_array_size(found) - 1);
    }
    if (search.unseen) {
        log_event(LOG_WARNING,
                  "spec.%s%s: its target is not compared; put the files themselves there",
                  is_of_models ? RUN_FILE_SERVER : RUN_FILE_CODE, search.unseen);
    }
    return result < 0 ? -1 : !search.is_full;
}

/* 0: neither file nor folder. */
static mode_t type_of(const char *path) {
    AUTO(fd_closep) int fd = -1;
    struct stat status;
    struct error ignored = {0};
    return path_open(path, &fd, &ignored) == 0 && fstat(fd, &status) == 0 ? status.st_mode & S_IFMT
                                                                          : 0;
}

/* The folder of a file, or the path itself if it is a folder. */
static int find_around(const char *path, json_t *found, struct error *err) {
    mode_t type = type_of(path);
    const char *slash = strrchr(path, '/');
    if (type != S_IFDIR && (type != S_IFREG || !slash)) {
        return 0;
    }
    AUTO(text_freep)
    char *folder = type == S_IFDIR ? x_strdup(path) : x_strndup(path, (size_t)(slash - path));
    if (type == S_IFREG && find_file(path, found, err) < 0) {
        return -1;
    }
    int done = find_folder(folder, /* is_of_models= */ false, found, err);
    if (done == 0) {
        log_event(LOG_WARNING,
                  "spec.scorer.command: %s has more files than are compared (%d of code, %lld MiB, "
                  "%d in all): %s%s compared; put code into a folder of its own",
                  folder, CODE_FILES_MAX, (long long)(CODE_BYTES_MAX >> 20), CODE_NAMES_MAX,
                  type == S_IFREG ? "only " : "none of it is", type == S_IFREG ? path : "");
    }
    return done < 0 ? -1 : 0;
}

static int find_model(const char *path, json_t *found, struct error *err) {
    mode_t type = type_of(path);
    if (type == S_IFREG) { /* another one may be a log, which the server writes */
        return has_extension(path, weights) ? find_file(path, found, err) : 0;
    }
    int done = type == S_IFDIR ? find_folder(path, /* is_of_models= */ true, found, err) : 1;
    if (done == 0) {
        log_event(LOG_WARNING,
                  "spec." RUN_FILE_SERVER "%s has more files than are compared (%d, %d in all): "
                  "none of it is compared",
                  path, CODE_FILES_MAX, CODE_NAMES_MAX);
    }
    return done < 0 ? -1 : 0;
}

static int find_models(const json_t *spec, json_t *found, struct error *err) {
    const json_t *models = tree_get(spec, "code.models");
    for (size_t i = 0; i < json_array_size(models); i++) {
        const char *path = json_string_value(json_array_get(models, i));
        if (path && find_model(path, found, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int code_files_list(const json_t *spec, json_t **ret_list, struct error *err) {
    AUTO(tree_freep) json_t *found = json_array();
    const json_t *files = tree_get(spec, "code.files"), *folders = tree_get(spec, "code.folders");
    const json_t *own = tree_get(spec, "code.own");
    for (size_t i = 0; i < json_array_size(folders); i++) {
        const char *path = json_string_value(json_array_get(folders, i));
        if (path && find_around(path, found, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < json_array_size(own); i++) {
        const char *path = json_string_value(json_array_get(own, i));
        if (path && type_of(path) == S_IFDIR && find_around(path, found, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *path = json_string_value(json_array_get(files, i));
        if (path && type_of(path) == S_IFREG && find_file(path, found, err) < 0) {
            return -1;
        }
    }
    if (find_models(spec, found, err) < 0) {
        return -1;
    }
    *ret_list = TAKE(found);
    return 0;
}

/* ---- their bytes ---------------------------------------------------------------------------- */

static int hash_range(int fd, const char *path, int64_t from, int64_t size, struct digest *digest,
                      struct error *err) {
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    for (int64_t at = 0; at < size;) {
        ssize_t got = pread(fd, piece, (size_t)MIN(size - at, (int64_t)PIECE_BYTES), from + at);
        if (got < 0) {
            return error_from_errno(err, errno, "%s", path);
        }
        if (got == 0) {
            return 0; /* it became shorter: it has another digest then, too */
        }
        digest_add(digest, piece, (size_t)got);
        at += got;
    }
    return 0;
}

static int hash_file(int fd, const char *path, int64_t size, int64_t whole_max,
                     struct digest *digest, struct error *err) {
    if (size <= whole_max) {
        return hash_range(fd, path, 0, size, digest, err);
    }
    AUTO(text_freep) char *text = x_printf("%lld", (long long)size);
    digest_add(digest, text, strlen(text));
    return hash_range(fd, path, 0, END_BYTES, digest, err) < 0
               ? -1
               : hash_range(fd, path, size - END_BYTES, END_BYTES, digest, err);
}

/* Lists a file under its field; one that is gone or cannot be read is left out. Of one larger than
 * whole_max size and both ends count. */
static int add_hash(const char *prefix, const char *path, int64_t whole_max, json_t *listed,
                    struct error *err) {
    AUTO(fd_closep) int fd = -1;
    struct error why = {0};
    struct stat status;
    char hex[65];
    if (path_open(path, &fd, &why) < 0 || fstat(fd, &status) < 0) {
        if (!why.kind || is_passing_by(&why)) {
            return 0;
        }
        *err = why;
        return -1;
    }
    AUTO(digest_freep) struct digest *digest = digest_new();
    if (hash_file(fd, path, status.st_size, whole_max, digest, err) < 0) {
        return -1;
    }
    digest_end(TAKE(digest), hex);
    AUTO(text_freep)
    char *field = x_printf("%s%s%s", prefix, path, status.st_size > whole_max ? " (ends)" : "");
    json_object_set_new(listed, field, json_string(hex));
    return 0;
}

/* Models may be far larger than what is read whole of them: coordinator and workers each read them.
 */
static int64_t whole_max_of(const json_t *spec, const json_t *found) {
    int64_t bytes = 0;
    for (size_t i = 0; tree_get(spec, "code.models") && i < json_array_size(found); i++) {
        int64_t size = json_integer_value(json_array_get(json_array_get(found, i), 1));
        bytes += MIN(size, CODE_BYTES_MAX + 1 - bytes);
    }
    return bytes > CODE_BYTES_MAX ? 2 * END_BYTES : CODE_BYTES_MAX;
}

/* A list too long for a message becomes the digest of its text. */
static void add_listed(json_t *listed, const char *prefix, const char *first, json_t *files) {
    size_t bytes = 0;
    const char *name;
    json_t *digest;
    json_object_foreach(listed, name, digest) {
        bytes += strlen(name);
    }
    if (bytes <= CODE_LISTED_BYTES) {
        json_object_update(files, listed);
        return;
    }
    char hex[65];
    AUTO(text_freep) char *text = tree_canonical(listed);
    AUTO(text_freep)
    char *field = x_printf("%s%.*s (all)", prefix, (int)MIN(strcspn(first, "/"), 63), first);
    digest_sha256(text, strlen(text), hex);
    json_object_set_new(files, field, json_string(hex));
}

static void sum_up(const json_t *found, char ret_seen[static 65]) {
    AUTO(text_freep) char *text = tree_canonical(found);
    digest_sha256(text, strlen(text), ret_seen);
}

int code_files_look(const json_t *spec, char ret_seen[static 65], struct error *err) {
    AUTO(tree_freep) json_t *found = NULL;
    if (code_files_list(spec, &found, err) < 0) {
        return -1;
    }
    sum_up(found, ret_seen);
    return 0;
}

bool code_files_are_kept(const json_t *before, const json_t *now) {
    AUTO(tree_freep) json_t *by_path = json_object();
    for (size_t i = 0; i < json_array_size(now); i++) {
        json_t *one = json_array_get(now, i);
        json_object_set(by_path, json_string_value(json_array_get(one, 0)), one);
    }
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *one = json_array_get(before, i);
        const char *path = json_string_value(json_array_get(one, 0));
        if (!json_equal(one, json_object_get(by_path, path))) {
            return false;
        }
    }
    return true;
}

int code_files_add(const json_t *spec, json_t *files, char ret_seen[static 65], struct error *err) {
    AUTO(tree_freep) json_t *found = NULL;
    AUTO(tree_freep) json_t *listed = json_object();
    const char *path = NULL, *prefix = RUN_FILE_CODE;
    prefix = tree_get(spec, "code.models") ? RUN_FILE_SERVER : prefix;
    if (code_files_list(spec, &found, err) < 0) {
        return -1;
    }
    int64_t whole_max = whole_max_of(spec, found);
    for (size_t i = 0; i < json_array_size(found); i++) {
        path = json_string_value(json_array_get(json_array_get(found, i), 0));
        if (add_hash(prefix, path, whole_max, listed, err) < 0) {
            return error_context(err, "spec.%.*s", (int)strcspn(prefix, ":"), prefix);
        }
    }
    if (path) {
        add_listed(listed, prefix, path, files);
    }
    sum_up(found, ret_seen);
    return 0;
}
