// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_source.h"

#include "agent/store/file_info.h"
#include "agent/store/path.h"
#include "agent/store/stored_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4 << 20, BLOCKS_KEPT = 4 /* pictures and sound may be far apart */ };

struct block {
    int64_t number; /* -1: none */
    int64_t used;   /* when it was last used, by a counter of reads */
    size_t size;
    char *bytes;
};

struct video_source {
    int fd;                     /* -1: the video is in a store, or comes from its origin */
    struct video_origin origin; /* read NULL: none */
    int64_t size_bytes;
    struct stored_file file;
    struct store_info info;
    struct block blocks[BLOCKS_KEPT];
    int64_t reads;
    struct error failure;
};

static void source_freep(struct video_source **source) {
    video_source_free(*source);
}

static int check_size(const char *spec_path, int64_t size_bytes, struct error *err) {
    return size_bytes > 0
               ? 0
               : error_set(err, ERROR_INVALID, "%s: is empty (0 bytes), a video file is expected",
                           spec_path);
}

static int open_file(struct video_source *source, const char *spec_path, struct error *err) {
    struct stat status;
    if (path_open(spec_path, &source->fd, err) < 0) {
        return -1;
    }
    if (fstat(source->fd, &status) < 0) {
        return error_from_errno(err, errno, "%s", spec_path);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s: is %s, a video file is expected", spec_path,
                         S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
    }
    source->size_bytes = status.st_size;
    return check_size(spec_path, source->size_bytes, err);
}

static int open_object(struct video_source *source, const char *spec_path, struct error *err) {
    if (stored_file_open(spec_path, &source->file, err) < 0 ||
        store_stat(source->file.store, source->file.name, &source->info, err) < 0) {
        return -1;
    }
    source->size_bytes = source->info.size_bytes;
    return check_size(spec_path, source->size_bytes, err);
}

int video_source_open(const char *spec_path, const struct video_origin *origin,
                      struct video_source **ret_source, struct error *err) {
    AUTO(source_freep) struct video_source *source = x_calloc(1, sizeof *source);
    source->fd = -1;
    for (size_t i = 0; i < BLOCKS_KEPT; i++) {
        source->blocks[i].number = -1;
    }
    if (origin) {
        source->origin = *origin;
        source->size_bytes = origin->size_bytes;
        *ret_source = TAKE(source);
        return 0;
    }
    int opened = store_is_local(spec_path) ? open_file(source, spec_path, err)
                                           : open_object(source, spec_path, err);
    if (opened < 0) {
        return -1;
    }
    *ret_source = TAKE(source);
    return 0;
}

void video_source_free(struct video_source *source) {
    if (source) {
        for (size_t i = 0; i < BLOCKS_KEPT; i++) {
            free(source->blocks[i].bytes);
        }
        stored_file_release(&source->file);
        fd_closep(&source->fd);
        free(source);
    }
}

static struct store_info info_of(const struct video_source *source) {
    struct stat status;
    if (source->fd < 0) {
        return source->info;
    }
    if (fstat(source->fd, &status) < 0) {
        return (struct store_info){0};
    }
    return file_info(&status);
}

void video_source_core(const struct video_source *source,
                       char ret_core[static FINGERPRINT_CORE_MAX]) {
    struct store_info info = info_of(source);
    fingerprint_make_core(&info, source->fd >= 0, ret_core);
}

bool video_source_holds(const struct video_source *source, const char *core) {
    struct store_info info = info_of(source);
    return source->origin.read || fingerprint_holds(&info, source->fd >= 0, *core ? core : NULL);
}

int64_t video_source_size(const struct video_source *source) {
    return source->size_bytes;
}

const struct error *video_source_failure(const struct video_source *source) {
    return &source->failure;
}

static int64_t read_file(struct video_source *source, int64_t offset, void *data, size_t size) {
    for (;;) {
        ssize_t got = pread(source->fd, data, size, offset);
        if (got >= 0) {
            return got;
        }
        if (errno != EINTR) {
            return error_from_errno(&source->failure, errno, "cannot be read");
        }
    }
}

static int fill_block(struct video_source *source, int64_t number, struct block *block) {
    int64_t at = number * BLOCK_BYTES;
    if (source->origin.read) {
        int64_t got = source->origin.read(source->origin.context, at, block->bytes, BLOCK_BYTES);
        block->size = (size_t)MAX(got, (int64_t)0);
        return got < 0 ? error_set(&source->failure, ERROR_UNAVAILABLE, "cannot be read") : 0;
    }
    /* With the token, an object that is replaced meanwhile is an error and not read as a
     * mixture. */
    return store_read(source->file.store, source->file.name,
                      &(struct store_piece){at, block->bytes, BLOCK_BYTES, source->info.token},
                      &block->size, &source->failure);
}

/* Returns NULL if the storage failed. */
static struct block *find_block(struct video_source *source, int64_t number) {
    struct block *block = &source->blocks[0];
    for (size_t i = 0; i < BLOCKS_KEPT; i++) {
        struct block *other = &source->blocks[i];
        if (other->number == number) {
            other->used = ++source->reads;
            return other;
        }
        block = other->used < block->used ? other : block;
    }
    block->number = -1;
    if (!block->bytes) {
        block->bytes = x_malloc(BLOCK_BYTES);
    }
    if (fill_block(source, number, block) < 0) {
        return NULL;
    }
    block->number = number;
    block->used = ++source->reads;
    return block;
}

static int64_t read_object(struct video_source *source, int64_t offset, char *data, size_t size) {
    size_t done = 0;
    size = (size_t)MIN((int64_t)size, MAX(source->size_bytes - offset, (int64_t)0));
    while (done < size) {
        int64_t at = offset + (int64_t)done;
        const struct block *block = find_block(source, at / BLOCK_BYTES);
        size_t from = (size_t)(at % BLOCK_BYTES);
        if (!block) {
            return -1;
        }
        if (from >= block->size) {
            break;
        }
        size_t piece = MIN(size - done, block->size - from);
        memcpy(data + done, block->bytes + from, piece);
        done += piece;
    }
    return (int64_t)done;
}

int64_t video_source_read(struct video_source *source, int64_t offset, void *data, size_t size) {
    return source->fd >= 0 ? read_file(source, offset, data, size)
                           : read_object(source, offset, data, size);
}
