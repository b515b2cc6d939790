/* delta_packed.h: Parquet's DELTA_BINARY_PACKED (Encodings.md): blocks of differences to the number
 * before, packed with widths of their own. Reads beyond the end as bit_runs.h does. Pure. */
#pragma once

#include "agent/data/parquet/bit_runs.h"

enum { DELTA_PACKED_MINIBLOCK_MAX = 1 << 16 /* numbers */ };

struct delta_packed {
    const uint8_t *at, *end; /* borrowed */
    uint64_t per_miniblock;
    uint64_t miniblocks; /* in a block */
    uint64_t left;       /* numbers that follow */
    uint64_t number;     /* the next one, if is_first; else the last one */
    bool is_first;
    uint64_t least;        /* of the block: added to each difference */
    const uint8_t *widths; /* of the block's miniblocks ... */
    uint64_t miniblock;    /* ... the number of those begun */
    const uint8_t *packed; /* of the miniblock */
    int width;
    uint64_t taken, in_miniblock;
};

/* False: damaged. */
bool delta_packed_open(const uint8_t *data, size_t size, struct delta_packed *ret_delta);
/* Takes `count` numbers. False: there are fewer, or the data is damaged. */
bool delta_packed_take(struct delta_packed *delta, size_t count, int64_t *numbers);
/* Where the bytes behind all numbers begin, which are taken; NULL: damaged. */
const uint8_t *delta_packed_end(struct delta_packed delta);
