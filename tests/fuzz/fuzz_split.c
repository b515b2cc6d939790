// SPDX-License-Identifier: Apache-2.0
/* A table of any bytes, cut from chunks of any size: the same blocks as from one chunk, and the
 * rows of the blocks are the rows of the whole. The first byte is the format, the second the
 * block's size, the third seeds the chunks. */
#include "agent/data/table/splitter.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cuts {
    int64_t ends[SPLIT_CUTS + 1];
    size_t count;
};

static int on_block(void *context, int64_t first, int64_t end, struct error *err) {
    (void)err;
    struct cuts *cuts = context;
    if (first != (cuts->count ? cuts->ends[cuts->count - 1] : 0) || end <= first) {
        abort();
    }
    cuts->ends[cuts->count++] = end;
    return 0;
}

static void cut(enum split_format format, const char *data, size_t size, int64_t block_bytes,
                unsigned seed, struct cuts *cuts) {
    static struct split_chunk chunk;
    struct splitter_options options = {format, 0, block_bytes, SPLIT_CHUNK_MAX, "t"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    cuts->count = 0;
    for (size_t at = 0, piece; at < size; at += piece) {
        seed = seed * 1664525 + 1013904223;
        piece = MIN(1 + (seed >> 16) % 64, size - at);
        split_scan(format, data + at, piece, (int64_t)at, block_bytes, &chunk);
        if (splitter_add(splitter, &chunk, on_block, cuts, &err) < 0) {
            abort();
        }
    }
    if (splitter_end(splitter, (int64_t)size, on_block, cuts, &err) < 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4 || size > 4000) {
        return 0;
    }
    enum split_format format = (enum split_format)(data[0] % 3);
    int64_t block_bytes = 4 + data[1];
    const char *table = (const char *)data + 3;
    size -= 3;
    static struct cuts whole, parts;
    cut(format, table, size, block_bytes, data[2], &parts);
    static struct split_chunk chunk;
    struct splitter_options options = {format, 0, block_bytes, SPLIT_CHUNK_MAX, "t"};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    struct error err = {0};
    whole.count = 0;
    split_scan(format, table, size, 0, block_bytes, &chunk);
    if (splitter_add(splitter, &chunk, on_block, &whole, &err) < 0 ||
        splitter_end(splitter, (int64_t)size, on_block, &whole, &err) < 0 ||
        whole.count != parts.count ||
        memcmp(whole.ends, parts.ends, whole.count * sizeof *whole.ends) != 0) {
        abort();
    }
    enum split_state state = SPLIT_FIELD;
    size_t next = 0;
    for (size_t at = 0; at < size;) { /* each block but the last ends where a row ends */
        size_t row = split_row_end(format, &state, table + at, size - at);
        at = row ? at + row : size;
        if ((int64_t)at > whole.ends[next]) {
            abort();
        }
        next += (int64_t)at == whole.ends[next];
    }
    return next == whole.count ? 0 : (abort(), 0);
}
