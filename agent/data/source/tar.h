/* tar.h: the regular files of a tar archive, one header after the other, without their content:
 * POSIX ustar, pax (path, size) and GNU (long names, sizes in base 256). Sparse files, parts of
 * multi-volume archives and compressed archives are UNSUPPORTED; links, devices and folders are
 * skipped and counted. Every size is checked against the archive's before it is used. Pure, except
 * for the caller's reading. One thread. */
#pragma once

#include "lib/error.h"

enum {
    TAR_BLOCK = 512,
    TAR_NAME_MAX = 1024,    /* bytes of a name, with its NUL */
    TAR_PAX_MAX = 64 << 10, /* bytes of one pax header, or of a GNU long name */
};

/* Reads exactly `size` bytes at an offset; never beyond the archive's end. */
typedef int tar_read(void *context, int64_t offset, void *data, size_t size, struct error *err);

struct tar {
    int64_t size_bytes; /* of the archive */
    size_t window_max;  /* how much to read ahead: at least TAR_BLOCK */
    tar_read *read;
    void *context;
    int64_t at;     /* the next header */
    int64_t others; /* links, devices and folders so far */
    /* What was read last; tar_release frees it. */
    char *window;
    int64_t window_at;
    size_t window_size;
};
void tar_release(struct tar *tar); /* for AUTO, too */

struct tar_member {
    char name[TAR_NAME_MAX]; /* without its leading "./" */
    int64_t header;          /* byte at which its own header begins */
    int64_t offset, size_bytes;
};

/* 1: *ret_member is the next file; 0: the archive has ended. INVALID: damaged, or truncated: what,
 * and at which byte; errors do not name the archive. After an error nothing more can be read. */
NODISCARD int tar_next(struct tar *tar, struct tar_member *ret_member, struct error *err);
/* Bytes of a member that are in the window; NULL: they are not. Borrowed until the next call. */
const char *tar_peek(const struct tar *tar, int64_t offset, size_t size);
/* The name in a header block, for messages; "" if it is not a name. Pure. */
void tar_block_name(const char block[TAR_BLOCK], char name[static TAR_NAME_MAX]);
