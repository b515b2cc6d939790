/* video_source.h: the bytes of a video: a file of a volume, or an object of az://, of which only
 * the requested ranges are fetched, in blocks of 4 MiB; four blocks are cached. A coordinator reads
 * the whole video once to list it and once more for its sound; a worker reads the ranges that its
 * leases decode, and the container's index. One thread. */
#pragma once

#include "agent/data/input/fingerprint.h"

struct video_source;

/* INVALID: not a regular file, or empty. Errors begin with the spec's path. */
NODISCARD int video_source_open(const char *spec_path, struct video_source **ret_source,
                                struct error *err);
void video_source_free(struct video_source *source); /* NULL is fine */

/* What the file is known by now (fingerprint.h), for a lease; "": not known. */
void video_source_core(const struct video_source *source,
                       char ret_core[static FINGERPRINT_CORE_MAX]);
/* Whether it is as listed. An object of az:// is read as it was when it was opened. */
bool video_source_holds(const struct video_source *source, const char *core);
int64_t video_source_size(const struct video_source *source); /* bytes, when it was opened */
/* Up to size bytes from offset, like pread: fewer only at the end, 0 after it; -1: the storage
 * failed. */
int64_t video_source_read(struct video_source *source, int64_t offset, void *data, size_t size);
/* The first read failure; kind NONE if there was none. */
const struct error *video_source_failure(const struct video_source *source);
