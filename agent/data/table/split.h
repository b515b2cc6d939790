/* split.h: cuts a table (CSV, TSV, JSON Lines) into blocks of whole rows of a given size in bytes,
 * without reading it in order: any thread scans chunks of the file, and one thread chains the
 * results.
 *
 * A row ends at a newline that is not between quotes. Only CSV has quotes, and a quote counts only
 * where a field begins (`5" pipe` is plain text) and, doubled, between quotes. CRLF and LF; a lone
 * CR is data. A block ends at the first row end at or after its target, a multiple of block_bytes
 * in the file, so a cut does not depend on earlier cuts. Pure. */
#pragma once

#include "lib/error.h"

enum split_format { SPLIT_CSV, SPLIT_TSV, SPLIT_LINES };

enum split_state {
    SPLIT_FIELD,  /* at the start of a field */
    SPLIT_PLAIN,  /* in a field that began without a quote, or after its closing quote */
    SPLIT_QUOTED, /* between quotes */
    SPLIT_QUOTE,  /* after a quote between quotes: the closing one, or the first of two */
    SPLIT_STATES
};

enum {
    SPLIT_BLOCK_MIN = 4 << 10, /* bytes */
    SPLIT_CHUNK_MAX = 4 << 20,
    SPLIT_CUTS = SPLIT_CHUNK_MAX / SPLIT_BLOCK_MIN, /* maximum of targets in a chunk */
    SPLIT_RUNS = 3,
};

/* The result of scanning a chunk from one start state. Offsets are in the file; a row's end is the
 * offset after its newline; -1: none. */
struct split_run {
    enum split_state end;
    int64_t first_end, last_end;
    int64_t cut[SPLIT_CUTS]; /* for each target in (offset, offset + size] */
};

/* There are four start states, but two always give the same result; the first byte decides
 * which. */
struct split_chunk {
    int64_t offset, size, block_bytes;
    int run_of[SPLIT_STATES];
    struct split_run runs[SPLIT_RUNS];
};

/* 3 if the file begins with a UTF-8 byte order mark, which is not part of the first row; else 0. */
size_t split_mark(const char *data, size_t size);

/* size: 1 to SPLIT_CHUNK_MAX; block_bytes so that the chunk has at most SPLIT_CUTS targets. Any
 * thread. */
void split_scan(enum split_format format, const char *data, size_t size, int64_t offset,
                int64_t block_bytes, struct split_chunk *ret_chunk);

/* The number of bytes up to and including the end of the current row, or 0 if it does not end here;
 * *state then has the state at the end of the data. Start with SPLIT_FIELD. */
size_t split_row_end(enum split_format format, enum split_state *state, const char *data,
                     size_t size);

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
 * with file and byte. Rows of the other formats may have any length: rows.h turns those that are
 * too long into failed items. */
NODISCARD int splitter_add(struct splitter *splitter, const struct split_chunk *chunk,
                           split_block *block, void *context, struct error *err);
/* The file has this many bytes: emits the last block, which may end without a newline. */
NODISCARD int splitter_end(struct splitter *splitter, int64_t size_bytes, split_block *block,
                           void *context, struct error *err);
