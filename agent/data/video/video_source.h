/* video_source.h: the bytes of a video: a file of a volume, or an object of az://, of which only
 * the requested ranges are fetched, in blocks of 4 MiB; four blocks are cached. A coordinator reads
 * the whole video once to list it and once more for its sound; a worker reads the ranges that its
 * leases decode, and the container's index. One thread. */
#pragma once

#include "agent/data/input/fingerprint.h"

struct video_source;

/* Where the bytes come from, if not from a file or a store: a process that has them (the decoder's
 * parent). read: like pread; -1: failed. */
struct video_origin {
    void *context;
    int64_t size_bytes;
    int64_t (*read)(void *context, int64_t offset, void *data, size_t size);
};

/* INVALID: not a regular file, or empty. Errors begin with the spec's path. origin: NULL: the file
 * or object of that path; else it is copied, and whether the file is the listed one (core, holds)
 * is its owner's business. */
NODISCARD int video_source_open(const char *spec_path, const struct video_origin *origin,
                                struct video_source **ret_source, struct error *err);
void video_source_free(struct video_source *source); /* accepts NULL */

/* The core of the file's fingerprint now (fingerprint.h); "": not known. */
void video_source_core(const struct video_source *source,
                       char ret_core[static FINGERPRINT_CORE_MAX]);
/* Whether the file is still the listed one. An object of az:// is read as it was when it was
 * opened. */
bool video_source_holds(const struct video_source *source, const char *core);
int64_t video_source_size(const struct video_source *source); /* bytes, when it was opened */
/* Up to size bytes from offset, like pread: fewer only at the end, 0 after it; -1: the storage
 * failed. */
int64_t video_source_read(struct video_source *source, int64_t offset, void *data, size_t size);
/* The first read failure; kind NONE if there was none. */
const struct error *video_source_failure(const struct video_source *source);
