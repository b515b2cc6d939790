// SPDX-License-Identifier: Apache-2.0
#include "agent/store/registered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATEST_MAX = 256, METADATA_MAX = 16 << 20 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

bool registered_is_version(const char *text) {
    size_t size = strlen(text);
    return size >= 1 && size <= REGISTERED_VERSION_MAX && *text != '.' &&
           strspn(text, letters) == size;
}

int registered_latest(struct store *store, const char *name_latest,
                      char ret_version[static REGISTERED_VERSION_MAX + 1], struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error why = {0};
    buffer_init(&text, LATEST_MAX);
    *ret_version = 0;
    if (store_get(store, name_latest, &text, NULL, &why) < 0) {
        bool is_none = why.kind == ERROR_NOT_FOUND || why.kind == ERROR_INVALID; /* for example a
                                                                                    folder */
        return is_none ? 0 : error_set(err, why.kind, "%s", why.text);
    }
    size_t size = text.size;
    size -= size > 0 && text.data[size - 1] == '\n';
    AUTO(text_freep) char *version = x_strndup(text.data ? text.data : "", size);
    if (strlen(version) == size && registered_is_version(version)) {
        snprintf(ret_version, REGISTERED_VERSION_MAX + 1, "%s", version);
    }
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

struct files {
    char **names;
    size_t count;
};

static void files_release(struct files *files) {
    for (size_t i = 0; i < files->count; i++) {
        free(files->names[i]);
    }
    free(files->names);
}

static int note(void *context, const char *name, const struct store_info *info, struct error *err) {
    struct files *files = context;
    (void)info;
    if (files->count == REGISTERED_FILES_MAX) {
        return error_set(err, ERROR_INVALID, "a model has at most %d files", REGISTERED_FILES_MAX);
    }
    files->names = x_realloc_array(files->names, files->count + 1, sizeof *files->names);
    files->names[files->count++] = x_strdup(name);
    return 0;
}

static int add_piece(void *context, const char *data, size_t size, struct error *err) {
    return store_upload_add(context, data, size, err);
}

/* Reads the whole object; upload: receives a copy, or NULL. One that changes meanwhile may be
 * stable at the next try. */
static int pass(struct store *store, const char *name, struct store_upload *upload,
                struct store_digest *ret_hash, struct error *err) {
    struct error why = {0};
    if (store_hash(store, name, upload ? add_piece : NULL, upload, ret_hash, &why) == 0) {
        return 0;
    }
    *err = why;
    err->kind = why.kind == ERROR_CONFLICT ? ERROR_UNAVAILABLE : why.kind;
    return -1;
}

/* Whether a file is as the training wrote it. */
static int check_hash(const struct registered_request *request, const char *name,
                      const struct store_digest *hash, struct error *err) {
    const char *wanted = json_string_value(json_object_get(request->hashes, name));
    return !wanted || strcmp(hash->sha256, wanted) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "%s/%s has changed since it was written: its SHA-256 is %.16s..., not "
                           "%.16s...",
                           store_path(request->from), name, hash->sha256, wanted);
}

/* The source is read again, to check that the stored bytes are equal. */
static int copy_file(const struct registered_request *request, const char *name,
                     const char *to_name, json_t *files, struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(text_freep) char *to = x_printf("%s/%s/%s", request->name, request->version, to_name);
    struct store_digest hash, again;
    if (store_upload_open(request->to, to, &upload, err) < 0 ||
        pass(request->from, name, upload, &hash, err) < 0 ||
        check_hash(request, name, &hash, err) < 0 ||
        store_upload_commit(upload, STORE_REPLACE, err) < 0 ||
        pass(request->to, to, NULL, &again, err) < 0) {
        return -1;
    }
    if (hash.size_bytes != again.size_bytes || strcmp(hash.sha256, again.sha256) != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "%s/%s: differs from what was written",
                         store_path(request->to), to);
    }
    json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", to_name, "size",
                                           (json_int_t)hash.size_bytes, "sha256", hash.sha256));
    return 0;
}

/* The version has files of its own under these names. The caller frees. */
static char *name_in_version(const char *name) {
    static const char *const own[] = {REGISTERED_METADATA, "result.json", "result.intoto.jsonl",
                                      "result.outputs.jsonl"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (strcmp(name, own[i]) == 0) {
            size_t size = strcspn(name, ".");
            return x_printf("%.*s.original%s", (int)size, name, name + size);
        }
    }
    return x_strdup(name);
}

