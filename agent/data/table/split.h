/* split.h: finds the row ends of a table (CSV, TSV, JSON Lines) in chunks of its file, in any order
 * and in any thread. A scan does not know whether its chunk begins between quotes, so it gives a
 * result for each possible state there; splitter.h picks the right ones and makes blocks of whole
 * rows from them.
 *
 * A row ends at a newline that is not between quotes. Only CSV has quotes, and a quote counts only
 * where a field begins (`5" pipe` is plain text) and, doubled, between quotes. CRLF and LF; a lone
 * CR is data. Pure. */
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

/* The result of scanning a chunk from one start state. Offsets are in the file. A row's end is the
 * offset after its newline. A target is a multiple of block_bytes; its cut is the first row end at
 * or after it. -1: none in this chunk. */
struct split_run {
    enum split_state end; /* the state after the chunk */
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
