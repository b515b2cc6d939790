/* kept_bytes.h: files or members held in memory from their first use on, as long as they fit into a
 * limit; from then on others are read each time. Any thread. */
#pragma once

#include "lib/buffer.h"

struct kept_bytes;
struct kept_one { /* immutable, lives as long as the kept_bytes */
    size_t size;
    char bytes[];
};

struct kept_bytes *kept_bytes_new(int64_t count, int64_t memory_bytes);
void kept_bytes_free(struct kept_bytes *kept); /* accepts NULL */
/* NULL: it is not held. */
const struct kept_one *kept_bytes_get(const struct kept_bytes *kept, int64_t index);
/* Copies the bytes, if there is memory for them. */
void kept_bytes_add(struct kept_bytes *kept, int64_t index, const struct buffer *bytes);