static int check_names(const struct registered_request *request, const struct files *all,
                       struct error *err) {
    AUTO(tree_freep) json_t *there = json_object();
    const char *name;
    json_t *ignored;
    for (size_t i = 0; i < all->count; i++) {
        json_object_set_new(there, all->names[i], json_true());
    }
    json_object_foreach((json_t *)request->hashes, name, ignored) {
        if (!json_object_get(there, name)) {
            return error_set(err, ERROR_INVALID, "%s/%s is missing, which was written there",
                             store_path(request->from), name);
        }
    }
    return 0;
}

static int copy_all(const struct registered_request *request, json_t *files, struct error *err) {
    AUTO(files_release) struct files all = {0};
    if (store_list(request->from, "", NULL, note, &all, err) < 0) {
        return -1;
    }
    if (all.count == 0) {
        return error_set(err, ERROR_INVALID, "%s: no files to register", store_path(request->from));
    }
    if (check_names(request, &all, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < all.count; i++) {
        AUTO(text_freep) char *to = name_in_version(all.names[i]);
        if (copy_file(request, all.names[i], to, files, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- a version ------------------------------------------------------------------------------ */

static int is_there(const struct registered_request *request, const char *metadata, bool *ret_is,
                    struct error *err) {
    struct store_info info;
    struct error why = {0};
    *ret_is = store_stat(request->to, metadata, &info, &why) == 0;
    return *ret_is || why.kind == ERROR_NOT_FOUND ? 0 : error_set(err, why.kind, "%s", why.text);
}

static int write_metadata(const struct registered_request *request, const char *name, json_t *files,
                          struct error *err) {
    AUTO(tree_freep) json_t *metadata = json_copy((json_t *)request->metadata);
    json_object_set(metadata, "files", files);
    AUTO(text_freep) char *text = json_dumps(metadata, JSON_INDENT(2) | JSON_SORT_KEYS);
    AUTO(text_freep) char *lines = x_printf("%s\n", text ? text : "");
    if (!text || strlen(lines) > METADATA_MAX) {
        return error_set(err, ERROR_INVALID, "the model's metadata is not JSON, or too long");
    }
    return store_put(request->to, name, lines, strlen(lines), STORE_REPLACE, err);
}

/* Whether `latest` names this version, or a newer existing one. Other text in it is not a version
 * ("prod" sorts after all texts that begin with a time). */
static int is_named(const struct registered_request *request, const char *latest, bool *ret_is,
                    struct error *err) {
    char newest[REGISTERED_VERSION_MAX + 1];
    if (registered_latest(request->to, latest, newest, err) < 0) {
        return -1;
    }
    *ret_is = strcmp(newest, request->version) >= 0;
    if (strcmp(newest, request->version) <= 0) {
        return 0;
    }
    AUTO(text_freep)
    char *metadata = x_printf("%s/%s/%s", request->name, newest, REGISTERED_METADATA);
    return is_there(request, metadata, ret_is, err);
}

static char *metadata_of(const struct registered_request *request) {
    return x_printf("%s/%s/%s", request->name, request->version, REGISTERED_METADATA);
}

int registered_is_done(const struct registered_request *request, bool *ret_is, struct error *err) {
    AUTO(text_freep) char *metadata = metadata_of(request);
    if (!registered_is_version(request->name) || !registered_is_version(request->version) ||
        strcmp(request->version, REGISTERED_LATEST) == 0 || !json_is_object(request->metadata)) {
        return error_set(err, ERROR_INVALID,
                         "a model's name and version are letters, digits, "
                         "-, _ and ., and its metadata is an object");
    }
    return is_there(request, metadata, ret_is, err);
}

int registered_copy(const struct registered_request *request, struct error *err) {
    AUTO(tree_freep) json_t *files = json_array();
    AUTO(text_freep) char *latest = x_printf("%s/%s", request->name, REGISTERED_LATEST);
    AUTO(text_freep) char *metadata = metadata_of(request);
    AUTO(text_freep) char *line = x_printf("%s\n", request->version);
    bool is_done = false, is_latest = false;
    if (registered_is_done(request, &is_done, err) < 0 ||
        (!is_done && (copy_all(request, files, err) < 0 ||
                      write_metadata(request, metadata, files, err) < 0)) ||
        is_named(request, latest, &is_latest, err) < 0) {
        return -1;
    }
    return is_latest ? 0 : store_put(request->to, latest, line, strlen(line), STORE_REPLACE, err);
}
