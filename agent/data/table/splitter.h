/* splitter.h: joins the scanned chunks (split.h) of one file to blocks of whole rows, in the order
 * of the file. A block ends at the first row end at or after its target, a multiple of block_bytes
 * in the file, so where it ends does not depend on earlier blocks. Pure; one thread. */
#pragma once

#include "agent/data/table/split.h"

struct splitter_options {
    enum split_format format;
    int64_t first;         /* where rows begin: after byte order mark and header */
    int64_t block_bytes;   /* as for split_scan */
    int64_t row_bytes_max; /* at least the size of a chunk */
    const char *name;      /* the file's, for errors; borrowed */
};

struct splitter; /* one thread */

/* Receives a block [first, end) of whole rows; never empty. -1 with *err ends the work. */
typedef int split_block(void *context, int64_t first, int64_t end, struct error *err);

struct splitter *splitter_new(const struct splitter_options *options);
void splitter_free(struct splitter *splitter);
void splitter_freep(struct splitter **splitter);
/* The last offset at which the next chunk may begin. For CSV it must begin exactly there. The other
 * formats have no quotes, so bytes before the next target need not be read. */
int64_t splitter_next(const struct splitter *splitter);
/* Adds the next chunk. INVALID: a row of CSV is longer than row_bytes_max (a quote is not closed),
 * with file and byte. Rows of the other formats may have any length: row_parser.h turns those that
 * are too long into failed items. */
NODISCARD int splitter_add(struct splitter *splitter, const struct split_chunk *chunk,
                           split_block *block, void *context, struct error *err);
/* The file has this many bytes: emits the last block, which may end without a newline. */
NODISCARD int splitter_end(struct splitter *splitter, int64_t size_bytes, split_block *block,
                           void *context, struct error *err);
