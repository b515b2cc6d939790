// SPDX-License-Identifier: Apache-2.0
/* A header is a block of 512 bytes; the content follows, filled up to whole blocks. A pax header or
 * a GNU long name is a member of its own before the one that it describes. */
#include "agent/data/source/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 100,
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    SUM_AT = 148,
    SUM_BYTES = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155,
    PREFIX_GNU = 0, /* GNU tar has times there */
};

static const int64_t size_max = INT64_MAX / 4;

void tar_release(struct tar *tar) {
    free(TAKE(tar->window));
    tar->window_size = 0;
}

const char *tar_peek(const struct tar *tar, int64_t offset, size_t size) {
    bool is_there = tar->window && offset >= tar->window_at &&
                    offset - tar->window_at <= (int64_t)tar->window_size &&
                    size <= tar->window_size - (size_t)(offset - tar->window_at);
    return is_there ? tar->window + (offset - tar->window_at) : NULL;
}

/* The caller has checked that the bytes are within the archive. */
static int need(struct tar *tar, int64_t offset, size_t size, const char **ret_bytes,
                struct error *err) {
    if (!tar_peek(tar, offset, size)) {
        size_t wanted = MAX(size, tar->window_max);
        wanted = (size_t)MIN((int64_t)wanted, tar->size_bytes - offset);
        tar->window = x_realloc(tar->window, wanted);
        tar->window_size = 0;
        if (tar->read(tar->context, offset, tar->window, wanted, err) < 0) {
            return -1;
        }
        tar->window_at = offset;
        tar->window_size = wanted;
    }
    *ret_bytes = tar_peek(tar, offset, size);
    return 0;
}

/* ---- one block ------------------------------------------------------------------------------ */

/* Octal digits with spaces before and a space or NUL after; or, with the first bit set, big-endian
 * bytes. -1: neither. */
static int64_t read_number(const char *bytes, int count) {
    int64_t value = 0;
    int i = 0;
    if ((uint8_t)bytes[0] & 0x80) {
        value = (uint8_t)bytes[0] & 0x7f;
        for (i = 1; i < count; i++) {
            if (value > size_max >> 8) {
                return -1;
            }
            value = value << 8 | (uint8_t)bytes[i];
        }
        return value;
    }
    while (i < count && bytes[i] == ' ') {
        i++;
    }
    for (; i < count && bytes[i] >= '0' && bytes[i] <= '7'; i++) {
        value = value << 3 | (bytes[i] - '0'); /* at most 12 digits */
    }
    return i == count || bytes[i] == ' ' || bytes[i] == 0 ? value : -1;
}

static bool has_right_sum(const char *block) {
    int64_t wanted = read_number(block + SUM_AT, SUM_BYTES), sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++) {
        bool is_sum = i >= SUM_AT && i < SUM_AT + SUM_BYTES;
        sum += is_sum ? ' ' : (uint8_t)block[i];
    }
    return sum == wanted;
}

static bool is_zero(const char *block) {
    for (int i = 0; i < TAR_BLOCK; i++) {
        if (block[i]) {
            return false;
        }
    }
    return true;
}

void tar_block_name(const char block[TAR_BLOCK], char name[static TAR_NAME_MAX]) {
    bool is_posix = memcmp(block + MAGIC_AT, "ustar\0", 6) == 0;
    int prefix = is_posix ? (int)strnlen(block + PREFIX_AT, PREFIX_BYTES) : PREFIX_GNU;
    int size = (int)strnlen(block, NAME_BYTES);
    *name = 0;
    if (has_right_sum(block)) {
        snprintf(name, TAR_NAME_MAX, "%.*s%s%.*s", prefix, block + PREFIX_AT, prefix ? "/" : "",
                 size, block);
    }
}

/* ---- what describes the next member ---------------------------------------------------------- */

struct extra {
    char path[TAR_NAME_MAX]; /* "": none */
    int64_t size_bytes;      /* -1: none */
};

static int set_path(struct extra *extra, const char *text, size_t size, struct error *err) {
    size = strnlen(text, size);
    if (size >= TAR_NAME_MAX || size == 0) {
        return error_set(err, ERROR_INVALID, "a name of %zu bytes; 1 to %d are expected", size,
                         TAR_NAME_MAX - 1);
    }
    memcpy(extra->path, text, size);
    extra->path[size] = 0;
    return 0;
}

static int set_size(struct extra *extra, const char *text, size_t size, struct error *err) {
    int64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || value > size_max / 10) {
            return error_set(err, ERROR_INVALID, "a pax header with a size that is not a number");
        }
        value = 10 * value + (text[i] - '0');
    }
    extra->size_bytes = value;
    return 0;
}

/* One record: "LENGTH KEY=VALUE\n", where LENGTH counts all of it. */
static int read_record(const char *record, size_t size, struct extra *extra, struct error *err) {
    const char *space = memchr(record, ' ', size);
    const char *key = space ? space + 1 : record;
    size_t left = size - (size_t)(key - record) - 1; /* without the newline */
    const char *equals = memchr(key, '=', left);
    if (!space || !equals) {
        return error_set(err, ERROR_INVALID, "a pax header with a record that has no KEY=VALUE");
    }
    size_t key_size = (size_t)(equals - key), value_size = left - key_size - 1;
    if (key_size >= 11 && memcmp(key, "GNU.sparse.", 11) == 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "a sparse file; write the archive without --sparse");
    }
    return key_size == 4 && memcmp(key, "path", 4) == 0
               ? set_path(extra, equals + 1, value_size, err)
           : key_size == 4 && memcmp(key, "size", 4) == 0
               ? set_size(extra, equals + 1, value_size, err)
               : 0;
}

