/* commit_seen.h: the commits that a look at a log has read (commit_scan), so that who claims the
 * log next (commit_open) does not read them again. A commit that is complete never changes. Memory
 * is bounded: commits that have no room are read again. */
#pragma once

#include "lib/buffer.h"

#define COMMIT_SEEN_BYTES ((size_t)64 << 20)

struct commit_seen;

struct commit_seen *commit_seen_new(size_t bytes_max);
void commit_seen_free(struct commit_seen *seen); /* accepts NULL */

/* Keeps a whole commit of this run. Of another run than the one before: forgets that one's. */
void commit_seen_add(struct commit_seen *seen, const char *run, int64_t number, const char *text,
                     size_t size);
/* Appends the commit to an empty buffer. False: it is not kept, and the buffer stays empty. */
bool commit_seen_take(const struct commit_seen *seen, const char *run, int64_t number,
                      struct buffer *text);
