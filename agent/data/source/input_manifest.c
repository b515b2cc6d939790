// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/input_manifest.h"

#include "agent/store/stored_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE_BYTES = 64 << 10,
    LINE_BYTES_MAX = 32 << 10,           /* a longer one shows another file than a manifest */
    CURSOR_BYTES = 21 + STORE_TOKEN_MAX, /* "OFFSET TOKEN" */
};

struct manifest {
    const char *spec_path;
    struct stored_file file;
    struct store_info info;
    int64_t offset; /* of the next line */
    int64_t count;  /* of names */
    char slice[SLICE_BYTES];
    input_manifest_each *each;
    void *context;
};

static void manifest_freep(struct manifest **manifest) {
    if (*manifest) {
        stored_file_release(&(*manifest)->file);
        free(*manifest);
    }
}

static int open_manifest(struct manifest *manifest, struct error *err) {
    struct stored_file *file = &manifest->file;
    return stored_file_open(manifest->spec_path, file, err) < 0
               ? -1
               : store_stat(file->store, file->name, &manifest->info, err);
}

static int refuse_changed(const struct manifest *manifest, struct error *err) {
    return error_set(err, ERROR_INVALID, "%s: has changed while it was read", manifest->spec_path);
}

static int go_on(struct manifest *manifest, const char *after, struct error *err) {
    char *token = NULL;
    errno = 0;
    long long offset = strtoll(after, &token, 10);
    if (errno || offset < 0 || offset > manifest->info.size_bytes || *token != ' ' ||
        strcmp(token + 1, manifest->info.token) != 0) {
        return refuse_changed(manifest, err);
    }
    manifest->offset = offset;
    return 0;
}

static bool is_path(const char *path, size_t size) {
    if (size > LINE_BYTES_MAX || memchr(path, 0, size)) {
        return false;
    }
    for (size_t at = 0; at <= size;) {
        const char *part = path + at, *slash = memchr(part, '/', size - at);
        size_t length = slash ? (size_t)(slash - part) : size - at;
        if (length == 0 || (length <= 2 && memcmp(part, "..", length) == 0)) {
            return false;
        }
        at += length + 1;
    }
    return true;
}

/* Why a path cannot be an object's name (store.c refuses it); NULL: it can. */
static const char *find_fault(const char *path, size_t size) {
    size_t parts = 1;
    for (size_t i = 0; i < size; i++) {
        parts += path[i] == '/';
    }
    return size > STORE_NAME_MAX     ? "a path that begins so is longer than 2,048 bytes"
           : parts > STORE_DEPTH_MAX ? "a path of more than 64 parts"
                                     : NULL;
}
static_assert(STORE_NAME_MAX == 2048 && STORE_DEPTH_MAX == 64, "the messages above say so");
static_assert(LINE_BYTES_MAX == 32 << 10, "a message below says so");

/* line: without newline; end: its end in the file. */
static int add_line(struct manifest *manifest, char *line, size_t size, int64_t end,
                    struct error *err) {
    bool has_mark = manifest->offset == 0 && size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0;
    line += has_mark ? 3 : 0;
    size -= has_mark ? 3 : 0;
    size -= size && line[size - 1] == '\r';
    if (size == 0) {
        return 0;
    }
    if (!is_path(line, size)) {
        return error_set(err, ERROR_INVALID,
                         "%s: at byte %lld a path of at most 32 KiB below spec.input.files.path is "
                         "expected, its parts between single slashes, none \"..\"",
                         manifest->spec_path, (long long)manifest->offset);
    }
    char cursor[CURSOR_BYTES + 1], path[STORE_NAME_MAX + 1];
    snprintf(cursor, sizeof cursor, "%lld %s", (long long)end, manifest->info.token);
    const char *fault = find_fault(line, size);
    size = MIN(size, (size_t)STORE_NAME_MAX);
    memcpy(path, line, size);
    path[size] = 0;
    manifest->count++;
    return manifest->each(manifest->context, path, fault, cursor, err);
}

/* Adds the complete lines of the bytes that were read; *ret_used: the size of these lines. */
static int add_lines(struct manifest *manifest, size_t size, size_t *ret_used, struct error *err) {
    bool is_end = manifest->offset + (int64_t)size == manifest->info.size_bytes;
    size_t at = 0;
    while (at < size) {
        char *line = manifest->slice + at, *newline = memchr(line, '\n', size - at);
        if (!newline && !is_end) {
            break;
        }
        size_t length = newline ? (size_t)(newline - line) : size - at;
        size_t whole = length + (newline != NULL);
        if (add_line(manifest, line, length, manifest->offset + (int64_t)whole, err) < 0) {
            return -1;
        }
        manifest->offset += (int64_t)whole;
        at += whole;
    }
    *ret_used = at;
    return 0;
}

static int read_lines(struct manifest *manifest, struct error *err) {
    while (manifest->offset < manifest->info.size_bytes) {
        size_t size = 0, used = 0;
        struct error cause = {0};
        if (store_read(manifest->file.store, manifest->file.name,
                       &(struct store_piece){manifest->offset, manifest->slice,
                                             sizeof manifest->slice, manifest->info.token},
                       &size, &cause) < 0) {
            *err = cause;
            return cause.kind == ERROR_CONFLICT ? (error_clear(err), refuse_changed(manifest, err))
                                                : -1;
        }
        if (size == 0) {
            return refuse_changed(manifest, err);
        }
        if (add_lines(manifest, size, &used, err) < 0) {
            return -1;
        }
        if (used == 0) { /* the buffer has no end of a line */
            return add_line(manifest, manifest->slice, size, manifest->offset, err);
        }
    }
    return 0;
}

int input_manifest_read(const char *spec_path, const char *after, input_manifest_each *each,
                        void *context, struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = x_calloc(1, sizeof *manifest);
    manifest->spec_path = spec_path;
    manifest->each = each;
    manifest->context = context;
    if (open_manifest(manifest, err) < 0 || (after && go_on(manifest, after, err) < 0) ||
        read_lines(manifest, err) < 0) {
        return -1;
    }
    return manifest->count || after ? 0
                                    : error_set(err, ERROR_INVALID, "%s: names no file", spec_path);
}