static int read_pax(const char *data, size_t size, struct extra *extra, struct error *err) {
    for (size_t at = 0; at < size && data[at];) {
        size_t length = 0, digits = 0;
        for (; at + digits < size && data[at + digits] >= '0' && data[at + digits] <= '9' &&
               digits < 7;
             digits++) {
            length = 10 * length + (size_t)(data[at + digits] - '0');
        }
        if (length < digits + 4 || length > size - at || data[at + length - 1] != '\n') {
            return error_set(err, ERROR_INVALID, "a pax header with a record of a wrong length");
        }
        if (read_record(data + at, length, extra, err) < 0) {
            return -1;
        }
        at += length;
    }
    return 0;
}

/* ---- members -------------------------------------------------------------------------------- */

static int64_t whole_blocks(int64_t size) {
    return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

static int cut(const struct tar *tar, const char *what, struct error *err) {
    return error_set(err, ERROR_INVALID, "truncated: %s at byte %lld, of %lld", what,
                     (long long)tar->at, (long long)tar->size_bytes);
}

/* Two blocks of zeros; some programs write one. */
static int end(struct tar *tar, struct error *err) {
    const char *block = NULL;
    if (tar->size_bytes - tar->at >= (int64_t)2 * TAR_BLOCK) {
        if (need(tar, tar->at + TAR_BLOCK, TAR_BLOCK, &block, err) < 0) {
            return -1;
        }
        if (!is_zero(block)) {
            return error_set(err, ERROR_INVALID, "a header of zeros at byte %lld",
                             (long long)tar->at);
        }
    }
    return 0;
}

/* The header at tar->at: its type and size. 0: the archive's end. */
static int read_header(struct tar *tar, const char **ret_block, int64_t *ret_size,
                       struct error *err) {
    if (tar->size_bytes - tar->at < TAR_BLOCK) {
        return cut(tar, "it has no end mark (two blocks of zeros)", err);
    }
    if (need(tar, tar->at, TAR_BLOCK, ret_block, err) < 0) {
        return -1;
    }
    if (is_zero(*ret_block)) {
        return end(tar, err);
    }
    if (!has_right_sum(*ret_block)) {
        return error_set(err, ERROR_INVALID,
                         tar->at ? "a header with a wrong checksum at byte %lld"
                                 : "is not a tar archive: a wrong checksum at byte %lld",
                         (long long)tar->at);
    }
    *ret_size = read_number(*ret_block + SIZE_AT, SIZE_BYTES);
    if (*ret_size < 0) {
        return error_set(err, ERROR_INVALID, "a header with an invalid size at byte %lld",
                         (long long)tar->at);
    }
    return 1;
}

/* A pax header or GNU long name; 1: it was one. */
static int read_extra(struct tar *tar, char type, int64_t size, struct extra *extra,
                      struct error *err) {
    const char *data = NULL;
    if (type != 'x' && type != 'L' && type != 'g' && type != 'K') {
        return 0;
    }
    if (size > TAR_PAX_MAX) {
        return error_set(err, ERROR_INVALID, "a header of %lld bytes at byte %lld, at most %d",
                         (long long)size, (long long)tar->at, TAR_PAX_MAX);
    }
    if (size > tar->size_bytes - tar->at - TAR_BLOCK) {
        return cut(tar, "a header", err);
    }
    if (need(tar, tar->at + TAR_BLOCK, (size_t)size, &data, err) < 0) {
        return -1;
    }
    if ((type == 'x' && read_pax(data, (size_t)size, extra, err) < 0) ||
        (type == 'L' && set_path(extra, data, (size_t)size, err) < 0)) {
        return error_context(err, "at byte %lld", (long long)tar->at);
    }
    return 1;
}

static int fill_member(const struct tar *tar, const char *block, const struct extra *extra,
                       int64_t size, struct tar_member *member) {
    char name[TAR_NAME_MAX];
    tar_block_name(block, name);
    const char *full = *extra->path ? extra->path : name;
    while (strncmp(full, "./", 2) == 0) {
        full += 2;
    }
    snprintf(member->name, sizeof member->name, "%s", full);
    member->header = tar->at;
    member->offset = tar->at + TAR_BLOCK;
    member->size_bytes = size;
    return 1;
}

int tar_next(struct tar *tar, struct tar_member *ret_member, struct error *err) {
    struct extra extra = {.size_bytes = -1};
    for (;;) {
        const char *block = NULL;
        int64_t size = 0;
        int found = read_header(tar, &block, &size, err);
        if (found <= 0) {
            return found;
        }
        char type = block[TYPE_AT], copy[TAR_BLOCK];
        memcpy(copy, block, sizeof copy);
        found = read_extra(tar, type, size, &extra, err);
        if (found < 0) {
            return -1;
        }
        if (found == 0 && extra.size_bytes >= 0) {
            size = extra.size_bytes;
        }
        if (strchr("SMD", type) && type) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "a sparse file or a part of an archive in several volumes at byte "
                             "%lld",
                             (long long)tar->at);
        }
        bool is_file = type == '0' || type == 0 || type == '7';
        /* Links, devices and folders have no content, whatever their size says. */
        bool is_empty = type >= '1' && type <= '6';
        int64_t content = is_empty ? 0 : size;
        if (content > tar->size_bytes - tar->at - TAR_BLOCK) {
            return cut(tar, "a member", err);
        }
        if (is_file) {
            fill_member(tar, copy, &extra, size, ret_member);
        }
        tar->at += TAR_BLOCK + MIN(whole_blocks(content), tar->size_bytes - tar->at - TAR_BLOCK);
        if (is_file) {
            return 1;
        }
        if (!found) {
            tar->others++;
            extra = (struct extra){.size_bytes = -1};
        }
    }
}
