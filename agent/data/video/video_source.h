/* video_source.h: the bytes of a video: a file of a volume, or an object of az://, of which only
 * what is asked for is fetched, in blocks of 4 MiB of which four are kept. A coordinator reads all
 * of the film once to list it and once more for its sound; a worker reads what its leases decode,
 * and the index. One thread. */
#pragma once

#include "lib/error.h"

struct video_source;

/* INVALID: no regular file, or an empty one. Errors begin with the spec's path. */
NODISCARD int video_source_open(const char *spec_path, struct video_source **ret_source,
                                struct error *err);
void video_source_free(struct video_source *source); /* NULL is fine */

int64_t video_source_size(const struct video_source *source); /* bytes, when it was opened */
/* Up to size bytes from offset, like pread: fewer only at the end, 0 behind it; -1: the storage
 * failed. */
int64_t video_source_read(struct video_source *source, int64_t offset, void *data, size_t size);
/* The first failure of a read; kind NONE: none. */
const struct error *video_source_failure(const struct video_source *source);
