// SPDX-License-Identifier: Apache-2.0
#include "agent/store/store.h"

#include "agent/store/store_ops.h"
#include "lib/digest.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 };

void store_init(struct store *store, const struct store_ops *ops, const char *path, bool writes) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    store->ops = ops;
    store->path = x_strndup(path, length);
    store->writes = writes;
}

void store_free(struct store *store) {
    if (store) {
        free(TAKE(store->path));
        store->ops->free(store);
    }
}

void store_freep(struct store **store) {
    store_free(TAKE(*store));
}

const char *store_path(const struct store *store) {
    return store->path;
}

struct store_abilities store_features(const struct store *store) {
    return store->ops->features(store);
}

/* ---- what every kind relies on -------------------------------------------------------------- */

size_t store_shown_size(const char *name) {
    size_t size = strnlen(name, STORE_NAME_MAX + 1);
    if (size > STORE_NAME_MAX) {
        size = utf8_valid_size(name, STORE_NAME_MAX);
        size = size > STORE_NAME_MAX - 4 ? size : STORE_NAME_MAX;
    }
    return size;
}

static int check_name(const struct store *store, const char *name, struct error *err) {
    int depth = 0;
    size_t length = strlen(name);
    bool is_good = length > 0 && length <= STORE_NAME_MAX;
    for (const char *at = name; is_good;) {
        size_t part = strcspn(at, "/");
        is_good = part > 0 && ++depth <= STORE_DEPTH_MAX && !(part == 1 && at[0] == '.') &&
                  !(part == 2 && at[0] == '.' && at[1] == '.');
        if (!at[part]) {
            break;
        }
        at += part + 1;
    }
    return is_good ? 0
                   : error_set(err, ERROR_INVALID,
                               "%s: \"%.80s\" is not a valid object name: parts between single "
                               "slashes are expected, at most %d bytes and %d parts, none \"..\"",
                               store->path, name, STORE_NAME_MAX, STORE_DEPTH_MAX);
}

static int check_write(const struct store *store, const char *name, struct error *err) {
    if (check_name(store, name, err) < 0) {
        return -1;
    }
    return store->writes
               ? 0
               : error_set(err, ERROR_DENIED, "%s/%s: this store is read-only", store->path, name);
}

int store_probe(struct store *store, int timeout_ms, struct error *err) {
    return store->ops->probe(store, timeout_ms, err);
}

int store_get(struct store *store, const char *name, struct buffer *buffer,
              struct store_info *ret_info, struct error *err) {
    return check_name(store, name, err) < 0 ? -1
                                            : store->ops->get(store, name, buffer, ret_info, err);
}

int store_read(struct store *store, const char *name, const struct store_piece *piece,
               size_t *ret_size, struct error *err) {
    assert(piece->offset >= 0 && piece->size <= (size_t)INT64_MAX - (size_t)piece->offset);
    return check_name(store, name, err) < 0 ? -1
                                            : store->ops->read(store, name, piece, ret_size, err);
}

int store_stat(struct store *store, const char *name, struct store_info *ret_info,
               struct error *err) {
    return check_name(store, name, err) < 0 ? -1 : store->ops->stat(store, name, ret_info, err);
}

int store_ask(struct store *store, struct store_asked *objects, size_t count, struct error *err) {
    assert(count <= STORE_ASK_MAX);
    for (size_t i = 0; i < count; i++) {
        if (check_name(store, objects[i].name, err) < 0) {
            return -1;
        }
    }
    if (store->ops->ask) {
        return store->ops->ask(store, objects, count, err);
    }
    for (size_t i = 0; i < count; i++) {
        struct error cause = {0};
        objects[i].info = (struct store_info){0};
        objects[i].is_known =
            store->ops->stat(store, objects[i].name, &objects[i].info, &cause) == 0 ||
            cause.kind == ERROR_NOT_FOUND;
    }
    return 0;
}

void store_peek(struct store *store, struct store_peeked *objects, size_t count) {
    struct error ignored = {0};
    bool are_names = true;
    assert(count <= STORE_PEEK_MAX);
    for (size_t i = 0; i < count; i++) {
        objects[i].is_whole = false;
        are_names = are_names && check_name(store, objects[i].name, &ignored) == 0;
    }
    if (store->ops->peek && are_names) {
        store->ops->peek(store, objects, count);
    }
}

int store_hash(struct store *store, const char *name, store_hash_each *each, void *context,
               struct store_digest *ret_hash, struct error *err) {
    struct store_info info;
    if (store_stat(store, name, &info, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    AUTO(digest_freep) struct digest *digest = digest_new();
    for (int64_t at = 0; at < info.size_bytes;) {
        size_t got = 0;
        const struct store_piece wanted = {
            at, piece, (size_t)MIN(info.size_bytes - at, PIECE_BYTES), info.token};
        if (store_read(store, name, &wanted, &got, err) < 0) {
            return -1;
        }
        if (got == 0) {
            return error_set(err, ERROR_CONFLICT, "%s/%s: became shorter while it was read",
                             store_path(store), name);
        }
        if (each && each(context, piece, got, err) < 0) {
            return -1;
        }
        digest_add(digest, piece, got);
        at += (int64_t)got;
    }
    digest_end(TAKE(digest), ret_hash->sha256);
    ret_hash->size_bytes = info.size_bytes;
    return 0;
}

int store_put(struct store *store, const char *name, const void *data, size_t size,
              enum store_put_mode how, struct error *err) {
    if (check_write(store, name, err) < 0) {
        return -1;
    }
    if (size > STORE_PUT_MAX) {
        return error_set(err, ERROR_INVALID, "%s/%s: %zu bytes, at most %zu in one write",
                         store->path, name, size, STORE_PUT_MAX);
    }
    return store->ops->put(store, name, data, size, how, err);
}

int store_remove(struct store *store, const char *name, struct error *err) {
    return check_write(store, name, err) < 0 ? -1 : store->ops->remove(store, name, err);
}

static int check_prefix(const struct store *store, const char *prefix, struct error *err) {
    size_t length = strlen(prefix);
    if (!length) {
        return 0;
    }
    assert(prefix[length - 1] == '/');
    AUTO(text_freep) char *folder = x_strndup(prefix, length - 1);
    return check_name(store, folder, err);
}

struct without_links {
    store_each *each;
    void *context;
};

static int leave_links(void *context, const char *name, const struct store_info *info,
                       struct error *err) {
    const struct without_links *wanted = context;
    return info && info->fault ? 0 : wanted->each(wanted->context, name, info, err);
}

int store_list(struct store *store, const char *prefix, const char *after, store_each *each,
               void *context, struct error *err) {
    struct without_links wanted = {each, context};
    return store_list_links(store, prefix, after, leave_links, &wanted, err);
}

int store_list_links(struct store *store, const char *prefix, const char *after, store_each *each,
                     void *context, struct error *err) {
    return check_prefix(store, prefix, err) < 0
               ? -1
               : store->ops->list(store, prefix, after, each, context, err);
}

int store_list_infos(struct store *store, const char *prefix, const char *after, store_each *each,
                     void *context, struct error *err) {
    const struct store_ops *ops = store->ops;
    return check_prefix(store, prefix, err) < 0 ? -1
                                                : (ops->list_infos ? ops->list_infos : ops->list)(
                                                      store, prefix, after, each, context, err);
}

int store_list_all(struct store *store, const char *prefix, const char *after, store_each *each,
                   void *context, struct error *err) {
    return check_prefix(store, prefix, err) < 0
               ? -1
               : store->ops->list_all(store, prefix, after, each, context, err);
}

static int remove_listed(void *context, const char *name, const struct store_info *info UNUSED,
                         struct error *err) {
    struct store *store = context;
    return store->ops->remove(store, name, err);
}

int store_clear(struct store *store, const char *prefix, struct error *err) {
    size_t length = strlen(prefix);
    assert(length && prefix[length - 1] == '/');
    AUTO(text_freep) char *folder = x_strndup(prefix, length - 1);
    if (check_write(store, folder, err) < 0) {
        return -1;
    }
    return store->ops->clear ? store->ops->clear(store, prefix, err)
                             : store->ops->list(store, prefix, NULL, remove_listed, store, err);
}

int store_remove_leftovers(struct store *store, struct error *err) {
    return store->ops->remove_leftovers ? store->ops->remove_leftovers(store, err) : 0;
}

int store_upload_open(struct store *store, const char *name, struct store_upload **ret_upload,
                      struct error *err) {
    struct store_upload *upload = NULL;
    if (check_write(store, name, err) < 0 ||
        store->ops->upload_open(store, name, &upload, err) < 0) {
        return -1;
    }
    upload->store = store;
    upload->size_bytes = 0;
    *ret_upload = upload;
    return 0;
}

int store_upload_add(struct store_upload *upload, const void *data, size_t size,
                     struct error *err) {
    if (size > (size_t)(STORE_UPLOAD_MAX - upload->size_bytes)) {
        return error_set(err, ERROR_INVALID, "%s: an object of more than %lld bytes",
                         upload->store->path, (long long)STORE_UPLOAD_MAX);
    }
    if (upload->store->ops->upload_add(upload, data, size, err) < 0) {
        return -1;
    }
    upload->size_bytes += (int64_t)size;
    return 0;
}

int store_upload_commit(struct store_upload *upload, enum store_put_mode how, struct error *err) {
    return upload->store->ops->upload_commit(upload, how, err);
}

void store_upload_free(struct store_upload *upload) {
    if (upload) {
        upload->store->ops->upload_free(upload);
    }
}

void store_upload_freep(struct store_upload **upload) {
    store_upload_free(TAKE(*upload));
}

bool store_error_is_machine(const struct error *err) {
    switch (err->kind) {
    case ERROR_UNAVAILABLE:
    case ERROR_TIMEOUT:
    case ERROR_BUSY:
    case ERROR_EXHAUSTED:
    case ERROR_DENIED:
        return true;
    default:
        return false;
    }
}
